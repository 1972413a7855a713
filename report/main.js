// main.js: puts the page together.
import { charts } from "./chart.js";
import { convergence } from "./convergence.js";
import { comparison } from "./compare.js";
import { load } from "./data.js";
import { choice, h } from "./dom.js";
import * as format from "./format.js";
import { gantt } from "./gantt.js";
import { confusion, topics } from "./model.js";
import { reloadAfter } from "./reload.js";
import { resources } from "./resources.js";
import * as scale from "./scale.js";
import { localWork, staleReads, steps, validation } from "./rounds.js";
import { facts, method, settings, skipped, verdict } from "./summary.js";
import { kept, setTheme } from "./theme.js";
import { overhead, shares } from "./time.js";

function section(title, ...content) {
  const shown = content.flat().filter(Boolean);
  return shown.length ? h("section", { "aria-label": title }, h("h2", {}, title), ...shown) : null;
}

function grid(...parts) {
  const shown = parts.filter(Boolean);
  return shown.length ? h("div", { class: "grid" }, ...shown) : null;
}

function header({ runs, version, reload }) {
  const alone = runs.length === 1, title = alone ? runs[0].label : `${runs.length} runs compared`;
  document.title = `${title} – Parley report`;
  return [
    h("div", { class: "top" }, h("h1", {}, title), choice("Theme", [["auto", "auto"], ["light", "light"], ["dark", "dark"]], kept(), setTheme)),
    alone ? h("p", { class: "sub" }, `${runs[0].name} · ${method(runs[0])} · Parley ${version}`) : h("p", { class: "sub" }, `Parley ${version}`),
    reload > 0 ? h("p", { class: "sub", role: "status" }, "The run goes on; this page loads itself again.") : null,
    ...runs.flatMap((run) => verdict(run, alone)),
  ];
}

function page(data) {
  const { runs } = data;
  return [
    ...header(data),
    ...skipped(runs),
    runs.length === 1 ? facts(runs[0]) : null,
    section("Comparison", comparison(runs)),
    section("Convergence", convergence(runs), validation(runs)),
    section("Time", overhead(runs), shares(runs), gantt(runs)),
    section("Rounds", grid(localWork(runs), steps(runs), staleReads(runs))),
    section("Processor, memory and network", resources(runs)),
    section("Model", runs.map(topics), runs.map(confusion)),
    section("Settings", settings(runs)),
  ];
}

async function main() {
  if (kept() !== "auto") setTheme(kept());
  const place = document.getElementById("page");
  try {
    const began = performance.now(), data = await load();
    window.parleyReport = { data, charts, format, scale };
    place.replaceChildren(...page(data).filter(Boolean));
    window.parleyReport.milliseconds = performance.now() - began;
    reloadAfter(data.reload);
  } catch (error) {
    place.replaceChildren(h("p", { class: "failed" }, `The page could not be drawn: ${error.message}`));
    throw error;
  }
}

main();
