// The legend: names, colours and sizes of the clusters; what is selected, hidden, merged, split.
import { $, area, count, el } from "./dom.js";
import { entries, on, select, selectNone, step, store } from "./store.js";

function sizeOf(cluster) {
  const words = [`${count(cluster.pixels)} px`, `${(100 * cluster.share).toFixed(cluster.share < 0.0995 ? 1 : 0)} %`];
  if (cluster.area) words.push(area(cluster.area));
  return [words.join(" \u00b7 "), cluster.matched
    ? el("span", { class: "match", title: `best match in the ground truth: ${cluster.matched}` },
      `truth: ${cluster.matched}`)
    : ""];
}

/** A row of the legend, whose contents are set by `update`. */
function makeRow(id) {
  const box = el("input", { type: "checkbox", onchange: () => select(id, { add: true }) });
  const color = el("input", {
    type: "color", onchange: () => step({ op: "color", cluster: id, color: color.value }),
  });
  const name = el("input", {
    type: "text", class: "name", maxlength: 80, spellcheck: "false", autocomplete: "off",
    onchange: () => step({ op: "name", cluster: id, name: name.value.trim() }),
    onkeydown: (event) => {
      if (event.key === "Enter") name.blur();
      if (event.key === "Escape") {
        name.value = name.defaultValue;
        name.blur();
      }
    },
  });
  const eye = el("button", {
    type: "button", class: "eye",
    onclick: () => step({
      op: "hide", cluster: id, hidden: eye.getAttribute("aria-pressed") !== "true",
    }),
  }, "Hide");
  const size = el("span", { class: "size" });
  const row = el("li", { "data-cluster": id }, box, color, name, eye, size);
  const update = (cluster) => {
    const moving = store.preview !== null;
    box.checked = store.selected.has(id);
    box.setAttribute("aria-label", `Select ${cluster.name}`);
    color.value = cluster.color;
    color.setAttribute("aria-label", `Colour of ${cluster.name}`);
    if (document.activeElement !== name || name.value === name.defaultValue) {
      name.value = cluster.name;
    }
    name.defaultValue = cluster.name;
    name.title = cluster.name;
    name.setAttribute("aria-label", `Name of cluster ${id + 1}`);
    eye.setAttribute("aria-pressed", String(cluster.hidden));
    eye.setAttribute("aria-label", `Hide ${cluster.name}`);
    eye.textContent = cluster.hidden ? "Show" : "Hide";
    for (const control of [color, name, eye]) control.disabled = moving;
    size.title = cluster.confidence === null || cluster.confidence === undefined ? ""
      : `mean ${store.state.certainty.name} ${cluster.confidence.toFixed(2)}`;
    size.replaceChildren(...sizeOf(cluster));
    row.classList.toggle("selected", box.checked);
    row.classList.toggle("put-away", cluster.hidden);
  };
  return { row, update };
}

const rows = new Map();

function draw() {
  const shown = entries(), ids = new Set(shown.map((each) => each.id));
  for (const [id, { row }] of rows) {
    if (!ids.has(id)) {
      row.remove();
      rows.delete(id);
    }
  }
  let before = null;
  for (const cluster of shown) {
    let made = rows.get(cluster.id);
    if (!made) {
      made = makeRow(cluster.id);
      rows.set(cluster.id, made);
    }
    made.update(cluster);
    const place = before ? before.nextSibling : $("legend").firstChild;
    if (place !== made.row) $("legend").insertBefore(made.row, place);
    before = made.row;
  }
  $("legend-count").textContent = `${shown.length} shown`;
  drawSelection();
}

function drawSelection() {
  const shown = entries(), moving = store.preview !== null;
  for (const cluster of shown) rows.get(cluster.id)?.update(cluster);
  const n = store.selected.size;
  $("selected-count").textContent = n === 0 ? "Select clusters to merge or to split"
    : n === 1 ? "1 cluster selected" : `${n} clusters selected`;
  $("merge").disabled = moving || n < 2;
  $("split").disabled = moving || n !== 1 || store.state.base !== "tree";
  $("clear").disabled = n === 0;
}

export function startLegend() {
  on("labels", draw);
  on("selection", drawSelection);
  on("lit", (id) => {
    for (const [each, { row }] of rows) row.classList.toggle("lit", each === id);
  });
  $("merge").addEventListener("click", async () => {
    const clusters = [...store.selected].sort((a, b) => a - b);
    await step({ op: "merge", clusters }, `${clusters.length} clusters merged`);
  });
  $("split").addEventListener("click", async () => {
    const [cluster] = store.selected;
    await step({ op: "split", cluster }, "Cluster split");
  });
  $("clear").addEventListener("click", () => {
    selectNone();
    $("legend").querySelector("input")?.focus();
  });
}
