// The panel of runs: start one with other parameters, follow it, cancel it, compare two.
import { $, announce, count, el, swatch, table } from "./dom.js";
import { json, post } from "./api.js";
import { attempt, complain, on, store, take, tell } from "./store.js";
import { showBeside } from "./maps.js";

let form, list, compared, timer = 0, choices = { a: null, b: null };

const AUTO = "auto";
const FIELDS = {
  SpectraWalk: [
    ["n_clusters", "Clusters", AUTO, "a number, or auto"],
    ["detail", "Detail", AUTO, "auto, fields, materials, or 0 to 1"],
    ["random_state", "Seed", "0", "a number"],
  ],
  SRDL: [
    ["n_clusters", "Clusters", AUTO, "a number, or auto"],
    ["radius", "Window radius", "8", "pixels"],
    ["n_neighbors", "Neighbours", "100", "of each pixel in the graph"],
    ["time", "Diffusion time t", "30", ""],
    ["n_eigenpairs", "Eigenpairs M", AUTO, "a number, or auto"],
    ["consensus_radius", "Consensus radius", "3", "pixels, 0 for none"],
  ],
};

function fields(method) {
  return FIELDS[method].flatMap(([name, title, usual, hint]) => {
    const known = store.state?.method === method ? store.state.parameters?.[name] : undefined;
    const value = known === null || known === undefined ? usual : String(known);
    return [
      el("label", { for: `run-${name}` }, title),
      el("input", {
        type: "text", id: `run-${name}`, name, value, autocomplete: "off", title: hint,
        placeholder: hint, inputmode: "decimal",
      }),
    ];
  });
}

function makeForm() {
  const method = el("select", {
    id: "run-method", onchange: () => rest.replaceChildren(...fields(method.value)),
  }, Object.keys(FIELDS).map((name) => el("option", { value: name },
    name === "SpectraWalk" ? "SpectraWalk (many runs, a tree)" : `${name} (a single run)`)));
  if (store.state && store.state.method in FIELDS) method.value = store.state.method;
  const rest = el("div", { class: "form" }, fields(method.value));
  return el("form", {
    onsubmit: (event) => {
      event.preventDefault();
      start(method.value, rest);
    },
  },
  el("div", { class: "form" }, el("label", { for: "run-method" }, "Method"), method), rest,
  el("div", { class: "row" },
    el("button", { type: "submit", id: "run-start", class: "main" }, "Start")));
}

async function start(method, rest) {
  const parameters = {};
  for (const input of rest.querySelectorAll("input")) {
    const text = input.value.trim();
    if (text) parameters[input.name] = Number.isNaN(Number(text)) ? text : Number(text);
  }
  await attempt(async () => {
    complain(null);
    await post("run", { method, parameters });
    announce("The clustering has started");
    await follow();
  });
}

function progressOf(run) {
  const bar = el("progress", { "aria-label": `Progress of run ${run.id}`, max: 1 });
  if (run.total) bar.value = Math.min(1, run.done / run.total);
  return el("div", {}, el("p", {}, `${run.stage || "starting"} \u00b7 ${Math.round(run.seconds || 0)} s`),
    bar, el("button", {
      type: "button", class: "run-cancel", onclick: () => attempt(async () => {
        await post(`runs/${run.id}/cancel`);
        announce("Cancelled");
        await follow();
      }),
    }, "Cancel"));
}

const settings = (run) => run.settings || Object.entries(run.parameters || {})
  .map(([name, value]) => `${name} ${value}`).join(", ");

function card(run) {
  const words = { running: "running", done: "", failed: "failed", cancelled: "cancelled" };
  const done = run.status === "done";
  return el("div", { class: run.shown ? "card current" : "card", "data-run": run.id,
    "data-status": run.status },
  el("h3", {}, `Run ${run.id}: ${run.method}`, words[run.status] ? `, ${words[run.status]}` : "",
    run.shown ? " (shown)" : ""),
  el("p", { class: "soft" }, settings(run)),
  run.status === "running" ? progressOf(run) : "",
  run.status === "failed" ? el("p", { class: "wrong" }, run.error || "It failed.") : "",
  done ? el("p", {}, `${count(run.n_clusters)} clusters`, run.verdict ? `: ${run.verdict}` : "") : "",
  done && !run.shown ? el("div", { class: "row" },
    el("button", {
      type: "button", onclick: () => attempt(async () => {
        await take(await post(`runs/${run.id}/show`));
        announce(`Run ${run.id} is shown`);
        await follow();
      }),
    }, "Show this run"),
    el("button", { type: "button", onclick: () => showBeside(`run ${run.id}`) }, "Show beside")) : "");
}

