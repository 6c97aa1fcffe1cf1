// The map: bytes per pixel and a table of 256 colours, drawn on a canvas; zoom, pan, picking.
import { perFrame } from "./dom.js";

const MOST_ZOOM = 64;
const littleEndian = new Uint8Array(new Uint32Array([1]).buffer)[0] === 1;

/** One entry of a colour table; alpha from 0 to 1. */
export function entry(color, alpha = 1) {
  const value = parseInt(color.slice(1), 16);
  const [r, g, b, a] = [value >> 16, (value >> 8) & 255, value & 255, Math.round(alpha * 255)];
  return (littleEndian ? (a << 24) | (b << 16) | (g << 8) | r
    : (r << 24) | (g << 16) | (b << 8) | a) >>> 0;
}

/** What part of the image is shown: its centre in pixels, and screen pixels per image pixel. */
export class Viewport {
  constructor() {
    Object.assign(this, { x: 0.5, y: 0.5, zoom: 1, fitted: true, rows: 1, cols: 1 });
    this.maps = new Set();
  }

  setImage(rows, cols) {
    Object.assign(this, { rows, cols, fitted: true });
    this.fit();
  }

  smallest() {
    const sizes = [...this.maps].filter((map) => map.width && map.height);
    if (!sizes.length) return 1;
    return Math.min(...sizes.map((map) =>
      Math.min(map.width / this.cols, map.height / this.rows))) * 0.98;
  }

  fit() {
    Object.assign(this, { x: this.cols / 2, y: this.rows / 2, zoom: this.smallest() });
    this.fitted = true;
    this.changed();
  }

  resized() {
    if (this.fitted) this.fit();
    else this.changed();
  }

  /** Zoom by a factor, keeping one point of the image in its place. */
  zoomBy(factor, x = this.x, y = this.y) {
    const least = Math.min(this.smallest(), 1) / 2;
    const zoom = Math.min(MOST_ZOOM, Math.max(least, this.zoom * factor));
    const kept = this.zoom / zoom;
    this.x = x + (this.x - x) * kept;
    this.y = y + (this.y - y) * kept;
    this.zoom = zoom;
    this.fitted = false;
    this.changed();
  }

  panBy(dx, dy) {
    this.x = Math.min(this.cols, Math.max(0, this.x + dx));
    this.y = Math.min(this.rows, Math.max(0, this.y + dy));
    this.fitted = false;
    this.changed();
  }

  /** Bring a pixel into view, at least so large; nothing moves if it is seen already. */
  show(row, col, zoom = 0) {
    const seen = [...this.maps].every((map) => {
      const [x, y] = map.toScreen(col + 0.5, row + 0.5);
      return x > 20 && y > 20 && x < map.width - 20 && y < map.height - 20;
    });
    if (seen && this.zoom >= zoom) {
      this.changed();
      return;
    }
    if (zoom) this.zoom = Math.max(this.zoom, zoom);
    this.x = col + 0.5;
    this.y = row + 0.5;
    this.fitted = false;
    this.changed();
  }

  changed() {
    for (const map of this.maps) map.draw();
  }
}

/**
 * A canvas that shows a colour composite and, over it, one byte per pixel in colours.
 *
 * Events of the element: "pick" {row, col, add}, "point" {row, col} or null detail,
 * "vertex", "close", "cancel" while a polygon is drawn.
 */
export class MapView {
  constructor(canvas, viewport) {
    this.canvas = canvas;
    this.view = viewport;
    this.base = null;
    this.overlay = null;
    this.opacity = 1;
    this.drawing = null; // vertices of a polygon, in image coordinates
    this.cursor = null; // the pixel that the keyboard points at
    this.decorate = () => {};
    viewport.maps.add(this);
    this.draw = perFrame(() => this.drawNow());
    new ResizeObserver(() => this.measure()).observe(canvas.parentElement);
    this.listen();
  }

  measure() {
    const frame = this.canvas.parentElement.getBoundingClientRect();
    const ratio = window.devicePixelRatio || 1;
    this.width = Math.floor(frame.width);
    this.height = Math.floor(frame.height);
    this.canvas.width = Math.max(1, Math.round(this.width * ratio));
    this.canvas.height = Math.max(1, Math.round(this.height * ratio));
    this.view.resized();
  }

  remove() {
    this.view.maps.delete(this);
  }

