// compare.js: what it took each run to reach the same target.
import { choice, h } from "./dom.js";
import { figure } from "./figure.js";
import * as format from "./format.js";

const COSTS = [["seconds", "seconds", format.seconds], ["sent_so_far", "bytes sent", format.bytes], ["round", "rounds", format.count], ["epochs", "epochs", (value) => format.number(value, 4)]];

const finite = (column) => (column ?? []).filter(Number.isFinite);

// Targets are compared by the relative gap if every run has one, else by the objective.
function measureOf(runs) {
  return runs.every((run) => finite(run.round.relative_gap).length) ? ["relative_gap", "relative gap"] : ["objective", "objective"];
}

const best = (run, key) => finite(run.round[key]).reduce((low, value) => Math.min(low, value), Infinity);

// The first round at which a run was at the target; -1 if it never was.
function reached(run, key, target) {
  const column = run.round[key] ?? [];
  for (let i = 0; i < column.length; i++) if (column[i] <= target) return i;
  return -1;
}

// Powers of ten, halves of them, and what all runs reached.
function targetsOf(runs, key) {
  const found = runs.map((run) => best(run, key)).filter(Number.isFinite), all = Math.max(...found), lowest = Math.min(...found);
  if (!found.length) return [];
  if (key === "objective") return [["all", `${format.number(all, 6)}, which all reached`, all * (1 + 1e-12)], ["best", `${format.number(lowest, 6)}, the best`, lowest * (1 + 1e-12)]];
  const list = [["all", `${format.number(all, 3)}, which all reached`, all]];
  for (let power = -1; power >= -12; power--) if (10 ** power >= lowest && 10 ** power < all) list.push([String(power), `1e${power}`, 10 ** power]);
  return list;
}

export function comparison(runs) {
  if (runs.length < 2) return null;
  const [key, name] = measureOf(runs), targets = targetsOf(runs, key);
  if (!targets.length) return null;
  const together = targets.filter(([, , value]) => runs.filter((run) => best(run, key) <= value).length >= 2);
  let chosen = (together[together.length - 1] ?? targets[0])[0];
  const target = () => targets.find(([id]) => id === chosen)[2];
  const costs = () => runs.map((run) => {
    const i = reached(run, key, target());
    return COSTS.map(([column]) => (i < 0 ? NaN : run.round[column]?.[i] ?? NaN));
  });
  const slowest = (all, c) => Math.max(...all.map((row) => row[c]).filter(Number.isFinite));
  const speedUp = (all, i) => (Number.isFinite(all[i][0]) ? slowest(all, 0) / all[i][0] : NaN);
  const parts = figure({
    id: "comparison", title: "To the same target",
    note: "What each run took until it was at the target. Speed-up is against the slowest run that reached it.",
    tools: [choice(`Target (${name})`, targets.map(([id, text]) => [id, text]), chosen, (value) => {
      chosen = value;
      draw();
    })],
    table: () => {
      const all = costs();
      return {
        head: ["run", ...COSTS.map(([, label]) => label), "speed-up", "final " + name], rows: runs.length,
        cell: (i, column) => (column === 0 ? runs[i].label : column <= COSTS.length ? format.exact(all[i][column - 1]) : column === COSTS.length + 1 ? format.exact(speedUp(all, i)) : format.exact(best(runs[i], key))),
      };
    },
  });
  function draw() {
    const all = costs();
    parts.plot.replaceChildren(h("div", { class: "grid" }, ...COSTS.slice(0, 2).map(([, label, text], c) => {
      const most = slowest(all, c);
      return h("div", {}, h("h4", {}, `${label} to target`), h("div", { class: "bars" }, ...runs.flatMap((run, i) => {
        const value = all[i][c], words = Number.isFinite(value) ? `${text(value)}${c === 0 ? `, ${format.number(speedUp(all, i), 3)}x` : ""}` : "not reached";
        const wide = Number.isFinite(value) ? Math.max(0.5, (100 * value) / (most || 1)) : 0;
        return [h("span", {}, run.label), h("span", {}, words), h("span", { class: "bar", role: "img", "aria-label": `${run.label}: ${words}` },
          h("i", { style: `width:${wide}%;background:var(--run${(run.index % 8) + 1})` }))];
      })));
    })));
    parts.refreshTable();
  }
  draw();
  return parts.element;
}
