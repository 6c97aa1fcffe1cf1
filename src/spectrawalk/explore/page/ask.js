// "Ask me": the page shows the pixels whose classes would help most, three at a time.
import { $, count, el, swatch } from "./dom.js";
import { json } from "./api.js";
import { attempt, colorOf, nameOf, on, showPixel, step, store, tell } from "./store.js";
import { marks, viewport } from "./maps.js";
import { drawSpectrum } from "./pixel.js";

const AT_ONCE = 3, CLOSE = 8;
let questions = [], current = -1, asking, given;

const answerOf = (pixel) => store.state.answers.find((each) => each.pixel === pixel);

function classes() {
  const named = [...store.state.answers.map((each) => each.class),
    ...store.state.legend.filter((each) => each.named).map((each) => each.name)];
  return [...new Set(named.filter((each) => each !== null && each !== undefined))].map(String);
}

async function goTo(index) {
  current = index;
  const { row, col } = questions[index];
  await showPixel(row, col);
  viewport.show(row, col, CLOSE);
  drawQuestion();
  asking.querySelector("#answer-class")?.focus();
}

async function ask() {
  await attempt(async () => {
    const { pixels } = await json("query", { budget: AT_ONCE });
    questions = pixels;
    if (!pixels.length) {
      current = -1;
      drawQuestion("There is nothing more to ask: every part of the map was asked about.");
    } else await goTo(0);
  });
}

async function reply(answer) {
  const { pixel } = questions[current];
  const done = await step({ op: "answer", pixel, class: answer },
    answer === null ? "Not known" : `Answered: ${answer}`);
  if (!done) return;
  const next = questions.findIndex((each) => !answerOf(each.pixel));
  if (next >= 0) await goTo(next);
  else {
    current = -1;
    drawQuestion("Thank you. All three are answered.");
    asking.querySelector("button")?.focus();
  }
}

async function drawQuestion(said = "") {
  tell("marks");
  const start = el("button", { type: "button", id: "ask-start", class: "main", onclick: ask },
    questions.length ? "Ask three more" : "Ask me three questions");
  if (current < 0) {
    asking.replaceChildren(said ? el("p", { role: "status" }, said) : "",
      el("div", { class: "row" }, start));
    return;
  }
  const { row, col } = questions[current], { pixel } = store;
  const name = el("input", {
    type: "text", id: "answer-class", list: "classes", maxlength: 80, autocomplete: "off",
    required: true,
  });
  const chart = el("div");
  const form = el("form", {
    class: "card current", onsubmit: (event) => {
      event.preventDefault();
      if (name.value.trim()) reply(name.value.trim());
    },
  },
  el("h3", {}, `Question ${current + 1} of ${questions.length}: what is in row ${row}, column ${col}?`),
  pixel && pixel.cluster !== null
    ? el("p", {}, "Now in ", swatch(colorOf(pixel.cluster)), nameOf(pixel.cluster)) : "",
  chart,
  el("label", { for: "answer-class" }, "Class"),
  el("div", { class: "row" }, name,
    el("button", { type: "submit", class: "main", id: "answer-give" }, "Answer"),
    el("button", { type: "button", id: "answer-unknown", onclick: () => reply(null) },
      "I do not know")),
  el("datalist", { id: "classes" }, classes().map((each) => el("option", { value: each }))),
  el("div", { class: "row" }, classes().slice(0, 8).map((each) => el("button", {
    type: "button", onclick: () => reply(each),
  }, each))));
  asking.replaceChildren(form, el("div", { class: "row" }, questions.map((each, i) => el("button", {
    type: "button", "aria-pressed": String(i === current), onclick: () => goTo(i),
  }, `${i + 1}${answerOf(each.pixel) ? " \u2713" : ""}`))));
  if (pixel) await attempt(() => drawSpectrum(chart, pixel, 180));
}

function drawAnswers() {
  const { answers, scene } = store.state;
  const different = new Set(answers.map((each) => each.class).filter((each) => each !== null));
  const items = answers.map((each) => {
    const row = Math.floor(each.pixel / scene.cols), col = each.pixel % scene.cols;
    return el("tr", {},
      el("td", {}, el("button", {
        type: "button", "aria-label": `Show row ${row}, column ${col}`, onclick: async () => {
          await showPixel(row, col);
          viewport.show(row, col, CLOSE);
        },
      }, `${row}, ${col}`)),
      el("td", {}, each.class === null ? el("i", {}, "not known") : String(each.class)));
  });
  given.replaceChildren(
    el("h3", {}, `Answers (${count(answers.length)})`),
    answers.length ? el("table", {}, el("thead", {}, el("tr", {},
      el("th", { scope: "col" }, "row, column"), el("th", { scope: "col" }, "class"))),
    el("tbody", {}, items)) : el("p", { class: "soft" }, "None yet."),
    el("div", { class: "row" }, el("button", {
      type: "button", id: "classify", disabled: different.size < 1 || !store.state.tree,
      onclick: () => step({ op: "classify" }, "The map shows the classes of the answers"),
    }, "Give every pixel a class")),
    el("p", { class: "soft" }, "Each pixel then gets the class of the answer with which most runs put "
      + "it together. Undo returns to the clusters."));
}

export function startAsk() {
  asking = el("div", { id: "asking" });
  given = el("div");
  $("panel-ask").append(
    el("p", {}, "The page asks about the pixels whose classes would help most. Look at the place on "
      + "the map and at the spectrum."), asking, given);
  drawQuestion();
  on("state", ({ moved }) => {
    if (moved && store.state.base === "tree" && questions.some((each) =>
      each.pixel >= store.state.scene.rows * store.state.scene.cols)) questions = [];
    drawAnswers();
  });
  marks.set("questions", (context, map) => {
    if ($("panel-ask").hidden) return;
    context.font = "bold 12px system-ui, sans-serif";
    context.textAlign = "center";
    context.textBaseline = "middle";
    questions.forEach(({ row, col }, i) => {
      if (i === current) return;
      const [x, y] = map.toScreen(col + 0.5, row + 0.5);
      context.beginPath();
      context.arc(x, y, 9, 0, 2 * Math.PI);
      context.fillStyle = "#000";
      context.fill();
      context.fillStyle = "#fff";
      context.fillText(String(i + 1), x, y);
    });
  });
  on("tab", () => tell("marks"));
  on("theme", () => { if (current >= 0) drawQuestion(); });
}
