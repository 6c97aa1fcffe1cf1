// How many clusters: the slider, the dendrogram with its line, the supported numbers.
import { $, afterPause, announce, count, el, perFrame, short, svg } from "./dom.js";
import { json, ServerError } from "./api.js";
import { isWeak, lineChart, ticks } from "./charts.js";
import {
  canPreview, entries, on, select, showPreview, shownK, step, store,
} from "./store.js";

// ---- the number of clusters

/** Make the number that is shown a step of the session. */
async function commit() {
  store.moving = false;
  const { state } = store, k = shownK();
  if (!canPreview()) {
    const wanted = Number($("k").value), op = state.base === "clusters" ? "relabel" : "cut";
    if (op === "cut" || wanted !== state.k) await step({ op, k: wanted }, `${wanted} clusters`);
  } else if (store.preview !== null || k !== state.k) {
    await step({ op: "cut", k }, `${k} clusters`);
  }
}
const commitSoon = afterPause(commit, 350);

/** Show a number of clusters at once; it becomes a step when the hand rests. */
export function follow(k) {
  const most = store.state.largest_k;
  const wanted = Math.min(most, Math.max(1, Math.round(k)));
  if (canPreview()) showPreview(wanted);
  $("k").value = wanted;
  $("k-value").textContent = wanted;
}

function go(k) {
  if (!canPreview()) {
    step(store.state.base === "clusters" ? { op: "relabel", k } : { op: "cut", k });
    return;
  }
  follow(k);
  commit();
}

function drawLevels() {
  const { levels, largest_k: most } = store.state, shown = shownK();
  const marks = levels.map(({ k }) => {
    const mark = el("i");
    mark.style.left = `${(100 * (k - 1)) / Math.max(1, most - 1)}%`;
    return mark;
  });
  $("level-marks").replaceChildren(...marks);
  $("levels").replaceChildren(
    el("span", { class: "soft" }, levels.length ? "Supported:" : ""),
    ...levels.map(({ k }) => el("button", {
      type: "button", "aria-pressed": String(k === shown), "aria-label": `${k} clusters, supported`,
      "data-k": k, onclick: () => go(k),
    }, String(k))));
}

// ---- the dendrogram

const SUPPORTED = 0.62;
let drawn = null;

/** Nodes of the tree: leaves have no split. Cluster j is split from its parent at height j. */
function nodesOf(tree) {
  const n = tree.parent.length;
  const node = tree.parent.map((_, leaf) => ({ split: null, leaf, id: leaf, sides: [] }));
  const current = [...node];
  for (let j = n - 1; j > 0; j--) {
    const kept = tree.parent[j];
    current[kept] = {
      split: j, id: kept, height: tree.height[j], sides: [current[kept], current[j]],
    };
  }
  return current[0];
}

function layOut(root) {
  const leaves = [], all = [];
  const visit = (node, above) => {
    node.above = above;
    all.push(node);
    if (node.split === null) {
      node.place = leaves.length;
      leaves.push(node);
      return;
    }
    for (const side of node.sides) visit(side, node);
    node.place = (node.sides[0].place + node.sides[1].place) / 2;
  };
  visit(root, null);
  return { leaves, all };
}

