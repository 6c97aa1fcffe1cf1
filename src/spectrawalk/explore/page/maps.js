// The panel of the map: what is drawn, the toolbar, the readout, the marks on the map.
import { $, afterPause, announce, count, el, short, swatch } from "./dom.js";
import { bytes } from "./api.js";
import { entry, MapView, Viewport } from "./map.js";
import {
  attempt, colorOf, entries, idAt, idOfPart, nameOf, NONE, on, select, showPixel, store, tell,
} from "./store.js";

const LAYERS = {
  clusters: "Clusters",
  certainty: "Confidence",
  truth: "Ground truth",
  disagreement: "Disagreement",
  composite: "Composite only",
};
const VIRIDIS = ["#440154", "#3b528b", "#21918c", "#5ec962", "#fde725"];
const DIFFERS = "#d55e00", AGREES = "#56b4e9";
const SELECTED_OTHERS = 0.3, BRUSHED_OTHERS = 0.12;

export const viewport = new Viewport();
const main = new MapView($("map"), viewport);
const second = new MapView($("map-beside"), viewport);
export const mainMap = main;

/** What else is drawn over the map, by name: functions of (context, map). */
export const marks = new Map();

const held = { certainty: null, certaintyK: null, truth: null, runs: new Map() };

function mix(one, other, share) {
  const channel = (color, at) => parseInt(color.slice(at, at + 2), 16);
  return `#${[1, 3, 5].map((at) => Math.round(
    channel(one, at) * (1 - share) + channel(other, at) * share)
    .toString(16).padStart(2, "0")).join("")}`;
}

const certaintyTable = (() => {
  const table = new Uint32Array(256);
  for (let i = 0; i <= 250; i++) {
    const at = (i / 250) * (VIRIDIS.length - 1), from = Math.min(VIRIDIS.length - 2, Math.floor(at));
    table[i] = entry(mix(VIRIDIS[from], VIRIDIS[from + 1], at - from));
  }
  return table;
})();

/** Colour of each part; other clusters than the selected ones are paler. */
function clusterTable(alpha = 1) {
  const table = new Uint32Array(256);
  const shown = new Map(entries().map((each) => [each.id, each]));
  idOfPart().forEach((id, part) => {
    if (part === NONE) return;
    const cluster = shown.get(id);
    if (cluster?.hidden) return;
    const pale = store.selected.size && !store.selected.has(id) ? SELECTED_OTHERS : 1;
    table[part] = entry(cluster?.color ?? colorOf(id), alpha * pale);
  });
  return table;
}

function disagreementBytes() {
  const { state, leaf } = store, ids = idOfPart();
  const numberOf = new Map(state.truth.map((each, index) => [each.number, index]));
  const nameTo = new Map(state.truth.map((each, index) => [each.name, index]));
  const wanted = new Int16Array(256).fill(-1);
  const matched = new Map(state.legend.map((each) => [each.id,
    numberOf.get(each.matched_number) ?? nameTo.get(each.matched) ?? -1]));
  ids.forEach((id, part) => { wanted[part] = matched.get(id) ?? -1; });
  const out = new Uint8Array(leaf.length);
  for (let i = 0; i < leaf.length; i++) {
    out[i] = held.truth[i] === NONE || leaf[i] === NONE ? NONE
      : Number(wanted[leaf[i]] !== held.truth[i]);
  }
  return out;
}

async function readTruth() {
  if (!held.truth) held.truth = await bytes("truth");
}

async function readCertainty() {
  const k = store.preview ?? undefined, key = `${store.state.revision} ${k}`;
  if (held.certaintyK !== key) {
    held.certainty = await bytes("confidence", { k });
    held.certaintyK = key;
  }
}
const readCertaintyLater = afterPause(() => paintAll(true), 200);