  /** The colour composite: three bytes per pixel, row by row. */
  setComposite(bytes, rows, cols) {
    const canvas = new OffscreenCanvas(cols, rows);
    const image = new ImageData(cols, rows), out = image.data;
    for (let from = 0, to = 0; from < bytes.length; from += 3, to += 4) {
      out[to] = bytes[from];
      out[to + 1] = bytes[from + 1];
      out[to + 2] = bytes[from + 2];
      out[to + 3] = 255;
    }
    canvas.getContext("2d").putImageData(image, 0, 0);
    this.base = canvas;
    this.draw();
  }

  /** Show `bytes` in the colours of `table`; null for the composite alone. */
  paint(bytes, table, rows, cols, mask = null, dimmed = null) {
    if (!bytes) {
      this.overlay = null;
      this.draw();
      return;
    }
    if (!this.overlay || this.image.width !== cols || this.image.height !== rows) {
      this.overlay = new OffscreenCanvas(cols, rows);
      this.context = this.overlay.getContext("2d");
      this.image = new ImageData(cols, rows);
      this.words = new Uint32Array(this.image.data.buffer);
    }
    const words = this.words, n = Math.min(words.length, bytes.length);
    if (mask) for (let i = 0; i < n; i++) words[i] = (mask[i] ? table : dimmed)[bytes[i]];
    else for (let i = 0; i < n; i++) words[i] = table[bytes[i]];
    this.context.putImageData(this.image, 0, 0);
    this.drawNow();
  }

  /** Screen position of a point of the image. */
  toScreen(x, y) {
    const { view } = this;
    return [(x - view.x) * view.zoom + this.width / 2, (y - view.y) * view.zoom + this.height / 2];
  }

  toImage(left, top) {
    const { view } = this;
    return [(left - this.width / 2) / view.zoom + view.x,
      (top - this.height / 2) / view.zoom + view.y];
  }

  pixelAt(event) {
    const frame = this.canvas.getBoundingClientRect();
    const [x, y] = this.toImage(event.clientX - frame.left, event.clientY - frame.top);
    const [row, col] = [Math.floor(y), Math.floor(x)];
    const inside = row >= 0 && col >= 0 && row < this.view.rows && col < this.view.cols;
    return { row, col, x, y, inside };
  }

  drawNow() {
    const { canvas, view } = this, ratio = window.devicePixelRatio || 1;
    const context = canvas.getContext("2d");
    context.setTransform(1, 0, 0, 1, 0, 0);
    context.clearRect(0, 0, canvas.width, canvas.height);
    if (!this.width) return;
    context.imageSmoothingEnabled = false;
    const [left, top] = this.toScreen(0, 0);
    context.setTransform(ratio * view.zoom, 0, 0, ratio * view.zoom, ratio * left, ratio * top);
    if (this.base) context.drawImage(this.base, 0, 0);
    if (this.overlay) {
      context.globalAlpha = this.opacity;
      context.drawImage(this.overlay, 0, 0);
      context.globalAlpha = 1;
    }
    context.setTransform(ratio, 0, 0, ratio, 0, 0);
    this.decorate(context, this);
    if (this.drawing) this.drawPolygon(context);
    if (this.cursor && !this.cursor.clicked && document.activeElement === canvas) {
      this.frame(context, this.cursor.row, this.cursor.col, [4, 3]);
    }
  }

  /** Two lines, dark under light, that are seen on any colour. */
  stroke(context, width = 2, dash = []) {
    context.setLineDash(dash);
    context.lineWidth = width + 2;
    context.strokeStyle = "#000";
    context.stroke();
    context.lineWidth = width;
    context.strokeStyle = "#fff";
    context.stroke();
    context.setLineDash([]);
  }

  /** A square around a pixel, never too small to see. */
  frame(context, row, col, dash = []) {
    const [x, y] = this.toScreen(col + 0.5, row + 0.5);
    const half = Math.max(6, this.view.zoom / 2 + 1);
    context.beginPath();
    context.rect(x - half, y - half, 2 * half, 2 * half);
    this.stroke(context, 2, dash);
  }

  /** A line through points of the image. */
  line(context, points, { close = false, dash = [], width = 2 } = {}) {
    context.beginPath();
    for (const [x, y] of points) context.lineTo(...this.toScreen(x, y));
    if (close) context.closePath();
    this.stroke(context, width, dash);
  }

