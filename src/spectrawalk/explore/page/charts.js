// Line charts as SVG: few curves, an axis each way, shaded parts, and a readout under the pointer.
import { css, el, short, svg } from "./dom.js";

/** Round values between two ends, about `wanted` of them. */
export function ticks(low, high, wanted = 5) {
  if (!(high > low)) return [low];
  const rough = (high - low) / wanted, power = 10 ** Math.floor(Math.log10(rough));
  const step = [1, 2, 2.5, 5, 10].map((f) => f * power).find((s) => s >= rough * 0.999);
  const found = [];
  for (let i = Math.ceil(low / step - 1e-9); i * step <= high + step * 1e-9; i++) {
    found.push(Number((i * step).toPrecision(12)));
  }
  return found;
}

/** Parts of a curve between values that are not there. */
function parts(xs, ys) {
  const found = [];
  let part = [];
  ys.forEach((y, i) => {
    if (y === null || y === undefined || !Number.isFinite(y)) {
      if (part.length) found.push(part);
      part = [];
    } else part.push([xs[i], y, i]);
  });
  if (part.length) found.push(part);
  return found;
}

const path = (points) => points.map(([x, y], i) =>
  `${i ? "L" : "M"}${x.toFixed(1)} ${y.toFixed(1)}`).join("");

/**
 * Draw curves.
 *
 * @param {HTMLElement} place element whose content is replaced
 * @param {object} chart
 *   x: numbers; series: [{name, color, y, low?, high?, dash?, width?}];
 *   shaded: [[from, to]]; label: accessible name; xLabel, yLabel; height
 */