async function paintOn(map, layer, settled) {
  const { rows, cols } = store.state.scene;
  if (layer === "clusters") {
    if (store.brush) {
      map.paint(store.leaf, clusterTable(), rows, cols, store.brush, clusterTable(BRUSHED_OTHERS));
    } else map.paint(store.leaf, clusterTable(), rows, cols);
  } else if (layer === "certainty") {
    if (!settled && store.preview !== null) {
      readCertaintyLater();
      return;
    }
    await readCertainty();
    map.paint(held.certainty, certaintyTable, rows, cols);
  } else if (layer === "truth") {
    await readTruth();
    const table = new Uint32Array(256);
    store.state.truth.forEach((each, index) => { table[index] = entry(each.color); });
    map.paint(held.truth, table, rows, cols);
  } else if (layer === "disagreement") {
    await readTruth();
    const table = new Uint32Array(256);
    table[0] = entry(AGREES, 0.55);
    table[1] = entry(DIFFERS);
    map.paint(disagreementBytes(), table, rows, cols);
  } else if (layer.startsWith("run ")) {
    const id = layer.slice(4);
    const run = store.runs?.find((each) => String(each.id) === id);
    if (!held.runs.has(id)) held.runs.set(id, await bytes("leaf", { run: id }));
    const table = new Uint32Array(256);
    for (const each of run?.legend || []) table[each.id] = entry(each.color);
    map.paint(held.runs.get(id), table, rows, cols);
  } else map.paint(null);
}

function paintAll(settled = false) {
  if (!store.state) return;
  attempt(() => paintOn(main, $("layer").value, settled));
  if ($("beside").value) attempt(() => paintOn(second, $("beside").value, settled));
  caption();
  performance.mark("painted");
}

// ---- the words around the map

function bandWords(index) {
  const { scene } = store.state;
  const length = scene.wavelengths?.[index];
  return length ? `${Math.round(length)} nm` : `band ${scene.band_numbers[index]}`;
}

const layerName = (layer) => layer === "certainty"
  ? store.state.certainty.name : layer.startsWith("run ") ? layer
    : LAYERS[layer]?.toLowerCase() || "";

function captionOf(layer) {
  const { state } = store;
  if (layer === "certainty") return `${state.certainty.name}: ${state.certainty.meaning}`;
  if (layer === "disagreement") {
    return el("span", {}, swatch(DIFFERS), "differs from the ground truth ", swatch(AGREES),
      "agrees", state.scores ? ` \u00b7 overall accuracy ${short(state.scores.oa, 3)}` : "");
  }
  if (layer === "truth") {
    return el("span", {}, "ground truth: ", state.truth.map((each) =>
      el("span", { class: "whole" }, swatch(each.color), each.name, " ")));
  }
  if (layer === "clusters") return `${count(entries().length)} clusters`;
  if (layer.startsWith("run ")) {
    const run = store.runs?.find((each) => `run ${each.id}` === layer);
    return run ? `run ${run.id}: ${run.method}, ${run.n_clusters} clusters` : layer;
  }
  return layerName(layer);
}

function caption() {
  const words = $("composite").value === "none" ? "no composite"
    : `composite ${wantedBands().map(bandWords).join(", ")}`;
  $("map-caption").replaceChildren(captionOf($("layer").value), ` \u00b7 ${words}`);
  if ($("beside").value) $("beside-caption").replaceChildren(captionOf($("beside").value));
  $("scale").hidden = ![$("layer").value, $("beside").value].includes("certainty");
}

function describe(place) {
  if (!place) {
    $("readout").textContent = "Move the pointer over the map to read its values.";
    tell("lit", null);
    return;
  }
  const { row, col } = place, { scene } = store.state, { transform } = scene;
  const id = idAt(row, col), at = row * scene.cols + col;
  const words = [id === null ? "no data" : nameOf(id), `row ${row}, column ${col}`];
  if (transform) {
    const [a, b, c, d, e, f] = transform;
    const x = a * (col + 0.5) + b * (row + 0.5) + c, y = d * (col + 0.5) + e * (row + 0.5) + f;
    const digits = Math.abs(a) + Math.abs(b) < 0.1 ? 6 : 1;
    words.push(`x ${x.toFixed(digits)}, y ${y.toFixed(digits)}${scene.crs ? ` (${scene.crs})` : ""}`);
  }
  const shown = [$("layer").value, $("beside").value];
  if (shown.includes("certainty") && held.certainty && held.certainty[at] <= 250) {
    words.push(`${store.state.certainty.name} ${(held.certainty[at] / 250).toFixed(2)}`);
  }
  if (held.truth && held.truth[at] !== NONE) {
    words.push(`ground truth: ${store.state.truth[held.truth[at]].name}`);
  }
  $("readout").textContent = words.join("  \u00b7  ");
  if (place.spoken) announce(words.join(", "));
  tell("lit", id);
}

