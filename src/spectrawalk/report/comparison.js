"use strict";
// The clusters under the pointer in both maps: read from a picture that holds numbers, not colours.
const values = document.getElementById("values");
const readout = document.getElementById("readout");
const place = JSON.parse(document.getElementById("place").textContent);
const greeting = readout.textContent;
let pixels = null;

function readPixels() {
  if (pixels || !values.complete) return pixels;
  const canvas = document.createElement("canvas");
  canvas.width = values.naturalWidth;
  canvas.height = values.naturalHeight;
  const context = canvas.getContext("2d", { willReadFrequently: true });
  context.drawImage(values, 0, 0);
  pixels = context.getImageData(0, 0, canvas.width, canvas.height);
  return pixels;
}

function describe(event) {
  const image = readPixels();
  if (!image) return;
  const frame = event.currentTarget.getBoundingClientRect();
  const at = (offset, length, count) =>
    Math.min(count - 1, Math.max(0, Math.floor((offset / length) * count)));
  const shownCol = at(event.clientX - frame.left, frame.width, image.width);
  const shownRow = at(event.clientY - frame.top, frame.height, image.height);
  const byte = 4 * (shownRow * image.width + shownCol);
  const high = image.data[byte + 2];
  const before = image.data[byte] + 256 * (high & 15);
  const after = image.data[byte + 1] + 256 * (high >> 4);
  const row = shownRow * place.step, col = shownCol * place.step;
  const words = [`row ${row}, column ${col}`];
  if (place.transform) {
    const [a, b, c, d, e, f] = place.transform;
    const x = a * (col + 0.5) + b * (row + 0.5) + c, y = d * (col + 0.5) + e * (row + 0.5) + f;
    words.push(`x ${x.toFixed(place.digits)}, y ${y.toFixed(place.digits)}`);
  }
  const name = (entry) => (entry ? place.names[entry - 1] : "no data");
  words.push(`A: ${name(before)}`, `B: ${name(after)}`);
  readout.textContent = words.join("  \u00b7  ");
  highlight([before, after]);
}

// The spectra of some clusters, with the others faded.
const curves = Array.from(document.querySelectorAll("#spectra [id^='spectrum-']"));
function highlight(clusters) {
  const shown = clusters.filter((cluster) => cluster);
  for (const curve of curves) {
    const own = shown.some((cluster) => curve.id.startsWith(`spectrum-${cluster}-`));
    curve.classList.toggle("faded", shown.length > 0 && !own);
  }
}

for (const map of document.querySelectorAll("img.map")) {
  map.addEventListener("mousemove", describe);
  map.addEventListener("mouseleave", () => { readout.textContent = greeting; highlight([]); });
}
for (const row of document.querySelectorAll("#clusters tbody tr")) {
  row.addEventListener("mouseenter", () => highlight([Number(row.dataset.cluster)]));
  row.addEventListener("mouseleave", () => highlight([]));
}
