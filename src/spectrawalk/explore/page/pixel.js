// The panel of one pixel: its spectrum over its cluster's, its neighbours, its confidence.
import { $, announce, el, short, swatch } from "./dom.js";
import { json } from "./api.js";
import { ink, key, lineChart } from "./charts.js";
import { attempt, colorOf, nameOf, on, select, showPixel, store, tell } from "./store.js";
import { viewport } from "./maps.js";

let spectra = null, spectraOf = "";

async function readSpectra() {
  const wanted = `${store.state.run} ${store.state.revision}`;
  if (spectraOf === wanted) return spectra;
  const told = await json("spectra");
  spectra = new Map(told.clusters.map((each) => [each.id, each]));
  spectraOf = wanted;
  return spectra;
}

/** The axis of the spectra: one more value, without data, where bands were excluded. */
export function axis() {
  const { scene } = store.state, shaded = [];
  const x = scene.wavelengths || scene.band_numbers;
  const order = [...x.keys()].sort((i, j) => x[i] - x[j]);
  const gaps = (scene.wavelengths ? scene.excluded : [])
    .filter((each) => each.low !== null && each.low !== undefined);
  const places = [];
  let last = null;
  for (const band of order) {
    if (last !== null) {
      const between = gaps.some((gap) => gap.low >= x[last] && gap.high <= x[band]);
      if (between) places.push({ x: (x[last] + x[band]) / 2, band: null });
    }
    places.push({ x: x[band], band });
    last = band;
  }
  const [low, high] = [x[order[0]], x[order[order.length - 1]]];
  for (const gap of gaps) {
    const [from, to] = [Math.max(low, gap.low), Math.min(high, gap.high)];
    if (from <= to) shaded.push([from, to]);
  }
  return {
    x: places.map((place) => place.x), shaded,
    along: (values) => places.map(({ band }) => (band === null ? null : values[band])),
    xLabel: scene.wavelengths ? "wavelength (nm)" : "band",
    xUnit: scene.wavelengths ? "nm" : "",
  };
}

/** Draw the spectrum of a pixel over the mean and spread of its cluster. */
export async function drawSpectrum(place, pixel, height = 230) {
  const means = await readSpectra(), { x, shaded, along, xLabel, xUnit } = axis();
  const series = [];
  const own = pixel && pixel.cluster !== null ? means.get(pixel.cluster) : null;
  if (own) {
    const mean = along(own.mean), spread = along(own.deviation);
    series.push({
      name: nameOf(own.id), color: colorOf(own.id), y: mean, width: 2.2,
      low: mean.map((v, i) => (v === null ? null : v - spread[i])),
      high: mean.map((v, i) => (v === null ? null : v + spread[i])),
    });
    const next = pixel.next && means.get(pixel.next.id);
    if (next) {
      series.push({
        name: `next: ${nameOf(next.id)}`, color: colorOf(next.id), y: along(next.mean),
        dash: "5 4",
      });
    }
  }
  if (pixel) {
    series.push({ name: "this pixel", color: ink(), y: along(pixel.spectrum), width: 1.5 });
  } else {
    for (const each of means.values()) {
      series.push({ name: nameOf(each.id), color: colorOf(each.id), y: along(each.mean) });
    }
  }
  lineChart(place, {
    x, shaded, series, height, xLabel, xUnit, yLabel: "value",
    label: pixel ? `Spectrum of the pixel in row ${pixel.row}, column ${pixel.col}`
      + (own ? `, over the mean and the spread of ${nameOf(own.id)}` : "")
      : "Mean spectra of the clusters",
    hint: shaded.length ? "Grey: excluded bands" : "",
  });
  return series;
}

function rowsOf(pixel) {
  const { state } = store;
  const cluster = pixel.cluster === null ? "no data"
    : el("span", {}, swatch(colorOf(pixel.cluster)), nameOf(pixel.cluster));
  const rows = [["Cluster", cluster]];
  const certainty = state.certainty.name[0].toUpperCase() + state.certainty.name.slice(1);
  if (pixel.confidence !== null && pixel.confidence !== undefined) {
    rows.push([certainty, pixel.confidence.toFixed(2)]);
  }
  if (pixel.next) {
    rows.push(["Next cluster", el("span", {}, swatch(colorOf(pixel.next.id)), pixel.next.name)]);
  }
  if (pixel.truth) rows.push(["Ground truth", pixel.truth]);
  if (pixel.x !== null && pixel.x !== undefined) {
    rows.push(["Position", `x ${short(pixel.x, 9)}, y ${short(pixel.y, 9)}`]);
  }
  return rows;
}

