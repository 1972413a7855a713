// convergence.js: objective and gaps against rounds, seconds, epochs and bytes.
import { lineChart } from "./chart.js";
import { choice } from "./dom.js";
import * as format from "./format.js";
import { runColour, runDash } from "./theme.js";

// Rounds are counted anew in every part of a path; here they go on.
function roundNumbers(run) {
  return run.parts.length > 1 ? Float64Array.from(run.round.round ?? [], (_, i) => i + 1) : run.round.round ?? [];
}

export const X = {
  rounds: { label: "rounds", of: roundNumbers, text: format.number, unit: "rounds" },
  seconds: { label: "seconds", of: (run) => run.round.seconds ?? [], text: format.number, unit: "s" },
  epochs: { label: "epochs", of: (run) => run.round.epochs ?? [], text: format.number, unit: "epochs" },
  bytes: { label: "bytes sent", of: (run) => run.round.sent_so_far ?? [], text: format.bytes, unit: "sent" },
};

// Without a dual there is no gap: then the log has what is compared with the target in its place.
const relative = (runs) => (runs.some((run) => has(run, "gap") || has(run, "estimate")) ? "relative gap" : runs.every((run) => run.start.problem === "linear") ? "relative norm of the gradient" : "relative change");

const Y = {
  relative_gap: "relative gap",
  gap: "gap",
  objective: "objective",
  dual: "dual",
};

const has = (run, key) => run.round[key]?.some(Number.isFinite) || Number.isFinite(run.stop?.[key]);
// Until a round was evaluated there is only what the workers estimated.
const shows = (run, key) => has(run, key) || (key === "relative_gap" && has(run, "estimate"));
const column = (run, key) => run.round[key] ?? new Float64Array(run.count).fill(NaN);

// What the gap is relative to: the objective at w = 0.
function scaleOf(run) {
  const i = run.round.relative_gap?.findIndex((gap, at) => gap > 0 && run.round.gap?.[at] > 0) ?? -1;
  return i < 0 ? run.stop?.gap / run.stop?.relative_gap : run.round.gap[i] / run.round.relative_gap[i];
}

// The point before the first round, where w = 0; none if the run began elsewhere.
function startOf(run, x, y) {
  const { problem, settings = {} } = run.parts[0].start, first = run.round.round?.[0] === 1;
  if (problem !== "linear" || !first || settings.start || settings.resume) return null;
  const value = { relative_gap: 1, gap: scaleOf(run), objective: scaleOf(run), dual: has(run, "gap") ? 0 : NaN }[y];
  const began = Math.max(0, Math.min(run.parts[0].stop?.setup ?? Infinity, run.round.seconds[0] - firstSeconds(run)));
  return Number.isFinite(value) ? { x: x === "seconds" ? began : 0, y: value } : null;
}

// The longest time that a worker spent in the first round.
function firstSeconds(run) {
  const spent = Array.from({ length: run.workers.members }, (_, k) => ["compute", "wait", "exchange", "evaluate"].reduce((sum, key) => sum + (run.workers[key]?.[k][0] || 0), 0));
  return Math.max(0, ...spent);
}

// The point of an evaluation after the last round, which only the stop line has.
function endOf(run, x, y) {
  const value = run.stop?.validation ? NaN : run.stop?.[y], last = run.count - 1;
  if (!Number.isFinite(value) || Number.isFinite(column(run, y)[last])) return null;
  return { x: x === "seconds" ? run.stop.seconds : x === "rounds" ? roundNumbers(run)[last] : X[x].of(run)[last], y: value };
}

// The evaluated points of a run, with those before the first round and after the last one, and what the workers
// estimated in rounds that were not evaluated.
function curvesOf(run, state) {
  const begin = startOf(run, state.x, state.y), end = endOf(run, state.x, state.y), before = begin ? 1 : 0;
  const whole = (values, key) => [begin?.[key], ...values, end?.[key]].slice(1 - before);
  const y = column(run, state.y), estimate = run.round.estimate;
  const curve = {
    label: run.label, colour: () => runColour(run.index), dash: runDash(run.index), x: whole(X[state.x].of(run), "x"), y: whole(y, "y"),
    at: (i) => (i < before ? "before the first round" : i - before === run.count ? "after the last round" : `round ${format.count(run.round.round?.[i - before])}`),
  };
  const unit = { relative_gap: 1, gap: scaleOf(run) }[state.y];
  if (!(unit > 0) || !estimate?.some(Number.isFinite)) return [curve];
  const both = Float64Array.from(y, (value, i) => (Number.isFinite(value) ? value : estimate[i] * unit));
  return [{ ...curve, label: `${run.label}, estimated`, thin: true, y: whole(both, "y") }, curve];
}

// How many of the rounds were evaluated, if not all.
function rarely(runs) {
  const few = runs.map((run) => [run, run.round.evaluated?.reduce((sum, flag) => sum + (flag === 1 ? 1 : 0), 0) ?? run.count]).filter(([run, count]) => count < run.count);
  if (!few.length) return "";
  const counts = few.map(([run, count]) => `${runs.length > 1 ? `${run.label}: ` : ""}${format.count(count)} of ${format.count(run.count)}`).join("; ");
  const thin = few.some(([run]) => run.round.estimate?.some(Number.isFinite)) ? " The thin line is what the workers estimated." : "";
  return ` Not every round was evaluated (${counts}); --evaluate-every 1 gives a point for each.${thin}`;
}

export function convergence(runs) {
  Y.relative_gap = relative(runs);
  const kinds = Object.keys(Y).filter((key) => runs.some((run) => shows(run, key)));
  if (!kinds.length) return null;
  const first = runs.some((run) => has(run, "gap") || has(run, "estimate")) || !kinds.includes("objective") ? kinds[0] : "objective";
  const state = { x: "seconds", y: first, xLog: false, yLog: first !== "objective" };
  const set = (key, value) => {
    state[key] = value;
    chart.refresh();
  };
  const sent = runs.some((run) => run.round.sent_so_far?.some((bytes) => bytes > 0));
  const axes = Object.entries(X).filter(([key]) => key !== "bytes" || sent).map(([key, { label }]) => [key, label]);
  const tools = [
    choice("Show", kinds.map((key) => [key, Y[key]]), state.y, (value) => set("y", value)),
    choice("against", axes, state.x, (value) => set("x", value)),
    choice("Vertical axis", [["log", "log"], ["linear", "linear"]], state.yLog ? "log" : "linear", (value) => set("yLog", value === "log")),
    choice("Horizontal axis", [["log", "log"], ["linear", "linear"]], state.xLog ? "log" : "linear", (value) => set("xLog", value === "log")),
  ];
  const spec = () => ({
    curves: runs.filter((run) => shows(run, state.y)).flatMap((run) => curvesOf(run, state)),
    xLabel: X[state.x].label, xText: X[state.x].text, xUnit: X[state.x].unit, xLog: state.xLog,
    yLabel: Y[state.y], yText: format.number, yLog: state.yLog,
  });
  const chart = lineChart({
    id: "convergence", title: "Convergence", tools, spec,
    note: `Points are rounds in which the objective was evaluated.${rarely(runs)} Drag to zoom; click and use arrow keys to read values.`,
  });
  return chart.element;
}
