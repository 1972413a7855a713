// rounds.js: what changed from round to round: H, sigma and gamma, staleness, the validation metric.
import { lineChart } from "./chart.js";
import { choice } from "./dom.js";
import * as format from "./format.js";
import { X } from "./convergence.js";
import { runColour, runDash } from "./theme.js";

const known = (column) => column?.some(Number.isFinite);
const varies = (column) => known(column) && column.some((value) => Number.isFinite(value) && value !== column[0]);

function chartOf({ id, title, note, runs, yLabel, of, axes = ["seconds", "rounds"], log = false, fromZero = true, stepped = true }) {
  const state = { x: axes[0], log };
  const set = (key, value) => {
    state[key] = value;
    chart.refresh();
  };
  const chart = lineChart({
    id, title, note,
    tools: [
      choice("against", axes.map((key) => [key, X[key].label]), state.x, (value) => set("x", value)),
      choice("Vertical axis", [["log", "log"], ["linear", "linear"]], log ? "log" : "linear", (value) => set("log", value === "log")),
    ],
    spec: () => ({
      curves: runs.flatMap((run) => of(run).map(({ label, y, dash }) => ({
        label: runs.length > 1 || !label ? [run.label, label].filter(Boolean).join(", ") : label, x: X[state.x].of(run), y, stepped,
        colour: () => runColour(run.index), dash: dash ?? runDash(run.index), at: (i) => `round ${format.count(run.round.round?.[i])}`,
      }))),
      xLabel: X[state.x].label, xText: X[state.x].text, xUnit: X[state.x].unit, yLabel, yText: format.number, yLog: state.log, fromZero,
    }),
  });
  return chart.element;
}

export function localWork(runs) {
  const shown = runs.filter((run) => known(run.round.local_epochs)), first = shown[0]?.round.local_epochs[0];
  if (!shown.some((run) => varies(run.round.local_epochs) || run.round.local_epochs[0] !== first)) return null;
  return chartOf({ id: "pace", title: "Local work between exchanges (H)", note: "Passes over its shard that each worker was asked to make in a round.", runs: shown, yLabel: "local epochs", of: (run) => [{ y: run.round.local_epochs }] });
}

export function steps(runs) {
  const shown = runs.filter((run) => varies(run.round.sigma) || varies(run.round.gamma));
  if (!shown.length) return null;
  return chartOf({
    id: "steps", title: "Steps", note: "sigma: how much the workers' changes were allowed to add up; gamma (dashed): the step that was accepted.", runs: shown, yLabel: "sigma, gamma",
    of: (run) => [{ label: "sigma", y: run.round.sigma }, { label: "gamma", y: run.round.gamma, dash: [4, 4] }].filter(({ y }) => varies(y)),
  });
}

// The mean over workers of their means, and the largest of all.
function staleness(run) {
  const mean = new Float64Array(run.count).fill(NaN), most = new Float64Array(run.count).fill(NaN);
  for (let i = 0; i < run.count; i++) {
    let sum = 0, count = 0, high = NaN;
    for (let k = 0; k < run.workers.members; k++) {
      const value = run.workers.staleness[k][i], largest = run.workers.largest_staleness?.[k][i];
      if (Number.isFinite(value)) {
        sum += value;
        count++;
      }
      if (!(largest <= high) && Number.isFinite(largest)) high = largest;
    }
    mean[i] = count ? sum / count : NaN;
    most[i] = high;
  }
  return [{ label: "mean", y: mean }, { label: "largest", y: most, dash: [4, 4] }];
}

// The most clocks that a worker made in a round.
function clocksOf(run) {
  let most = 0;
  for (const clock of run.workers.clock ?? []) for (let i = 0; i < clock.length; i++) most = Math.max(most, clock[i] - (i ? clock[i - 1] : 0) || 0);
  return most;
}

// Why a run may stay below the staleness that it was allowed.
function parks(run) {
  const clocks = clocksOf(run), allowed = Number(run.start.settings?.staleness);
  const most = clocks === 1 ? "be ahead" : `be more than ${clocks - 1} ahead`;
  return clocks > 0 && !(clocks > allowed) ? ` All workers meet at the end of every round, of ${format.plural(clocks, "clock")}, so that none can ${most}; --clocks makes rounds longer.` : "";
}

export function staleReads(runs) {
  const shown = runs.filter((run) => run.workers.staleness);
  const columns = new Map(shown.map((run) => [run, staleness(run)]));
  if (!shown.length) return null;
  return chartOf({ id: "staleness", title: "Staleness", note: `By how many clocks the slowest worker was behind when another one read what it then computed from: mean over workers, and the largest (dashed), which --staleness bounds.${parks(shown[0])}`, runs: shown, yLabel: "clocks", of: (run) => columns.get(run) });
}

export function validation(runs) {
  const shown = runs.filter((run) => known(run.round.validation));
  if (!shown.length) return null;
  const metric = shown.map((run) => run.stop?.validation?.metric ?? run.start.settings?.metric).find((name) => typeof name === "string") ?? "metric";
  const kept = shown.filter((run) => Number.isFinite(run.stop?.validation?.round)).map((run) => `${shown.length > 1 ? `${run.label}: ` : ""}the model of round ${format.count(run.stop.validation.round)}, with ${format.number(run.stop.validation.value, 6)}`);
  return chartOf({ id: "validation", title: `Validation: ${metric}`, note: `The metric on rows that are not trained on.${kept.length ? ` Returned: ${kept.join("; ")}.` : ""}`, runs: shown, yLabel: metric, axes: ["seconds", "rounds", "epochs"], fromZero: false, stepped: false, of: (run) => [{ y: run.round.validation }] });
}