export function lineChart(place, chart) {
  const width = Math.max(260, Math.round(place.clientWidth || 400));
  const height = chart.height || 220;
  const right = 14, top = 8, bottom = 38, xs = chart.x;
  const all = chart.series.flatMap((s) => [...s.y, ...(s.low || []), ...(s.high || [])])
    .filter((v) => v !== null && Number.isFinite(v));
  if (!all.length || !xs.length) {
    place.replaceChildren(el("p", { class: "soft" }, "Nothing to draw yet."));
    return;
  }
  const pad = (Math.max(...all) - Math.min(...all)) * 0.04 || 1;
  const [x0, x1] = [Math.min(...xs), Math.max(...xs)];
  const [y0, y1] = [Math.min(...all) - pad, Math.max(...all) + pad];
  const marked = ticks(y0, y1, 4);
  const left = 26 + 6.5 * Math.max(...marked.map((value) => short(value).length));
  const atX = (x) => left + ((x - x0) / (x1 - x0 || 1)) * (width - left - right);
  const atY = (y) => top + (1 - (y - y0) / (y1 - y0)) * (height - top - bottom);

  const root = svg("svg", {
    viewBox: `0 0 ${width} ${height}`, width, height, role: "img",
    "aria-label": chart.label, class: "chart",
  });
  for (const [from, to] of chart.shaded || []) {
    root.append(svg("rect", {
      x: atX(from), y: top, width: Math.max(1, atX(to) - atX(from)),
      height: height - top - bottom, class: "excluded",
    }));
  }
  for (const value of marked) {
    root.append(
      svg("line", { x1: left, x2: width - right, y1: atY(value), y2: atY(value), class: "grid" }),
      svg("text", { x: left - 6, y: atY(value) + 4, "text-anchor": "end" }, short(value)));
  }
  for (const value of ticks(x0, x1, Math.max(2, Math.floor(width / 90)))) {
    root.append(
      svg("line", {
        x1: atX(value), x2: atX(value), y1: height - bottom, y2: height - bottom + 4, class: "axis",
      }),
      svg("text", { x: atX(value), y: height - bottom + 16, "text-anchor": "middle" },
        String(value)));
  }
  root.append(
    svg("line", {
      x1: left, x2: width - right, y1: height - bottom, y2: height - bottom, class: "axis",
    }),
    svg("text", {
      x: (left + width - right) / 2, y: height - 4, "text-anchor": "middle", class: "title",
    }, chart.xLabel || ""));
  if (chart.yLabel) {
    root.append(svg("text", {
      x: 0, y: 0, transform: `translate(11 ${(height - bottom + top) / 2}) rotate(-90)`,
      "text-anchor": "middle", class: "title",
    }, chart.yLabel));
  }
  for (const line of chart.series) {
    if (line.low && line.high) {
      for (const part of parts(xs, line.low)) {
        const above = part.map(([x, , i]) => [atX(x), atY(line.high[i])]);
        const below = part.map(([x, y]) => [atX(x), atY(y)]).reverse();
        root.append(svg("path", {
          d: `${path([...above, ...below])}Z`, fill: line.color, "fill-opacity": 0.22,
          stroke: "none",
        }));
      }
    }
  }
  for (const line of chart.series) {
    for (const part of parts(xs, line.y)) {
      const points = part.map(([x, y]) => [atX(x), atY(y)]);
      root.append(points.length === 1
        ? svg("circle", { cx: points[0][0], cy: points[0][1], r: 2, fill: line.color })
        : svg("path", {
          d: path(points), fill: "none", stroke: line.color, "stroke-width": line.width || 1.6,
          "stroke-dasharray": line.dash || null, "stroke-linejoin": "round",
          class: isWeak(line.color) ? "weak" : null,
        }));
    }
  }
  for (const mark of chart.marks || []) {
    root.append(svg("line", {
      x1: atX(mark.x), x2: atX(mark.x), y1: top, y2: height - bottom, class: "mark",
    }));
  }
  const hair = svg("line", { y1: top, y2: height - bottom, class: "hair", visibility: "hidden" });
  root.append(hair);
  const told = el("p", { class: "reading soft" }, chart.hint || "\u00a0");
  const resting = told.textContent;
  root.addEventListener("pointermove", (event) => {
    const frame = root.getBoundingClientRect();
    const wanted = x0 + (((event.clientX - frame.left) * width / frame.width - left)
      / (width - left - right)) * (x1 - x0);
    let near = 0;
    xs.forEach((x, i) => { if (Math.abs(x - wanted) < Math.abs(xs[near] - wanted)) near = i; });
    hair.setAttribute("x1", atX(xs[near]));
    hair.setAttribute("x2", atX(xs[near]));
    hair.setAttribute("visibility", "visible");
    told.textContent = [`${short(xs[near])}${chart.xUnit ? ` ${chart.xUnit}` : ""}`,
      ...chart.series.filter((s) => s.y[near] !== null && Number.isFinite(s.y[near])).slice(0, 4)
        .map((s) => `${s.name} ${short(s.y[near])}`)].join(" \u00b7 ");
  });
  root.addEventListener("pointerleave", () => {
    hair.setAttribute("visibility", "hidden");
    told.textContent = resting;
  });
  place.replaceChildren(root, told);
}

/** The line of names below a chart. */
export function key(series) {
  return el("ul", { class: "key" }, series.map((line) => {
    const mark = svg("svg", { width: 22, height: 10, "aria-hidden": "true" },
      line.low ? svg("rect", {
        x: 0, y: 0, width: 22, height: 10, fill: line.color, "fill-opacity": 0.25,
      }) : null,
      svg("line", {
        x1: 0, x2: 22, y1: 5, y2: 5, stroke: line.color, "stroke-width": 2,
        "stroke-dasharray": line.dash || null,
      }));
    return el("li", {}, mark, ` ${line.name}`);
  }));
}

function luminance(color) {
  const value = parseInt(color.slice(1), 16);
  const [r, g, b] = [value >> 16, (value >> 8) & 255, value & 255].map((v) => {
    const share = v / 255;
    return share <= 0.04045 ? share / 12.92 : ((share + 0.055) / 1.055) ** 2.4;
  });
  return 0.2126 * r + 0.7152 * g + 0.0722 * b;
}

/** Whether a line of this colour is hard to see on the page, so that it needs an edge. */
export function isWeak(color) {
  const [a, b] = [luminance(color), document.documentElement.classList.contains("dark") ? 0.0092 : 1];
  return (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05) < 2;
}

export const ink = () => css("--ink");
