// The pixels in two diffusion coordinates, in the colours of their clusters, linked with the map.
import { $, announce, count, css, el, perFrame, short } from "./dom.js";
import { json } from "./api.js";
import { ticks } from "./charts.js";
import { entry } from "./map.js";
import {
  attempt, colorOf, entries, idOfPart, NONE, on, setBrush, store,
} from "./store.js";

const SIDE = { left: 50, right: 10, top: 10, bottom: 40 };
let data = null, dataOf = "", box = null, canvas, axisX, axisY, told, meaning, clear;
let frame = null; // where the axes are

const visible = () => !$("panel-embedding").hidden;

async function read() {
  const [x, y] = [Number(axisX.value || 1), Number(axisY.value || 2)];
  const wanted = `${store.state.run} ${store.state.leaf_version} ${x} ${y}`;
  if (dataOf === wanted) return;
  told.textContent = "Computing the diffusion coordinates\u2026";
  await attempt(async () => {
    const got = await json("embedding", { x, y });
    data = got;
    dataOf = wanted;
    fillAxes(got.n_coordinates, x, y);
    meaning.textContent = got.meaning || "";
    setBox(null);
  });
  if (dataOf !== wanted) told.textContent = "The embedding could not be read.";
}

function fillAxes(n, x, y) {
  for (const [select, value] of [[axisX, x], [axisY, y]]) {
    if (select.options.length !== n) {
      select.replaceChildren(...Array.from({ length: n }, (_, i) =>
        el("option", { value: i + 1 }, `coordinate ${i + 1}`)));
    }
    select.value = value;
  }
}

function limits(values) {
  let low = Infinity, high = -Infinity;
  for (const v of values) {
    if (v < low) low = v;
    if (v > high) high = v;
  }
  const pad = (high - low) * 0.03 || 1;
  return [low - pad, high + pad];
}

async function show() {
  if (!visible() || !store.state) return;
  await read();
  drawNow();
}

const draw = perFrame(() => { if (visible() && data) drawNow(); });

function drawNow() {
  if (!data) return;
  const ratio = window.devicePixelRatio || 1;
  const width = Math.max(240, canvas.parentElement.clientWidth);
  const height = Math.round(width * 0.86);
  canvas.width = width * ratio;
  canvas.height = height * ratio;
  canvas.style.width = `${width}px`;
  canvas.style.height = `${height}px`;
  const context = canvas.getContext("2d");
  const [x0, x1] = limits(data.x), [y0, y1] = limits(data.y);
  const inner = { w: width - SIDE.left - SIDE.right, h: height - SIDE.top - SIDE.bottom };
  frame = { x0, x1, y0, y1, width, height, ...inner };
  const atX = (v) => SIDE.left + ((v - x0) / (x1 - x0)) * inner.w;
  const atY = (v) => SIDE.top + (1 - (v - y0) / (y1 - y0)) * inner.h;

  // Points are written as pixels: 20,000 of them take a few milliseconds.
  const image = context.createImageData(canvas.width, canvas.height);
  const words = new Uint32Array(image.data.buffer);
  const shown = new Map(entries().map((each) => [each.id, each])), ids = idOfPart();
  const table = new Uint32Array(256), pale = new Uint32Array(256);
  ids.forEach((id, part) => {
    if (shown.get(id)?.hidden) return;
    const color = shown.get(id)?.color ?? colorOf(id);
    const faded = store.selected.size && !store.selected.has(id);
    table[part] = entry(color, faded ? 0.2 : 0.95);
    pale[part] = entry(color, 0.2);
  });
  const size = Math.max(2, Math.round((data.x.length < 5000 ? 4 : 2.5) * ratio));
  const drawPoint = (i) => {
    const part = store.leaf[data.pixels[i]];
    if (part === NONE) return;
    const color = store.brush && !store.brush[data.pixels[i]] ? pale[part] : table[part];
    if (!color) return;
    const left = Math.round(atX(data.x[i]) * ratio), top = Math.round(atY(data.y[i]) * ratio);
    for (let r = top; r < top + size && r < canvas.height; r++) {
      for (let c = left; c < left + size && c < canvas.width; c++) words[r * canvas.width + c] = color;
    }
  };
  for (let i = 0; i < data.x.length; i++) drawPoint(i);
  context.putImageData(image, 0, 0);

  context.setTransform(ratio, 0, 0, ratio, 0, 0);
  context.strokeStyle = css("--edge");
  context.fillStyle = css("--soft");
  context.font = "11px system-ui, 'DejaVu Sans', sans-serif";
  context.strokeRect(SIDE.left - 0.5, SIDE.top - 0.5, inner.w + 1, inner.h + 1);
  context.textAlign = "center";
  for (const v of ticks(x0, x1, 4)) context.fillText(short(v, 3), atX(v), height - SIDE.bottom + 14);
  context.fillText(`diffusion coordinate ${axisX.value}`, SIDE.left + inner.w / 2, height - 6);
  context.textAlign = "right";
  for (const v of ticks(y0, y1, 4)) context.fillText(short(v, 3), SIDE.left - 5, atY(v) + 4);
  context.save();
  context.translate(11, SIDE.top + inner.h / 2);
  context.rotate(-Math.PI / 2);
  context.textAlign = "center";
  context.fillText(`diffusion coordinate ${axisY.value}`, 0, 0);
  context.restore();

  const picked = store.pixel ? data.pixels.indexOf(store.pixel.pixel) : -1;
  if (picked >= 0) {
    context.beginPath();
    context.arc(atX(data.x[picked]) + 1, atY(data.y[picked]) + 1, 7, 0, 2 * Math.PI);
    context.lineWidth = 4;
    context.strokeStyle = css("--paper");
    context.stroke();
    context.lineWidth = 2;
    context.strokeStyle = css("--ink");
    context.stroke();
  }
  if (box) {
    const left = atX(Math.min(box.x0, box.x1)), right = atX(Math.max(box.x0, box.x1));
    const top = atY(Math.max(box.y0, box.y1)), bottom = atY(Math.min(box.y0, box.y1));
    context.lineWidth = 2;
    context.strokeStyle = css("--ink");
    context.setLineDash([5, 3]);
    context.strokeRect(left, top, right - left, bottom - top);
    context.setLineDash([]);
  }
}

