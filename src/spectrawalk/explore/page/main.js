// The explorer: start of the page, its head line, the connection to the server.
import { $, count, el } from "./dom.js";
import { json, Lost, onConnection, ServerError } from "./api.js";
import { startAsk } from "./ask.js";
import { startDetail } from "./detail.js";
import { startEdit } from "./edit.js";
import { startEmbedding } from "./embedding.js";
import { startExport } from "./export.js";
import { startLegend } from "./legend.js";
import { startMaps } from "./maps.js";
import { startPixel } from "./pixel.js";
import { follow, startRuns } from "./run.js";
import { attempt, on, refresh, store, take, tell } from "./store.js";
import { startTabs, openTab } from "./tabs.js";

// ---- trouble

let lost = false;

function showTrouble(sentence, closable = true) {
  const place = $("trouble");
  if (!place.hidden && sentence === place.firstChild?.textContent) return;
  if (!sentence) {
    place.hidden = true;
    place.replaceChildren();
    return;
  }
  place.replaceChildren(el("p", {}, sentence),
    closable ? el("button", { type: "button", onclick: () => showTrouble(null) }, "Close") : "");
  place.hidden = false;
}

// ---- the connection

let alive = null, askAlive = true, failed = false, opening = true;

/** The server is back, but reads its scene: what the page has cannot be changed yet. */
function sayStarting() {
  lost = true;
  showTrouble("The server is reading the scene again. The page goes on when it is done.", false);
}

async function look() {
  try {
    const told = await json(askAlive ? "alive" : "state");
    if (told.starting && store.state) sayStarting();
    else if (lost) {
      lost = false;
      showTrouble(null);
      alive = null;
      await (store.state ? refresh() : open());
      await follow();
    } else if (!store.state) await open();
    else if (!store.moving) {
      const started = alive && told.started !== undefined && told.started !== alive.started;
      if (started || told.revision !== store.state.revision || told.run !== store.state.run) {
        // Another tab, or the server after a restart.
        await (askAlive ? refresh() : take(told));
      }
    }
    alive = told;
  } catch (error) {
    if (error instanceof ServerError) {
      if (askAlive && error.status === 404) askAlive = false;
      else if (error.told?.starting && store.state) sayStarting();
      else if (error.status === 403) {
        lost = true;
        showTrouble("The server was started anew and does not know this page. Open the address that "
          + "it prints in the terminal.", false);
      }
    } else if (!(error instanceof Lost)) console.error(error);
  }
}

async function keepLooking() {
  for (;;) {
    await new Promise((resolve) => setTimeout(resolve, lost ? 1000 : 2000));
    if (!opening && !failed && (!document.hidden || lost)) await look();
  }
}

onConnection((reachable) => {
  if (reachable) return;
  lost = true;
  showTrouble("The server does not answer. The page tries again every second; what you did so far is "
    + "saved.", false);
});

// ---- the head line

function drawHead() {
  const { state } = store, { scene } = state;
  $("title").textContent = scene.name;
  $("title").title = scene.name;
  document.title = `${scene.name} \u2013 spectrawalk`;
  const words = [`${count(scene.rows)} \u00d7 ${count(scene.cols)} pixels`, `${count(scene.bands)} bands`,
    state.method];
  if (state.verdict) words.push(state.verdict.split(";")[0]);
  if (state.scores) words.push(`accuracy ${state.scores.oa.toFixed(3)}, ARI ${state.scores.ari.toFixed(3)}`);
  $("subtitle").textContent = words.join(" \u00b7 ");
  $("subtitle").title = state.settings || "";
}

function startTheme() {
  const preferred = matchMedia("(prefers-color-scheme: dark)");
  let chosen = null;
  try { chosen = localStorage.getItem("theme"); } catch { /* storage may be forbidden */ }
  const apply = () => {
    const dark = chosen ? chosen === "dark" : preferred.matches;
    document.documentElement.classList.toggle("dark", dark);
    $("theme").setAttribute("aria-pressed", String(dark));
    tell("theme");
  };
  preferred.addEventListener("change", apply);
  $("theme").addEventListener("click", () => {
    chosen = document.documentElement.classList.contains("dark") ? "light" : "dark";
    try { localStorage.setItem("theme", chosen); } catch { /* the choice is not kept */ }
    apply();
  });
  apply();
}

// ---- the first state

function showStarting({ stage, done, total }) {
  $("main").hidden = true;
  $("starting").hidden = false;
  $("starting-stage").textContent = `${stage || "reading"}\u2026`;
  if (total > 1) $("starting-bar").value = Math.min(1, done / total);
  else $("starting-bar").removeAttribute("value");
  $("subtitle").textContent = "";
}

/** Wait until the scene is read and clustered, and show it; or say why that cannot be. */
async function open() {
  for (;;) {
    let starting;
    try {
      ({ starting } = await json("alive"));
    } catch (error) {
      if (error instanceof Lost) return; // it is asked again
      starting = error.told?.starting;
      if (!starting) {
        if (error.status !== 404) {
          $("main").hidden = true;
          $("starting").hidden = true;
          $("subtitle").textContent = "";
          showTrouble(error.message, false);
          failed = true;
          return;
        }
      }
    }
    if (!starting) break;
    showStarting(starting);
    await new Promise((resolve) => setTimeout(resolve, 400));
  }
  $("main").hidden = false;
  $("starting").hidden = true;
  await take(await json("state"));
}

on("trouble", (sentence) => { if (!lost) showTrouble(sentence); });
on("state", drawHead);
on("pixel", (picked) => {
  if (picked && store.pixel && $("panel-ask").hidden && $("panel-embedding").hidden) openTab($("tab-pixel"));
});
$("keys").addEventListener("click", () => $("help").showModal());
startTheme();
startTabs();
startMaps();
startLegend();
startDetail();
startPixel();
startEdit();
startAsk();
startEmbedding();
startRuns();
startExport();
attempt(open).then(() => { opening = false; });
keepLooking();