function drawTree() {
  const { tree } = store.state, place = $("tree");
  const width = place.clientWidth, height = place.clientHeight;
  const left = 46, right = 14, top = 10, bottom = 30;
  const { leaves, all } = layOut(nodesOf(tree));
  const heights = tree.height.slice(1);
  const low = Math.max(0, Math.min(...heights, SUPPORTED) - 0.04);
  const high = Math.min(1, Math.max(...heights, SUPPORTED)) + 0.03;
  const gap = (width - left - right) / leaves.length;
  const atX = (p) => left + (p + 0.5) * gap;
  const atY = (h) => top + ((high - h) / (high - low)) * (height - top - bottom);
  const toHeight = (y) => high - ((y - top) / (height - top - bottom)) * (high - low);
  const floor = height - bottom;
  const root = svg("svg", { viewBox: `0 0 ${width} ${height}`, role: "group", "aria-label":
    "Tree of the clusters" });
  for (const value of ticks(low, high, 4)) {
    if (atY(value) < top) continue;
    root.append(
      svg("line", { x1: left, x2: width - right, y1: atY(value), y2: atY(value), class: "grid" }),
      svg("text", { x: left - 5, y: atY(value) + 4, "text-anchor": "end" }, short(value, 3)));
  }
  root.append(
    svg("text", {
      class: "title", "text-anchor": "middle",
      transform: `translate(11 ${(top + floor) / 2}) rotate(-90)`,
    }, "share of runs"),
    svg("line", {
      x1: left, x2: width - right, y1: atY(SUPPORTED), y2: atY(SUPPORTED), class: "support",
    }));
  for (const node of all) {
    const x = atX(node.place), y = node.split === null ? floor : atY(node.height);
    const from = node.above ? atY(node.above.height) : top - 6;
    node.stem = svg("path", { d: `M${x} ${from}V${y}`, class: "branch" });
    root.append(node.stem);
    if (node.split !== null) {
      node.bar = svg("path", {
        d: `M${atX(node.sides[0].place)} ${y}H${atX(node.sides[1].place)}`, class: "branch",
      });
      root.append(node.bar);
    }
  }
  const strips = leaves.map((leaf, i) => svg("rect", {
    x: left + i * gap, y: floor, width: gap + 0.5, height: 10, class: "node",
    onclick: () => select(drawn.idOf(leaf.leaf), { add: true }),
  }, svg("title")));
  const names = svg("g");
  root.append(...strips, names);
  const handle = svg("g", {
    class: "handle", tabindex: 0, role: "slider", "aria-orientation": "vertical",
    "aria-label": "Cut of the tree", "aria-valuemin": 1, "aria-valuemax": leaves.length,
  },
  svg("rect", { class: "reach", x: left, width: width - left - right, y: -9, height: 18 }),
  svg("line", { x1: left, x2: width - right, y1: 0, y2: 0 }),
  svg("circle", { class: "grip", cx: left, cy: 0, r: 7 }));
  const words = svg("text", { x: width - right, "text-anchor": "end", class: "halo" },
    "splits above this line are supported");
  root.append(handle, words);
  place.replaceChildren(root);

  const kAt = (event) => {
    const frame = root.getBoundingClientRect();
    const wanted = toHeight((event.clientY - frame.top) * height / frame.height);
    return 1 + heights.filter((h) => h > wanted).length;
  };
  const drag = perFrame((k) => { if (store.moving) follow(k); });
  handle.addEventListener("pointerdown", (event) => {
    store.moving = true;
    handle.setPointerCapture(event.pointerId);
    handle.focus({ preventScroll: true });
    event.preventDefault();
  });
  handle.addEventListener("pointermove", (event) => {
    if (store.moving) drag(kAt(event));
  });
  handle.addEventListener("pointerup", (event) => {
    follow(kAt(event));
    commit();
  });
  handle.addEventListener("keydown", (event) => {
    const steps = { ArrowDown: 1, ArrowRight: 1, ArrowUp: -1, ArrowLeft: -1, PageDown: 5, PageUp: -5 };
    const to = event.key === "Home" ? 1 : event.key === "End" ? leaves.length
      : event.key in steps ? shownK() + steps[event.key] : null;
    if (to === null) return;
    event.preventDefault();
    follow(to);
    commitSoon();
  });
  drawn = { tree, leaves, all, strips, names, handle, words, atX, atY, gap, left, floor, low, high, width,
    height, heights };
  colorTree();
}

function colorTree() {
  if (!drawn) return;
  const { parent } = drawn.tree, cut = shownK();
  const shown = new Map(entries().map((each) => [each.id, each]));
  const ancestor = (leaf) => {
    let id = leaf;
    while (id >= cut) id = parent[id];
    return id;
  };
  // Merges and further splits of the session: what a leaf belongs to now.
  const now = store.preview === null ? store.state.label_of_leaf : null;
  drawn.idOf = (leaf) => (now ? now[leaf] : ancestor(leaf));
  const colorOf = (id) => shown.get(id)?.color
    ?? store.state.palette[id % store.state.palette.length];
  for (const node of drawn.all) {
    const below = node.split === null || node.split >= cut;
    const color = below ? colorOf(drawn.idOf(node.leaf ?? node.id)) : null;
    for (const part of [node.stem, node.bar]) {
      if (!part) continue;
      part.classList.toggle("above", !below);
      part.classList.toggle("weak", Boolean(color) && isWeak(color));
      if (color) part.setAttribute("stroke", color);
      else part.removeAttribute("stroke");
    }
    if (below && node.bar) {
      // A bar inside a cluster that was split by hand has two colours: draw it as a branch above.
      const sides = node.sides.map((side) => drawn.idOf(side.leaf ?? side.id));
      if (sides[0] !== sides[1]) {
        node.bar.classList.add("above");
        node.bar.removeAttribute("stroke");
      }
    }
  }
  let run = null;
  const runs = [];
  drawn.leaves.forEach((leaf, i) => {
    const id = drawn.idOf(leaf.leaf), pale = store.selected.size && !store.selected.has(id);
    drawn.strips[i].setAttribute("fill", colorOf(id));
    drawn.strips[i].setAttribute("fill-opacity", pale ? 0.3 : 1);
    drawn.strips[i].firstChild.textContent = shown.get(id)?.name ?? "";
    if (run && run.id === id) run.to = i;
    else runs.push(run = { id, from: i, to: i });
  });
  drawn.names.replaceChildren(...runs.flatMap(({ id, from, to }) => {
    const room = (to - from + 1) * drawn.gap, name = shown.get(id)?.name ?? "";
    const fits = Math.floor(room / 6.2);
    if (fits < 3) return [];
    return [svg("text", {
      x: drawn.left + ((from + to + 1) / 2) * drawn.gap, y: drawn.floor + 23,
      "text-anchor": "middle",
    }, name.length > fits ? `${name.slice(0, Math.max(1, fits - 1))}\u2026` : name)];
  }));
  const { heights, low, high } = drawn;
  const above = cut > 1 ? heights[cut - 2] : high, below = cut - 1 < heights.length
    ? heights[cut - 1] : low;
  const at = drawn.atY((above + below) / 2), dashed = drawn.atY(SUPPORTED);
  drawn.handle.setAttribute("transform", `translate(0 ${at.toFixed(1)})`);
  // The words keep out of the way of the line.
  drawn.words.setAttribute("y", at > dashed - 2 && at < dashed + 22 ? dashed - 5 : dashed + 13);
  drawn.handle.setAttribute("aria-valuenow", cut);
  drawn.handle.setAttribute("aria-valuetext", `${cut} clusters`);
}

