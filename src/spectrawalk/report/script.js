"use strict";
// What lies under the pointer: read from a picture that holds the values, not the colours.
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
  const cluster = image.data[byte] + 256 * image.data[byte + 1];
  const row = shownRow * place.step, col = shownCol * place.step;
  const words = [`row ${row + place.top}, column ${col + place.left}`];
  if (place.transform) {
    const [a, b, c, d, e, f] = place.transform;
    const x = a * (col + 0.5) + b * (row + 0.5) + c, y = d * (col + 0.5) + e * (row + 0.5) + f;
    words.push(`x ${x.toFixed(place.digits)}, y ${y.toFixed(place.digits)}`);
  }
  words.push(cluster
    ? `${place.names[cluster - 1]}, ${place.certainty} ${(image.data[byte + 2] / 255).toFixed(2)}`
    : "no data");
  readout.textContent = words.join("  \u00b7  ");
  highlight(cluster);
}

// The spectra of one cluster, with the others faded.
const curves = Array.from(document.querySelectorAll("#spectra [id^='spectrum-']"));
function highlight(cluster) {
  for (const curve of curves) {
    const own = !cluster || curve.id.startsWith(`spectrum-${cluster}-`);
    curve.classList.toggle("faded", !own);
  }
}

for (const map of document.querySelectorAll("img.map")) {
  map.addEventListener("mousemove", describe);
  map.addEventListener("mouseleave", () => { readout.textContent = greeting; highlight(0); });
}
for (const row of document.querySelectorAll("#clusters tbody tr")) {
  row.addEventListener("mouseenter", () => highlight(Number(row.dataset.cluster)));
  row.addEventListener("mouseleave", () => highlight(0));
}
