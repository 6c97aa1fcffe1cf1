// Requests to the server of this page, and to no other.

const BASE = "/api/";
let listener = () => {};

/** What the server could not do, in its own sentence. */
export class ServerError extends Error {
  constructor(sentence, status, told) {
    super(sentence);
    this.status = status;
    this.told = told;
  }
}

/** The server did not answer. */
export class Lost extends Error {}

export function onConnection(work) {
  listener = work;
}

let reachable = true;
function heard(yes) {
  if (yes !== reachable) {
    reachable = yes;
    listener(yes);
  }
}

const query = (given) => {
  const entries = Object.entries(given).filter(([, value]) => value !== undefined);
  return entries.length ? `?${new URLSearchParams(entries)}` : "";
};

async function ask(path, options = {}) {
  let answer;
  try {
    answer = await fetch(BASE + path, { credentials: "same-origin", ...options });
  } catch (error) {
    if (error.name === "AbortError") throw error;
    heard(false);
    throw new Lost("The server does not answer.");
  }
  heard(true);
  if (answer.ok) return answer;
  let sentence = `The server answered ${answer.status}.`, told = {};
  try {
    told = await answer.json();
    sentence = told.error || sentence;
  } catch { /* not JSON: the status is all there is to tell */ }
  throw new ServerError(sentence, answer.status, told);
}

export const json = async (path, given = {}, options = {}) =>
  (await ask(path + query(given), options)).json();

export const bytes = async (path, given = {}, options = {}) =>
  new Uint8Array(await (await ask(path + query(given), options)).arrayBuffer());

export const post = async (path, body = {}) => (await ask(path, {
  method: "POST",
  headers: { "Content-Type": "application/json" },
  body: JSON.stringify(body),
})).json();
