// What the page knows: the state of the server, the parts of the map, what is selected and shown.
import { announce } from "./dom.js";
import { bytes, json, Lost, post, ServerError } from "./api.js";

export const NONE = 255;

/** Everything that the panels share. Change it by the functions below only. */
export const store = {
  state: null,
  leaf: null, // part of each pixel
  partPixels: new Uint32Array(256), // pixels of each part
  preview: null, // number of clusters while the slider moves
  moving: false, // whether a hand holds the slider or the line in the tree
  selected: new Set(), // ids of clusters
  pixel: null, // answer of /api/pixel
  brush: null, // Uint8Array: 1 for pixels chosen in the embedding
};

const hub = new EventTarget();

/** Call `work` after each of some events: state, labels, selection, pixel, brush. */
export function on(names, work) {
  for (const name of names.split(" ")) hub.addEventListener(name, (event) => work(event.detail));
}

export function tell(name, detail = null) {
  hub.dispatchEvent(new CustomEvent(name, { detail }));
}

// ---- clusters of a number of clusters, without a request

/** Number of clusters that the page shows or is about to show. */
export const shownK = () => store.preview ?? store.state.k;

/** Whether any number of clusters can be shown without a request. */
export const canPreview = () => store.state.base === "tree" && store.state.tree !== null;

function ancestor(parent, leaf, k) {
  let id = leaf;
  while (id >= k) id = parent[id];
  return id;
}

/** Id of the cluster of each part. */
export function idOfPart() {
  const { state, preview } = store;
  if (preview === null || !canPreview()) return state.label_of_leaf;
  const { parent } = state.tree, leaves = state.n_leaves;
  return state.label_of_leaf.map((now, part) => {
    if (part < parent.length) return ancestor(parent, part, preview);
    return now < leaves ? ancestor(parent, now, preview) : now;
  });
}

/** Clusters that are shown: those of the state, or those of the slider while it moves. */
export function entries() {
  const { state, preview } = store;
  if (preview === null) return state.legend;
  const sizes = new Map();
  idOfPart().forEach((id, part) => {
    if (store.partPixels[part]) sizes.set(id, (sizes.get(id) || 0) + store.partPixels[part]);
  });
  const known = new Map(state.legend.map((each) => [each.id, each]));
  return [...sizes].sort((a, b) => a[0] - b[0]).map(([id, pixels]) => {
    const before = known.get(id);
    return {
      id,
      name: before ? before.name : `cluster ${id + 1}`,
      color: before ? before.color : state.palette[id % state.palette.length],
      hidden: before ? before.hidden : false,
      pixels,
      share: pixels / state.scene.valid,
      area: state.scene.pixel_area ? pixels * state.scene.pixel_area : null,
      confidence: null,
      matched: null,
    };
  });
}

export const entryOf = (id) => entries().find((each) => each.id === id) || null;
export const nameOf = (id) => entryOf(id)?.name ?? "no label";
export const colorOf = (id) => entryOf(id)?.color
  ?? store.state.palette[id % store.state.palette.length];

/** Id of the cluster of a pixel; null without one. */
export function idAt(row, col) {
  const part = store.leaf ? store.leaf[row * store.state.scene.cols + col] : NONE;
  return part === NONE ? null : idOfPart()[part];
}

// ---- the state

async function readLeaf() {
  const leaf = await bytes("leaf");
  const pixels = new Uint32Array(256);
  for (let i = 0; i < leaf.length; i++) pixels[leaf[i]]++;
  pixels[NONE] = 0;
  store.leaf = leaf;
  store.partPixels = pixels;
}

let newest = Promise.resolve();

/** Take a state from the server; read the parts of the map again where they changed. */
export async function take(state) {
  const before = store.state;
  const moved = !before || before.leaf_version !== state.leaf_version || before.run !== state.run;
  if (moved) await readLeaf();
  store.state = state;
  if (!store.moving) store.preview = null;
  const ids = new Set(state.legend.map((each) => each.id));
  const kept = [...store.selected].filter((id) => ids.has(id));
  const lost = kept.length !== store.selected.size;
  store.selected = new Set(kept);
  if (moved) store.brush = null;
  tell("state", { before, moved });
  tell("labels");
  if (lost) tell("selection");
}

export async function refresh() {
  await take(await json("state"));
}

/** Show a sentence of the server, or take the old one away. */
export function complain(sentence) {
  tell("trouble", sentence);
}

/** Do something with the server; show its sentence if it cannot. Returns undefined then. */
export async function attempt(work) {
  try {
    return await work();
  } catch (error) {
    if (error instanceof Lost || error.name === "AbortError") return undefined;
    if (!(error instanceof ServerError)) console.error(error);
    complain(error instanceof ServerError ? error.message
      : "The page could not show the answer of the server.");
    return undefined;
  }
}

function change(path, body, said) {
  newest = newest.then(() => attempt(async () => {
    tell("trouble", null);
    try {
      await take(await post(path, body()));
    } catch (error) {
      if (error instanceof ServerError) await refresh(); // the page shows what the server has
      throw error;
    }
    if (said) announce(said);
    return store.state;
  }));
  return newest;
}

/** One step of the session; the answer is the new state, or undefined if it cannot be done. */
export const step = (body, said = "") =>
  change("step", () => ({ revision: store.state.revision, ...body }), said);
export const undo = () => change("undo", () => ({}), "Undone");
export const redo = () => change("redo", () => ({}), "Done again");

// ---- what is shown and selected

export function showPreview(k) {
  const same = k === store.state.k && store.state.n_clusters === k;
  store.preview = same ? null : k;
  tell("labels");
}

export function select(id, { add = false, only = false } = {}) {
  if (id === null) return;
  if (!add && only) store.selected = new Set([id]);
  else if (store.selected.has(id)) store.selected.delete(id);
  else store.selected.add(id);
  const names = [...store.selected].map(nameOf);
  announce(names.length ? `Selected: ${names.join(", ")}` : "Nothing selected");
  tell("selection");
}

export function selectNone() {
  store.selected = new Set();
  tell("selection");
}

let asked = 0;

/** Show a pixel: its spectrum, its neighbours, its place. */
export async function showPixel(row, col, picked = true) {
  const mine = ++asked;
  await attempt(async () => {
    const told = await json("pixel", { row, col });
    if (mine !== asked) return;
    store.pixel = told;
    tell("pixel", picked);
  });
}

export function setBrush(mask) {
  store.brush = mask;
  tell("brush");
}
