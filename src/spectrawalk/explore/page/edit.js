// The panel of changes: a polygon with a class, and the list of what was done.
import { $, announce, count, el } from "./dom.js";
import { entries, on, redo, step, store, undo } from "./store.js";
import { mainMap } from "./maps.js";

let name, draw, close, cancel, told, list;

function finish() {
  mainMap.drawing = null;
  mainMap.draw();
  update();
}

function start() {
  mainMap.drawing = [];
  mainMap.cursor = null;
  mainMap.canvas.focus();
  announce("Click the corners of the polygon on the map. Enter closes it, Escape gives up.");
  update();
}

async function end() {
  const corners = mainMap.drawing || [];
  // A double click adds its corner twice.
  const points = corners.filter(([x, y], i) =>
    !i || Math.hypot(x - corners[i - 1][0], y - corners[i - 1][1]) > 1e-9)
    .map(([x, y]) => [y, x]);
  if (points.length < 3) {
    announce("A polygon needs three corners.");
    told.textContent = "A polygon needs three corners.";
    return;
  }
  if (!name.value.trim()) {
    told.textContent = "Give the polygon a class, then close it again.";
    announce(told.textContent);
    name.focus();
    return;
  }
  const done = await step({ op: "polygon", points, name: name.value.trim() },
    `Polygon: ${name.value.trim()}`);
  if (done) finish();
}

function update() {
  const drawing = mainMap.drawing !== null, n = mainMap.drawing?.length ?? 0;
  draw.hidden = drawing;
  close.hidden = cancel.hidden = !drawing;
  close.disabled = n < 3;
  told.textContent = drawing
    ? `${count(n)} ${n === 1 ? "corner" : "corners"}. Click on the map to add one; Enter closes, `
      + "Backspace removes the last, Escape gives up."
    : "All labelled pixels inside get the class. An existing name joins that cluster.";
}

function drawHistory() {
  const { session } = store.state;
  const steps = session.history || [];
  const rows = steps.map((each, i) => el("li", {
    class: i >= session.undo ? "undone" : i === session.undo - 1 ? "now" : null,
    "aria-current": i === session.undo - 1 ? "step" : null,
  }, i >= session.undo ? `${each.text} (undone)` : each.text));
  const saved = session.saved_at ? new Date(session.saved_at) : null;
  list.replaceChildren(
    el("h3", {}, "History"),
    steps.length ? el("ol", { class: "history" }, rows)
      : el("p", { class: "soft" }, session.undo ? `Steps so far: ${session.undo}.`
        : "Nothing was changed yet."),
    el("p", { class: "soft" }, saved && !Number.isNaN(saved.getTime())
      ? `Every step is saved; the last one at ${saved.toLocaleTimeString("en-GB")}.`
      : "Every step is saved beside the run."),
    session.remark ? el("p", { class: "wrong" }, session.remark) : "");
  $("names").replaceChildren(...entries().filter((each) => each.named).map((each) =>
    el("option", { value: each.name })));
  list.querySelector(".now")?.scrollIntoView({ block: "nearest" });
}

export function startEdit() {
  name = el("input", {
    type: "text", id: "polygon-name", list: "names", maxlength: 80, autocomplete: "off",
    placeholder: "such as road",
  });
  draw = el("button", { type: "button", id: "polygon-draw", class: "main", onclick: start },
    "Draw a polygon");
  close = el("button", { type: "button", id: "polygon-close", class: "main", onclick: end },
    "Close the polygon");
  cancel = el("button", { type: "button", id: "polygon-cancel", onclick: finish }, "Give up");
  told = el("p", { class: "soft", role: "status" });
  list = el("div");
  $("panel-edit").append(
    el("h3", {}, "Polygon with a class"),
    el("div", { class: "form" }, el("label", { for: "polygon-name" }, "Class"), name),
    el("div", { class: "row" }, draw, close, cancel), told,
    el("h3", {}, "Merge and split"),
    el("p", { class: "soft" }, "Select clusters in the legend, in the tree, or with Shift and a click "
      + "on the map. Then merge them, or split one along the tree. A new number of clusters forgets "
      + "merges and splits; undo brings them back."),
    list, el("datalist", { id: "names" }));
  mainMap.canvas.addEventListener("vertex", update);
  mainMap.canvas.addEventListener("close", end);
  mainMap.canvas.addEventListener("cancel", finish);
  update();
  on("state", drawHistory);

  $("undo").addEventListener("click", undo);
  $("redo").addEventListener("click", redo);
  on("state", () => {
    const { session } = store.state;
    $("undo").disabled = !session.undo;
    $("redo").disabled = !session.redo;
  });
  document.addEventListener("keydown", (event) => {
    if (!(event.ctrlKey || event.metaKey) || event.altKey) return;
    const typing = event.target.matches?.("input[type=text], input[type=number], textarea");
    const pressed = event.key.toLowerCase();
    if (typing || (pressed !== "z" && pressed !== "y")) return;
    event.preventDefault();
    if (pressed === "y" || event.shiftKey) {
      if (store.state?.session.redo) redo();
    } else if (store.state?.session.undo) undo();
  });
}
