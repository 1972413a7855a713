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
  rounds: { label: "rounds", of: roundNumbers, text: (x) => format.number(x), unit: "rounds" },
  seconds: { label: "seconds", of: (run) => run.round.seconds ?? [], text: (x) => format.number(x), unit: "s" },
  epochs: { label: "epochs", of: (run) => run.round.epochs ?? [], text: (x) => format.number(x), unit: "epochs" },
  bytes: { label: "bytes sent", of: (run) => run.round.sent_so_far ?? [], text: format.bytes, unit: "sent" },
};

// Without a dual there is no gap: then the log has what is compared with the target in its place.
const relative = (runs) => (runs.some((run) => has(run, "gap")) ? "relative gap" : runs.every((run) => run.start.problem === "linear") ? "relative norm of the gradient" : "relative change");

const Y = {
  relative_gap: "relative gap",
  gap: "gap",
  objective: "objective",
  dual: "dual",
};

const has = (run, key) => run.round[key]?.some(Number.isFinite);

// The objective changes only where it was evaluated; the end of the curve is always there.
const evaluated = (run) => {
  const flags = run.round.evaluated, last = run.count - 1;
  return flags?.some((flag) => flag === 1) ? (i) => flags[i] === 1 || i === last : undefined;
};

export function convergence(runs) {
  Y.relative_gap = relative(runs);
  const kinds = Object.keys(Y).filter((key) => runs.some((run) => has(run, key)));
  if (!kinds.length) return null;
  const first = runs.some((run) => has(run, "gap")) || !kinds.includes("objective") ? kinds[0] : "objective";
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
    curves: runs.filter((run) => has(run, state.y)).map((run) => ({
      label: run.label, colour: () => runColour(run.index), dash: runDash(run.index), x: X[state.x].of(run), y: run.round[state.y], keep: evaluated(run),
      at: (i) => `round ${format.count(run.round.round?.[i])}`,
    })),
    xLabel: X[state.x].label, xText: X[state.x].text, xUnit: X[state.x].unit, xLog: state.xLog,
    yLabel: Y[state.y], yText: (y) => format.number(y, 4), yLog: state.yLog,
  });
  const chart = lineChart({
    id: "convergence", title: "Convergence", tools, spec,
    note: "Points are rounds in which the objective was evaluated. Drag to zoom; click and use arrow keys to read values.",
  });
  return chart.element;
}
