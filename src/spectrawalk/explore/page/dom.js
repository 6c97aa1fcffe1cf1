// Small helpers for elements. Text from the server is only ever set as text, never as markup.

const SVG = "http://www.w3.org/2000/svg";

export const $ = (id) => document.getElementById(id);

function fill(node, attributes, children) {
  for (const [name, value] of Object.entries(attributes)) {
    if (name.startsWith("on")) node.addEventListener(name.slice(2), value);
    else if (value === true) node.setAttribute(name, "");
    else if (value !== false && value !== null && value !== undefined) {
      node.setAttribute(name, value);
    }
  }
  node.append(...children.flat().filter((child) => child !== null && child !== undefined));
  return node;
}

/** An HTML element; strings among the children become text nodes. */
export function el(tag, attributes = {}, ...children) {
  return fill(document.createElement(tag), attributes, children);
}

/** An SVG element. */
export function svg(tag, attributes = {}, ...children) {
  return fill(document.createElementNS(SVG, tag), attributes, children);
}

/** A coloured square; its colour is set through the style object, which the policy allows. */
export function swatch(color) {
  const mark = el("span", { class: "swatch", "aria-hidden": "true" });
  mark.style.background = color;
  return mark;
}

/** Write a sentence for screen readers, and only for them. */
export function announce(text) {
  const live = $("announcer");
  live.textContent = live.textContent === text ? `${text}\u00a0` : text;
}

export const css = (name) =>
  getComputedStyle(document.documentElement).getPropertyValue(name).trim();

/** Replace what is in a table's body. Each cell is text or a node. */
export function table(head, rows, { label, numbers = [] } = {}) {
  const kind = (i) => (numbers.includes(i) ? { class: "number" } : {});
  return el("table", { "aria-label": label },
    head.length
      ? el("thead", {}, el("tr", {}, head.map((name, i) =>
        el("th", { scope: "col", ...kind(i) }, name))))
      : null,
    el("tbody", {}, rows.map((row) =>
      el("tr", {}, row.map((cell, i) => el("td", kind(i), cell))))));
}

const grouped = new Intl.NumberFormat("en");
export const count = (number) => grouped.format(number);

/** A number with a few significant digits. */
export function short(value, digits = 4) {
  if (value === null || value === undefined || !Number.isFinite(value)) return "\u2013";
  if (Number.isInteger(value)) return count(value);
  return String(Number(value.toPrecision(digits)));
}

/** An area in square metres as people write it. */
export function area(squareMetres) {
  if (squareMetres === null || squareMetres === undefined) return "";
  if (squareMetres >= 1e6) return `${short(squareMetres / 1e6, 3)} km\u00b2`;
  if (squareMetres >= 1e4) return `${short(squareMetres / 1e4, 3)} ha`;
  return `${short(squareMetres, 3)} m\u00b2`;
}

/** Call at most once per frame, with the newest arguments. */
export function perFrame(work) {
  let waiting = null;
  return (...given) => {
    const first = waiting === null;
    waiting = given;
    if (first) {
      requestAnimationFrame(() => {
        const newest = waiting;
        waiting = null;
        work(...newest);
      });
    }
  };
}

/** Call once the calls have stopped for a while. */
export function afterPause(work, milliseconds = 150) {
  let timer = 0;
  return (...given) => {
    clearTimeout(timer);
    timer = setTimeout(() => work(...given), milliseconds);
  };
}