function drawCompare() {
  const done = store.runs.filter((run) => run.status === "done");
  if (done.length < 2) {
    compared.replaceChildren(el("p", { class: "soft" },
      "Start a second run to compare it with the first."));
    return;
  }
  const ids = done.map((run) => run.id);
  if (!ids.includes(choices.a)) choices.a = done.find((run) => run.shown)?.id ?? ids[0];
  if (!ids.includes(choices.b) || choices.b === choices.a) {
    choices.b = ids.filter((id) => id !== choices.a).pop();
  }
  const choose = (which, name) => el("label", {}, `${name} `, el("select", {
    id: `compare-${which}`, onchange: (event) => { choices[which] = Number(event.target.value); },
  }, ids.map((id) => {
    const option = el("option", { value: id }, `run ${id}`);
    option.selected = choices[which] === id;
    return option;
  })));
  const result = compared.querySelector(".result") || el("div", { class: "result scroll" });
  compared.replaceChildren(
    el("div", { class: "row" }, choose("a", "Rows"), choose("b", "Columns"),
      el("button", { type: "button", id: "compare-go", onclick: () => compare(result) }, "Compare")),
    result);
}

async function compare(result) {
  await attempt(async () => {
    const { a, b } = choices;
    const told = await json("compare", { a, b });
    const legendOf = (id) => new Map((store.runs.find((run) => run.id === id)?.legend || [])
      .map((each) => [each.id, each]));
    const [left, right] = [legendOf(a), legendOf(b)];
    const named = (legend, id, name) => el("span", {},
      legend.has(id) ? swatch(legend.get(id).color) : "", String(name));
    const brief = (name) => String(name).replace(/^cluster (\d+)$/, "$1");
    const head = ["", ...told.b.map((id, i) => named(right, id, brief(told.names_b[i])))];
    const rows = told.a.map((id, i) => {
      const most = Math.max(...told.pixels[i]), sum = told.pixels[i].reduce((x, y) => x + y, 0);
      return [named(left, id, told.names_a[i]), ...told.pixels[i].map((n) => {
        const cell = n ? el(n === most ? "b" : "span", {}, count(n)) : "";
        if (n) cell.title = `${(100 * n / sum).toFixed(1)} %`;
        return cell;
      })];
    });
    result.replaceChildren(
      el("p", {}, `Pixels of each cluster of run ${a} in the clusters of run ${b}. Bold: where most of `
        + "a cluster went."),
      table(head, rows, {
        label: `Clusters of run ${a} in the clusters of run ${b}`,
        numbers: told.b.map((_, i) => i + 1),
      }),
    );
    result.scrollIntoView({ block: "nearest" });
    const other = [a, b].find((id) => id !== store.state.run);
    if (other !== undefined) showBeside(`run ${other}`);
  });
}

/** Read the runs; again and again while one is running. */
export async function follow() {
  clearTimeout(timer);
  const told = await attempt(() => json("runs"));
  if (!told) return;
  const before = new Map((store.runs || []).map((run) => [run.id, run.status]));
  store.runs = told.runs;
  for (const run of told.runs) {
    if (before.get(run.id) === "running" && run.status !== "running") {
      announce(`Run ${run.id}: ${run.status === "failed" ? run.error : run.status}`);
    }
  }
  const focused = document.activeElement;
  const again = focused && list.contains(focused) ? focused.className : null;
  list.replaceChildren(...told.runs.slice().reverse().map(card));
  if (again) list.querySelector(`.${again}`)?.focus();
  const running = told.runs.some((run) => run.status === "running");
  form.querySelector("#run-start").disabled = running;
  drawCompare();
  tell("runs");
  if (running) timer = setTimeout(follow, 400);
}

export function startRuns() {
  form = el("div");
  list = el("div", { id: "runs" });
  compared = el("div", { id: "compare" });
  $("panel-run").append(el("h3", {}, "Start a clustering"), form, el("h3", {}, "Runs"), list,
    el("h3", {}, "Compare two runs"), compared);
  on("state", ({ before, moved }) => {
    if (!before || before.run !== store.state.run) form.replaceChildren(makeForm());
    if (!before || moved) follow();
  });
}