  drawPolygon(context) {
    if (!this.drawing.length) return;
    this.line(context, this.drawing, { close: this.drawing.length > 2 });
    for (const [x, y] of this.drawing) {
      const [left, top] = this.toScreen(x, y);
      context.beginPath();
      context.arc(left, top, 3.5, 0, 2 * Math.PI);
      this.stroke(context, 1.5);
      context.fillStyle = "#fff";
      context.fill();
    }
  }

  tell(name, detail = null) {
    this.canvas.dispatchEvent(new CustomEvent(name, { detail }));
  }

  chosen(place, add) {
    if (this.drawing) {
      this.drawing.push([Math.min(this.view.cols, Math.max(0, place.x)),
        Math.min(this.view.rows, Math.max(0, place.y))]);
      this.draw();
      this.tell("vertex");
    } else if (place.inside) {
      this.cursor = { row: place.row, col: place.col, clicked: true };
      this.tell("pick", { row: place.row, col: place.col, add });
    }
  }

  listen() {
    const { canvas, view } = this;
    let held = null, moved = false;
    canvas.addEventListener("wheel", (event) => {
      event.preventDefault();
      const place = this.pixelAt(event);
      view.zoomBy(1.0015 ** -event.deltaY, place.x, place.y);
    }, { passive: false });
    canvas.addEventListener("pointerdown", (event) => {
      if (event.button > 1) return;
      held = { x: event.clientX, y: event.clientY };
      moved = false;
      canvas.setPointerCapture(event.pointerId);
      canvas.focus({ preventScroll: true });
    });
    canvas.addEventListener("pointermove", (event) => {
      if (held) {
        const dx = event.clientX - held.x, dy = event.clientY - held.y;
        if (moved || Math.hypot(dx, dy) > 4) {
          moved = true;
          canvas.classList.add("dragging");
          view.panBy(-dx / view.zoom, -dy / view.zoom);
          held = { x: event.clientX, y: event.clientY };
        }
      }
      const place = this.pixelAt(event);
      this.tell("point", place.inside ? place : null);
    });
    canvas.addEventListener("pointerup", (event) => {
      canvas.classList.remove("dragging");
      if (held && !moved) {
        this.chosen(this.pixelAt(event), event.shiftKey || event.ctrlKey || event.metaKey);
      }
      held = null;
    });
    canvas.addEventListener("pointercancel", () => { held = null; });
    canvas.addEventListener("pointerleave", () => this.tell("point", null));
    canvas.addEventListener("dblclick", () => { if (this.drawing) this.tell("close"); });
    canvas.addEventListener("focus", () => this.draw());
    canvas.addEventListener("blur", () => this.draw());
    canvas.addEventListener("keydown", (event) => this.press(event));
  }

  press(event) {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const { view } = this;
    const steps = {
      ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1],
    };
    const step = steps[event.key];
    if (step && event.shiftKey) {
      const at = this.cursor || { row: Math.floor(view.y), col: Math.floor(view.x) };
      this.cursor = {
        row: Math.min(view.rows - 1, Math.max(0, at.row + step[1])),
        col: Math.min(view.cols - 1, Math.max(0, at.col + step[0])),
      };
      const { row, col } = this.cursor;
      const [x, y] = this.toScreen(col + 0.5, row + 0.5);
      if (x < 0 || y < 0 || x > this.width || y > this.height) view.show(row, col);
      this.draw();
      this.tell("point", { ...this.cursor, x: col + 0.5, y: row + 0.5, inside: true, spoken: true });
    } else if (step) {
      view.panBy(step[0] * 60 / view.zoom, step[1] * 60 / view.zoom);
    } else if (event.key === "+" || event.key === "=") view.zoomBy(1.5);
    else if (event.key === "-") view.zoomBy(1 / 1.5);
    else if (event.key === "0") view.fit();
    else if (this.drawing && event.key === "Escape") this.tell("cancel");
    else if (this.drawing && event.key === "Backspace") {
      this.drawing.pop();
      this.draw();
      this.tell("vertex");
    } else if (this.drawing && event.key === "Enter") this.tell("close");
    else if ((event.key === "Enter" || event.key === " ") && this.cursor) {
      const { row, col } = this.cursor;
      this.chosen({ row, col, x: col + 0.5, y: row + 0.5, inside: true }, event.key === " ");
    } else return;
    event.preventDefault();
  }
}