// ---- a single run

let curveOf = "";
async function drawCurve() {
  const { relabel, run, revision } = store.state;
  if (curveOf === `${run} ${revision}`) return;
  curveOf = `${run} ${revision}`;
  const chart = el("div", { class: "curve" });
  const field = (name, key, most, { least = 0, read = (v) => v, write = (v) => v, by = 1 } = {}) => {
    const told = el("output", {}, short(relabel[key]));
    const input = el("input", {
      type: "range", min: write(least), max: write(Math.max(most, relabel[key])), step: by,
      value: write(relabel[key]),
      oninput: () => { told.textContent = short(read(Number(input.value))); },
      onchange: () => step({ op: "relabel", [key]: read(Number(input.value)) },
        `${name} ${told.textContent}`),
    });
    return el("label", {}, el("span", {}, name), input, told);
  };
  const round = (v) => Number((10 ** v).toPrecision(2)); // t goes over decades
  const fields = el("div", { class: "fields" },
    field("Diffusion time t", "time", 1000, { least: 1, read: round, write: Math.log10, by: "any" }),
    field("Eigenpairs M", "n_eigenpairs", relabel.largest_n_eigenpairs, { least: 1 }),
    field("Consensus radius", "consensus_radius", 10));
  $("tree").replaceChildren(chart, fields);
  try {
    const { sorted, n_clusters: k } = await json("curve");
    lineChart(chart, {
      x: sorted.map((_, i) => i + 1), height: $("tree").clientHeight - 24,
      series: [{ name: "D_t", color: "#0072b2", y: sorted }],
      marks: [{ x: k + 0.5 }], xLabel: "rank of the pixel", yLabel: "D_t", xUnit: "",
      label: `The ${sorted.length} largest values of D_t, sorted; the line is after the ${k} modes`,
      hint: "The line is after the modes. A large drop of D_t there supports this number of clusters.",
    });
  } catch (error) {
    if (!(error instanceof ServerError)) throw error;
    chart.replaceChildren(el("p", { class: "soft" }, error.message));
  }
}

// ---- start

function draw() {
  const { state } = store;
  const changeable = state.largest_k > 1;
  $("k").max = state.largest_k;
  $("k").disabled = !changeable;
  if (!store.moving) $("k").value = shownK();
  $("k-value").textContent = count(shownK());
  $("k-value").title = state.n_clusters === shownK() ? ""
    : `${count(state.n_clusters)} are shown after the merges, splits and polygons`;
  drawLevels();
  if (state.base === "tree" && state.tree) {
    if (!drawn || !drawn.handle.isConnected || drawn.run !== state.run) {
      drawTree();
      drawn.run = state.run;
    }
    colorTree();
  } else if (state.base === "clusters" && state.relabel) {
    if (drawn) curveOf = "";
    drawn = null;
    drawCurve();
  } else {
    drawn = null;
    $("tree").replaceChildren(el("p", { class: "soft" }, state.base === "answers"
      ? "The map shows the classes of the answers. Undo, or choose a number of clusters, to return to "
        + "the tree."
      : "This run has no tree, so the number of clusters cannot be changed."));
  }
}

export function startDetail() {
  on("labels", draw);
  on("selection theme", () => { if (store.state) colorTree(); });
  const slider = $("k");
  slider.addEventListener("input", () => {
    store.moving = true;
    follow(Number(slider.value));
    commitSoon();
  });
  slider.addEventListener("change", commitSoon);
  slider.addEventListener("change", () => announce(`${slider.value} clusters`));
  new ResizeObserver(afterPause(() => {
    if (store.state && curveOf && !drawn) {
      curveOf = "";
      draw();
    } else if (store.state && drawn && ($("tree").clientWidth !== drawn.width
        || $("tree").clientHeight !== drawn.height)) {
      drawn = null;
      draw();
    }
  }, 80)).observe($("tree"));
}