// ---- the composite

const PRESETS = [
  ["natural", "Natural colour", [640, 550, 460]],
  ["infrared", "Colour infrared", [860, 650, 550]],
  ["shortwave", "Short-wave infrared", [2200, 1650, 860]],
];

function nearestBands(lengths) {
  const { wavelengths } = store.state.scene;
  if (!wavelengths) return null;
  const found = lengths.map((wanted) => wavelengths.reduce((best, length, i) =>
    Math.abs(length - wanted) < Math.abs(wavelengths[best] - wanted) ? i : best, 0));
  return found.every((band, i) => Math.abs(wavelengths[band] - lengths[i]) < 100) ? found : null;
}

function indexOfBand(number) {
  const numbers = store.state.scene.band_numbers;
  return numbers.reduce((best, each, i) =>
    Math.abs(each - number) < Math.abs(numbers[best] - number) ? i : best, 0);
}

export function wantedBands() {
  const chosen = $("composite").value;
  const preset = PRESETS.find(([key]) => key === chosen);
  if (preset) return nearestBands(preset[2]) || store.state.composite;
  if (chosen === "hand") {
    return ["band-r", "band-g", "band-b"].map((id) => indexOfBand(Number($(id).value) || 1));
  }
  return store.state.composite;
}

let compositeShown = "";
async function readComposite() {
  const { rows, cols } = store.state.scene, chosen = $("composite").value;
  $("bands").hidden = chosen !== "hand";
  caption();
  if (chosen === "none") {
    compositeShown = "";
    main.base = second.base = null;
    viewport.changed();
    return;
  }
  const bands = wantedBands().join(","), [low, high] = $("stretch").value.split(",");
  const key = `${store.state.run} ${bands} ${low} ${high}`;
  if (key === compositeShown) return;
  compositeShown = key;
  await attempt(async () => {
    const colors = await bytes("composite", { bands, low, high });
    if (compositeShown !== key) return;
    main.setComposite(colors, rows, cols);
    second.base = main.base;
    second.draw();
    performance.mark("composite");
  });
}

function fillComposites() {
  const options = [el("option", { value: "default" }, "Bands of the report")];
  for (const [key, name, lengths] of PRESETS) {
    if (nearestBands(lengths)) options.push(el("option", { value: key }, name));
  }
  options.push(el("option", { value: "hand" }, "By hand"), el("option", { value: "none" }, "None"));
  const before = $("composite").value;
  $("composite").replaceChildren(...options);
  if (options.some((option) => option.value === before)) $("composite").value = before;
  const numbers = store.state.scene.band_numbers;
  ["band-r", "band-g", "band-b"].forEach((id, i) => {
    $(id).max = numbers[numbers.length - 1];
    $(id).min = numbers[0];
    $(id).value = numbers[store.state.composite[i]];
  });
}

// ---- choices

export function fillLayers() {
  const { state } = store;
  const keys = ["clusters", "certainty", ...(state.truth ? ["truth", "disagreement"] : []),
    "composite"];
  const named = (key) => key === "certainty"
    ? state.certainty.name[0].toUpperCase() + state.certainty.name.slice(1) : LAYERS[key];
  const options = (list) => list.map((key) => el("option", { value: key }, named(key)));
  const before = [$("layer").value, $("beside").value];
  $("layer").replaceChildren(...options(keys));
  const runs = (store.runs || []).filter((run) => run.status === "done" && run.id !== state.run)
    .map((run) => el("option", { value: `run ${run.id}` }, `Run ${run.id}`));
  $("beside").replaceChildren(el("option", { value: "" }, "Nothing"), ...options(keys), ...runs);
  for (const [id, value] of [["layer", before[0]], ["beside", before[1]]]) {
    if ([...$(id).options].some((option) => option.value === value)) $(id).value = value;
  }
  showSecond();
}

function showSecond() {
  const hidden = !$("beside").value;
  if ($("second").hidden !== hidden) {
    $("second").hidden = hidden;
    if (hidden) second.remove();
    else viewport.maps.add(second);
    requestAnimationFrame(() => viewport.resized());
  }
}