function alike(pixel, list) {
  const same = list.filter((each) => each.cluster === pixel.cluster).length;
  return `${same} of ${list.length} in the same cluster`;
}

function neighborChoice(pixel) {
  const kinds = [
    ["windowed", "Within the window", alike(pixel, pixel.windowed)],
    ["everywhere", "In the whole image", alike(pixel, pixel.everywhere)],
    ["both", "Both", ""],
  ];
  if (pixel.chain) kinds.push(["chain", "Path to the mode", `${pixel.chain.length - 1} steps`]);
  kinds.push(["none", "None", ""]);
  return el("fieldset", { class: "plain" },
    el("legend", {}, "Spectrally nearest pixels on the map"),
    kinds.map(([value, name, told]) => {
      const input = el("input", {
        type: "radio", name: "neighbors", value,
        checked: (store.neighbors || "windowed") === value,
        onchange: () => {
          store.neighbors = value;
          tell("marks");
        },
      });
      return el("label", { class: "choice" }, input, ` ${name} `,
        el("span", { class: "soft" }, told));
    }));
}

function goForm() {
  const { rows, cols } = store.state.scene;
  const number = (name, most, value) => el("input", {
    type: "number", min: 0, max: most - 1, value, "aria-label": name, required: true,
  });
  const row = number("Row", rows, store.pixel?.row ?? Math.floor(rows / 2));
  const col = number("Column", cols, store.pixel?.col ?? Math.floor(cols / 2));
  return el("form", {
    class: "row", onsubmit: async (event) => {
      event.preventDefault();
      const [r, c] = [Number(row.value), Number(col.value)];
      await showPixel(r, c);
      viewport.show(r, c);
    },
  }, el("span", {}, "Go to row"), row, el("span", {}, "column"), col,
  el("button", { type: "submit" }, "Show"));
}

async function draw() {
  const panel = $("panel-pixel");
  if (panel.hidden || !store.state) return;
  const { pixel } = store, chart = el("div", { class: "spectrum" });
  const keyPlace = el("div");
  if (!pixel) {
    panel.replaceChildren(
      el("h3", {}, "Mean spectra of the clusters"), chart, keyPlace,
      el("p", {}, "Click a pixel of the map to see its spectrum, its neighbours and how certain its "
        + "label is."), goForm());
  } else {
    panel.replaceChildren(
      el("h3", { id: "pixel-title" }, `Row ${pixel.row}, column ${pixel.col}`),
      el("table", { class: "facts" }, el("tbody", {}, rowsOf(pixel).map(([name, value]) =>
        el("tr", {}, el("th", { scope: "row" }, name), el("td", {}, value))))),
      chart, keyPlace,
      pixel.cluster === null ? "" : neighborChoice(pixel),
      el("div", { class: "row" },
        pixel.cluster === null ? "" : el("button", {
          type: "button", onclick: () => select(pixel.cluster, { add: true }),
        }, store.selected.has(pixel.cluster) ? "Unselect its cluster" : "Select its cluster"),
        el("button", {
          type: "button", onclick: () => {
            store.pixel = null;
            tell("pixel");
          },
        }, "Show all spectra")),
      goForm());
  }
  await attempt(async () => {
    const series = await drawSpectrum(chart, pixel);
    if (series.length <= 12) keyPlace.replaceChildren(key(series));
  });
}

export function startPixel() {
  on("pixel", (picked) => {
    draw();
    const { pixel } = store;
    if (pixel && picked) {
      announce(`Row ${pixel.row}, column ${pixel.col}: `
        + (pixel.cluster === null ? "no data" : nameOf(pixel.cluster)));
    }
  });
  on("state", ({ before }) => {
    // The cluster of the pixel may have changed: ask again.
    if (store.pixel && before) showPixel(store.pixel.row, store.pixel.col, false);
    else draw();
  });
  on("tab", (name) => { if (name === "pixel") draw(); });
  on("theme", draw);
}
