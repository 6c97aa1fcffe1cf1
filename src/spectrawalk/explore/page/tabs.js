// Tabs by the pattern of the ARIA guide: arrow keys go from tab to tab, Tab goes into the panel.
import { $ } from "./dom.js";
import { tell } from "./store.js";

export function openTab(tab, focus = false) {
  for (const each of $("tabs").querySelectorAll("[role=tab]")) {
    const chosen = each === tab;
    each.setAttribute("aria-selected", String(chosen));
    each.tabIndex = chosen ? 0 : -1;
    $(each.getAttribute("aria-controls")).hidden = !chosen;
  }
  if (focus) tab.focus();
  tell("tab", tab.id.replace("tab-", ""));
}

export function startTabs() {
  const tabs = [...$("tabs").querySelectorAll("[role=tab]")];
  tabs.forEach((tab, i) => {
    tab.addEventListener("click", () => openTab(tab));
    tab.addEventListener("keydown", (event) => {
      const to = { ArrowRight: i + 1, ArrowLeft: i - 1, Home: 0, End: tabs.length - 1 }[event.key];
      if (to === undefined) return;
      event.preventDefault();
      openTab(tabs[(to + tabs.length) % tabs.length], true);
    });
  });
}
