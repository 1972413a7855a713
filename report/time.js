// time.js: where the time went: a stacked bar for each run, split as in the papers, and the workers' shares.
import { h } from "./dom.js";
import { figure } from "./figure.js";
import * as format from "./format.js";

const PARTS = [["setup", "setup"], ["compute", "computing (slowest worker)"], ["evaluate", "evaluating"], ["master", "combining updates"], ["exchange", "exchanging"], ["wait", "waiting"]];

export function bars(rows, parts, most) {
  const share = (value) => `${Math.max(0, Math.min(100, (100 * value) / most)) || 0}%`;
  return h("div", { class: "bars" }, ...rows.flatMap(({ label, values, text }) => [
    h("span", {}, label),
    h("span", {}, text),
    h("span", { class: "bar", role: "img", "aria-label": `${label}: ${text}` }, ...parts.map(([key, name], p) =>
      h("i", { style: `width:${share(values[p])};background:var(--${key})`, title: `${name}: ${format.number(values[p], 4)}` }))),
  ]));
}

export function overhead(runs) {
  const most = Math.max(...runs.map((run) => run.split.total), 1e-9);
  const parts = figure({
    id: "split", title: "Where the time went",
    note: "Seconds of the run, split as by parley report: overhead is exchanging and waiting.",
    table: () => ({
      head: ["run", ...PARTS.map(([, name]) => `${name}, s`), "total, s", "computing, share of rounds"], rows: runs.length,
      cell: (i, column) => (column === 0 ? runs[i].label : column <= PARTS.length ? format.exact(runs[i].split[PARTS[column - 1][0]]) : column === PARTS.length + 1 ? format.exact(runs[i].split.total) : format.exact(runs[i].split.compute / runs[i].split.rounds)),
    }),
  });
  const rows = runs.map((run) => ({ label: run.label, values: PARTS.map(([key]) => run.split[key]), text: `${format.seconds(run.split.total)}, ${format.percent(run.split.compute / run.split.rounds)} computing` }));
  parts.legend.append(...PARTS.map(([key, name]) => h("span", {}, h("i", { class: "swatch", style: `background:var(--${key})` }), name)));
  parts.plot.append(bars(rows, PARTS, most));
  return parts.element;
}

// The same as shares of the time in rounds, so that short and long runs can be compared.
export function shares(runs) {
  if (runs.length < 2) return null;
  const inRounds = PARTS.slice(1);
  const parts = figure({ id: "shares", title: "Shares of the time in rounds", note: "The same without setup, each run as a whole." });
  parts.plot.append(bars(runs.map((run) => ({
    label: run.label, values: inRounds.map(([key]) => run.split[key] / run.split.rounds), text: `${format.percent((run.split.exchange + run.split.wait) / run.split.rounds)} overhead`,
  })), inRounds, 1));
  return parts.element;
}