/** Choose the pixels in a box of the two coordinates; null for none. */
function setBox(wanted, settled = true) {
  box = wanted;
  clear.disabled = !box;
  if (!box) {
    told.textContent = data ? `${count(data.x.length)} pixels. Drag a box to see them on the map.` : "";
    if (store.brush) setBrush(null);
    draw();
    return;
  }
  const mask = new Uint8Array(store.leaf.length);
  const [xl, xh] = [Math.min(box.x0, box.x1), Math.max(box.x0, box.x1)];
  const [yl, yh] = [Math.min(box.y0, box.y1), Math.max(box.y0, box.y1)];
  let n = 0;
  for (let i = 0; i < data.x.length; i++) {
    if (data.x[i] >= xl && data.x[i] <= xh && data.y[i] >= yl && data.y[i] <= yh) {
      mask[data.pixels[i]] = 1;
      n++;
    }
  }
  told.textContent = `${count(n)} of ${count(data.x.length)} pixels are in the box.`;
  if (settled) announce(told.textContent);
  setBrush(mask);
}

const moveBox = perFrame((wanted) => setBox(wanted, false));

function place(event) {
  const shape = canvas.getBoundingClientRect();
  const share = (v, from, length) => Math.min(1, Math.max(0, (v - from) / length));
  const right = share(event.clientX - shape.left, SIDE.left, frame.w);
  const down = share(event.clientY - shape.top, SIDE.top, frame.h);
  return [frame.x0 + right * (frame.x1 - frame.x0), frame.y1 - down * (frame.y1 - frame.y0)];
}

function press(event) {
  if (!frame) return;
  const dx = (frame.x1 - frame.x0) * 0.03, dy = (frame.y1 - frame.y0) * 0.03;
  const steps = {
    ArrowLeft: [-dx, 0], ArrowRight: [dx, 0], ArrowUp: [0, dy], ArrowDown: [0, -dy],
  };
  if (event.key === "Escape" && box) setBox(null);
  else if (event.key in steps && !event.ctrlKey && !event.metaKey) {
    const [sx, sy] = steps[event.key];
    const b = box || {
      x0: frame.x0 + 13 * dx, x1: frame.x0 + 20 * dx, y0: frame.y0 + 13 * dy, y1: frame.y0 + 20 * dy,
    };
    if (event.shiftKey) setBox({ ...b, x1: b.x1 + sx, y1: b.y1 + sy });
    else setBox({ x0: b.x0 + sx, x1: b.x1 + sx, y0: b.y0 + sy, y1: b.y1 + sy });
  } else return;
  event.preventDefault();
}

export function startEmbedding() {
  axisX = el("select", { id: "axis-x", onchange: show }, el("option", { value: 1 }, "coordinate 1"));
  axisY = el("select", { id: "axis-y", onchange: show }, el("option", { value: 2 }, "coordinate 2"));
  canvas = el("canvas", {
    id: "scatter", tabindex: 0, role: "application",
    "aria-label": "Pixels in two diffusion coordinates. Arrow keys move a box, Shift with arrow keys "
      + "sizes it, Escape removes it.",
  });
  told = el("p", { class: "reading soft", id: "box-told" });
  meaning = el("p", { class: "soft" });
  clear = el("button", { type: "button", disabled: true, onclick: () => setBox(null) },
    "Remove the box");
  $("panel-embedding").append(
    el("div", { class: "row" }, el("label", {}, "Right ", axisX), el("label", {}, "Up ", axisY)),
    el("div", { class: "plot" }, canvas), told, el("div", { class: "row" }, clear), meaning);
  let from = null;
  canvas.addEventListener("pointerdown", (event) => {
    if (!frame) return;
    from = place(event);
    canvas.setPointerCapture(event.pointerId);
  });
  canvas.addEventListener("pointermove", (event) => {
    if (!from) return;
    const [x1, y1] = place(event);
    moveBox({ x0: from[0], y0: from[1], x1, y1 });
  });
  canvas.addEventListener("pointerup", (event) => {
    if (!from) return;
    const [x1, y1] = place(event), [x0, y0] = from;
    from = null;
    const tiny = Math.abs(x1 - x0) < (frame.x1 - frame.x0) * 0.005
      && Math.abs(y1 - y0) < (frame.y1 - frame.y0) * 0.005;
    setTimeout(() => setBox(tiny ? null : { x0, y0, x1, y1 }), 20); // after the last frame
  });
  canvas.addEventListener("keydown", press);
  on("tab", (name) => { if (name === "embedding") show(); });
  on("state", ({ moved }) => {
    if (moved) {
      box = null;
      show();
    }
  });
  on("labels selection brush pixel theme", draw);
  new ResizeObserver(draw).observe($("panel-embedding"));
}
