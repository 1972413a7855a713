// summary.js: the head of the page: what was run, the verdict, the certificate, and the settings.
import { swatch } from "./chart.js";
import { h } from "./dom.js";
import * as format from "./format.js";
import { runColour } from "./theme.js";

const titleOf = { good: "", poor: "", time: "Time: ", advice: "What would help: " };

export function verdict(run, alone) {
  const lines = run.verdict.map(({ kind, text }) =>
    h("li", { class: ["good", "poor", "time", "advice"].includes(kind) ? kind : "" }, titleOf[kind] ? h("b", {}, titleOf[kind]) : null, text));
  if (alone) return [h("ul", { class: "verdict" }, ...lines)];
  return [h("p", { class: "runhead" }, swatch(runColour(run.index)), run.label), h("p", { class: "sub" }, method(run)), h("ul", { class: "verdict" }, lines[0] ?? null),
    lines.length > 1 ? h("details", {}, h("summary", {}, "Where its time went, and what would help"), h("ul", { class: "verdict" }, ...lines.slice(1))) : null];
}

const text = (value) => (typeof value === "string" ? value : typeof value === "number" ? (Number.isSafeInteger(value) ? String(value) : format.number(value, 8)) : value === undefined || value === null ? "–" : JSON.stringify(value));

export function method(run) {
  const { preset, local, combine, exchange, engine, workers, ranks, threads, problem } = run.start;
  return `${text(preset)} (${text(local)} x ${text(combine)} x ${text(exchange)}) for ${text(problem)} on ${text(engine)}: ` +
    `${format.plural(workers, "worker")}, ${format.plural(ranks, "rank")} of ${format.plural(threads, "thread")}`;
}

// The latest number that there is.
const last = (run, key) => run.round[key]?.findLast(Number.isFinite);

export function facts(run) {
  const { stop, start } = run, of = (key) => (stop && key in stop ? stop[key] : last(run, key));
  const rows = [
    ["Status", stop ? text(stop.status) : "no stop line"],
    ["Problems in the log", run.parts.length > 1 ? format.count(run.parts.length) : "–"],
    ["Rounds", format.count(run.count)], ["Epochs", format.number(of("epochs"))], ["Seconds", format.seconds(run.split.total)],
    ["Objective", format.number(of("objective"), 8)], ["Dual", format.number(of("dual"), 8)],
    ["Gap", format.number(of("gap"), 3)], ["Relative gap", format.number(of("relative_gap"), 3)],
    ["Bytes sent by workers", format.bytes(run.round.sent_so_far?.[run.count - 1])],
    ["Rows x columns", `${format.count(start.rows)} x ${format.count(start.columns)}`], ["Non-zeros", format.count(start.nonzeros)],
    ["Most memory of a rank", memory(run)],
  ];
  return h("dl", { class: "facts" }, ...rows.filter(([, value]) => value !== "–").map(([name, value]) => h("div", {}, h("dt", {}, name), h("dd", {}, value))));
}

function memory(run) {
  let most = NaN;
  for (const column of run.ranks.resident_bytes ?? []) for (const value of column) if (!(value <= most) && Number.isFinite(value)) most = value;
  return format.bytes(most);
}

// Facts of the start line beside the settings; settings that differ between runs first.
function rowsOf(runs) {
  const skip = new Set(["event", "settings", "hosts", "fingerprint"]), names = new Map();
  for (const run of runs) {
    for (const [key, value] of Object.entries(run.start)) if (!skip.has(key)) names.set(key, true) && value;
    for (const key of Object.keys(run.start.settings ?? {})) if (!names.has(key)) names.set(key, false);
  }
  const value = (run, name, fact) => text(fact ? run.start[name] : run.start.settings?.[name]);
  const rows = [...names].map(([name, fact]) => ({ name, values: runs.map((run) => value(run, name, fact)) }));
  for (const row of rows) row.differs = row.values.some((one) => one !== row.values[0]);
  return [...rows.filter((row) => row.differs), ...rows.filter((row) => !row.differs)];
}

export function settings(runs) {
  const rows = rowsOf(runs).map(({ name, values, differs }) =>
    h("tr", { class: differs ? "differs" : undefined }, h("th", { scope: "row" }, name), ...values.map((value) => h("td", {}, value))));
  const head = h("tr", {}, h("th", { scope: "col" }, "setting"), ...runs.map((run) => h("th", { scope: "col" }, run.label)));
  return h("div", { class: "scroll", tabindex: 0, role: "region", "aria-label": "Settings" }, h("table", { id: "settings" }, h("thead", {}, head), h("tbody", {}, ...rows)));
}

export function skipped(runs) {
  const faults = runs.filter((run) => run.skipped.count > 0);
  return faults.map((run) => h("div", {}, h("p", { class: "failed" }, `${run.name}: ${format.plural(run.skipped.count, "line")} could not be used and ${run.skipped.count === 1 ? "was" : "were"} skipped.`),
    h("ul", {}, ...run.skipped.lines.map(({ line, why }) => h("li", {}, `line ${line}: ${why}`)))));
}
