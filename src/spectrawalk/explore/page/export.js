// The panel of exports: one button, the folder and its files.
import { $, announce, el } from "./dom.js";
import { post } from "./api.js";
import { attempt, complain, on, store } from "./store.js";

export function startExport() {
  const folder = el("input", {
    type: "text", id: "export-folder", value: "edited", maxlength: 80, autocomplete: "off",
    required: true, spellcheck: "false",
  });
  const report = el("input", { type: "checkbox", id: "export-report", checked: true });
  const overwrite = el("input", { type: "checkbox", id: "export-overwrite" });
  const go = el("button", { type: "submit", id: "export-go", class: "main" }, "Export");
  const written = el("div", { id: "written", role: "status" });
  const where = el("p", { class: "soft" });
  $("panel-export").append(
    el("p", {}, "Writes what is shown as ", el("code", {}, "spectrawalk cluster"),
      " would: the map as GeoTIFF with legend and colours, the spectra, the report, and a record from "
      + "which the command line repeats it, all changes included."),
    el("form", {
      onsubmit: async (event) => {
        event.preventDefault();
        go.disabled = true;
        go.textContent = "Writing\u2026";
        complain(null);
        const told = await attempt(() => post("export", {
          folder: folder.value.trim(), report: report.checked, overwrite: overwrite.checked,
        }));
        go.disabled = false;
        go.textContent = "Export";
        if (!told) return;
        announce(`${told.files.length} files were written`);
        written.replaceChildren(
          el("h3", {}, "Written"), el("p", {}, el("code", { id: "export-path" }, told.folder)),
          el("ul", { class: "files" }, told.files.map((file) => el("li", {},
            el("code", {}, file.name), file.what ? el("span", { class: "soft" }, ` ${file.what}`) : ""))),
          ...(told.remarks || []).map((each) => el("p", { class: "soft" }, each)));
      },
    },
    el("div", { class: "form" }, el("label", { for: "export-folder" }, "Folder"), folder),
    where,
    el("div", { class: "row" }, el("label", {}, report, " with the report page"),
      el("label", {}, overwrite, " replace an earlier export")),
    el("div", { class: "row" }, go)), written);
  on("state", () => { where.textContent = `Inside ${store.state.output}`; });
}