/** Show a layer beside the map. */
export function showBeside(layer) {
  $("beside").value = layer;
  showSecond();
  paintAll();
}

// ---- marks

const dot = (context, map, row, col, color, square = false) => {
  const [x, y] = map.toScreen(col + 0.5, row + 0.5);
  context.beginPath();
  if (square) context.rect(x - 3.5, y - 3.5, 7, 7);
  else context.arc(x, y, 4, 0, 2 * Math.PI);
  context.lineWidth = 3;
  context.strokeStyle = "#000";
  context.stroke();
  context.fillStyle = color;
  context.fill();
};

marks.set("pixel", (context, map) => {
  const pixel = store.pixel;
  if (!pixel) return;
  const kind = store.neighbors || "windowed";
  const link = (list, color, square) => {
    for (const each of list) {
      context.beginPath();
      context.moveTo(...map.toScreen(pixel.col + 0.5, pixel.row + 0.5));
      context.lineTo(...map.toScreen(each.col + 0.5, each.row + 0.5));
      context.lineWidth = 1;
      context.strokeStyle = "rgba(255,255,255,.8)";
      context.stroke();
    }
    for (const each of list) dot(context, map, each.row, each.col, color, square);
  };
  if (kind === "everywhere" || kind === "both") link(pixel.everywhere, "#e69f00", true);
  if (kind === "windowed" || kind === "both") {
    const r = store.windowRadius ?? 8, { row, col } = pixel;
    map.line(context, [[col - r, row - r], [col + r + 1, row - r], [col + r + 1, row + r + 1],
      [col - r, row + r + 1]], { close: true, dash: [5, 4], width: 1 });
    link(pixel.windowed, "#fff", false);
  }
  if (pixel.chain && kind === "chain") {
    map.line(context, pixel.chain.map((each) => [each.col + 0.5, each.row + 0.5]));
    const mode = pixel.chain[pixel.chain.length - 1];
    if (mode) dot(context, map, mode.row, mode.col, "#e69f00", true);
  }
  map.frame(context, pixel.row, pixel.col);
});

function decorate(context, map) {
  if (!store.state) return;
  for (const mark of marks.values()) mark(context, map);
}

// ---- start

export function startMaps() {
  main.decorate = decorate;
  second.decorate = decorate;
  second.remove();
  for (const map of [main, second]) {
    map.canvas.addEventListener("point", (event) => describe(event.detail));
    map.canvas.addEventListener("pick", ({ detail }) => {
      if (detail.add) {
        const id = idAt(detail.row, detail.col);
        if (id !== null) select(id, { add: true });
      } else showPixel(detail.row, detail.col);
    });
  }
  $("opacity").addEventListener("input", () => {
    main.opacity = second.opacity = Number($("opacity").value) / 100;
    viewport.changed();
  });
  main.opacity = second.opacity = Number($("opacity").value) / 100;
  $("layer").addEventListener("change", () => paintAll());
  $("beside").addEventListener("change", () => {
    showSecond();
    paintAll();
  });
  $("composite").addEventListener("change", readComposite);
  $("stretch").addEventListener("change", readComposite);
  for (const id of ["band-r", "band-g", "band-b"]) {
    $(id).addEventListener("change", () => readComposite());
  }
  $("zoom-in").addEventListener("click", () => viewport.zoomBy(1.5));
  $("zoom-out").addEventListener("click", () => viewport.zoomBy(1 / 1.5));
  $("zoom-fit").addEventListener("click", () => viewport.fit());

  let scene = "";
  on("state", ({ moved }) => {
    const { state } = store;
    const identity = `${state.run} ${state.scene.name} ${state.scene.rows} ${state.scene.cols}`;
    if (moved) {
      held.certaintyK = null;
      held.runs.clear();
    }
    if (identity !== scene) {
      if (state.scene.rows !== viewport.rows || state.scene.cols !== viewport.cols) {
        viewport.setImage(state.scene.rows, state.scene.cols);
        held.truth = null;
      }
      scene = identity;
      fillComposites();
      readComposite();
    }
    fillLayers();
  });
  on("labels selection brush", () => paintAll());
  on("pixel marks", () => viewport.changed());
  on("runs", fillLayers);
}
