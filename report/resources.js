// resources.js: processor, memory and network by second and rank. Rounds tell what they used; their use is spread evenly
// over their time and summed by bins of a second, or of a hundredth of a short run.
import { charts, lineChart } from "./chart.js";
import { h, select } from "./dom.js";
import * as format from "./format.js";
import { runColour } from "./theme.js";

const MOST_RANKS = 64;

function binsOf(run) {
  const total = run.round.seconds?.[run.count - 1] ?? 0, nice = [0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1];
  const width = nice.find((one) => total / one <= 60) ?? Math.max(1, Math.ceil(total / 2000));
  return { width, count: Math.max(1, Math.ceil(total / width)) };
}

// Use per second in each bin, of amounts by round.
function perSecond(run, amounts, { width, count }) {
  const sums = new Float64Array(count), ends = run.round.seconds;
  for (let i = 0; i < run.count; i++) {
    const begin = i ? ends[i - 1] : Math.max(0, 2 * ends[0] - (ends[1] ?? 2 * ends[0])), end = ends[i], amount = amounts(i);
    if (!(amount > 0)) continue;
    const first = Math.min(count - 1, Math.floor(begin / width)), last = Math.min(count - 1, Math.floor(end / width));
    for (let b = first; b <= last; b++) {
      const share = end > begin ? (Math.min(end, (b + 1) * width) - Math.max(begin, b * width)) / (end - begin) : 1 / (last - first + 1);
      sums[b] += (amount * Math.max(0, share)) / width;
    }
  }
  return sums;
}

// Readings of /proc, about once a second: those that are new.
function readings(run, rank, key) {
  const x = [], y = [], column = run.ranks[key]?.[rank], clock = run.ranks.cpu_seconds?.[rank];
  for (let i = 0; i < run.count && column; i++) {
    if (!Number.isFinite(column[i]) || (i && clock && clock[i] === clock[i - 1])) continue;
    x.push(run.round.seconds[i]);
    y.push(column[i]);
  }
  return { x, y };
}

// The increase per second between readings of a counter.
function rates({ x, y }) {
  const out = { x: [], y: [] };
  for (let i = 1; i < x.length; i++) {
    if (!(x[i] > x[i - 1])) continue;
    out.x.push(x[i]);
    out.y.push(Math.max(0, (y[i] - y[i - 1]) / (x[i] - x[i - 1])));
  }
  return out;
}

const add = (run, rank, keys) => (i) => keys.reduce((sum, key) => sum + (run.ranks[key]?.[rank]?.[i] || 0), 0);

const KINDS = {
  cpu: {
    title: "Processor", note: "Processor seconds per second in local work, combining and evaluating: 1 is one core.", yLabel: "cores", text: format.number,
    of: (run, rank, bins) => binned(run, bins, add(run, rank, ["cpu", "master_cpu", "evaluate_cpu"])),
  },
  memory: { title: "Memory", note: "Resident memory, read about once a second.", yLabel: "memory", text: format.bytes, of: (run, rank) => readings(run, rank, "resident_bytes") },
  network: {
    title: "Sent in exchanges", note: "What the rank really sent in exchanges, per second; nothing with one process.", yLabel: "sent per second", text: format.bytes,
    of: (run, rank, bins) => binned(run, bins, add(run, rank, ["bytes_sent"])),
  },
  wire: { title: "Network interfaces", note: "Bytes per second that the machine's interfaces sent, without the loopback.", yLabel: "sent per second", text: format.bytes, of: (run, rank) => rates(readings(run, rank, "wire_bytes_sent")) },
};

function binned(run, bins, amounts) {
  const y = perSecond(run, amounts, bins);
  return { x: Float64Array.from(y, (_, b) => b * bins.width), y };
}

const shade = (rank) => () => runColour(rank);

export function resources(runs) {
  runs = runs.filter((run) => run.ranks.members > 0 && run.count > 0);
  if (!runs.length) return [];
  let run = runs[0];
  const place = h("div", { class: "grid" });
  const draw = () => {
    const bins = binsOf(run), ranks = Math.min(MOST_RANKS, run.ranks.members), parts = [];
    for (const [id, kind] of Object.entries(KINDS)) {
      const curves = Array.from({ length: ranks }, (_, rank) => ({ label: `rank ${rank}`, colour: shade(rank), stepped: id !== "memory", ...kind.of(run, rank, bins) }));
      delete charts[id];
      if (!curves.some(({ y }) => y.length > 1 && y.some((value) => value > 0))) continue;
      parts.push(lineChart({ id, title: kind.title, note: kind.note, spec: () => ({ curves, xLabel: "seconds", xText: format.number, xUnit: "s", yLabel: kind.yLabel, yText: kind.text, yExact: kind.text, fromZero: true }) }).element);
    }
    place.replaceChildren(...parts);
  };
  draw();
  const picker = runs.length > 1 ? h("p", { class: "tools" }, select("Run", runs.map((one, i) => [i, one.label]), 0, (i) => {
    run = runs[Number(i)];
    draw();
  })) : null;
  return place.childElementCount || runs.length > 1 ? [picker, place].filter(Boolean) : [];
}
