// gantt.js: a Gantt chart of workers or ranks. A few spans are drawn one by one. Of many, every strip of a pixel shows
// the shares of its phases, stacked.
import uPlot from "uplot";
import { axis, charts, moveView, onWidth, swatch } from "./chart.js";
import { choice, h, select } from "./dom.js";
import { figure } from "./figure.js";
import * as format from "./format.js";
import { PHASES, roundAt, rows, roundSpan, strips } from "./gantt_data.js";
import { colour, onThemeChange } from "./theme.js";
import { onTouch } from "./touch.js";

const FEW_SPANS = 6000, AXIS = 50;

const known = new Map();

// A colour as the four bytes of a pixel.
function rgba(of) {
  if (!known.has(of)) known.set(of, measured(of));
  return known.get(of);
}

const measured = (of) => {
  const canvas = Object.assign(document.createElement("canvas"), { width: 1, height: 1 }), context = canvas.getContext("2d");
  context.fillStyle = of;
  context.fillRect(0, 0, 1, 1);
  const [r, g, b] = context.getImageData(0, 0, 1, 1).data;
  return (255 << 24) | (b << 16) | (g << 8) | r;
};

export function gantt(runs) {
  runs = runs.filter((run) => run.count > 0 && run.workers.members > 0 && run.workers.compute);
  if (!runs.length) return null;
  let run = runs[0], byRank = false, list = rows(run, byRank), plot = null, width = 0, view = null, whole = null, current = -1;
  const act = {
    zoom: (factor) => plot && show(moveView(view, whole, false, current >= 0 ? Math.min(view[1], Math.max(view[0], run.round.seconds[current])) : null, factor, 0)),
    pan: (share) => plot && show(moveView(view, whole, false, null, 1, share)),
    reset: () => plot && show(whole),
    step: (by) => tell(Math.max(0, Math.min(run.count - 1, current < 0 ? roundAt(run, view[0]) : current + by)), true),
  };
  const number = h("input", { type: "number", min: 1, max: run.count, "aria-label": "Number of the round to show", onchange: (event) => zoomTo(Number(event.target.value)) });
  const picker = h("span", {});
  const tools = [
    picker,
    choice("Rows", [["workers", "workers"], ["ranks", "ranks"]], "workers", (value) => choose(run, value === "ranks")),
    h("label", {}, "Zoom to round ", number),
  ];
  const parts = figure({
    id: "gantt", title: "Who did what when", tools, act, table,
    note: "Computing, waiting, exchanging and evaluating, by worker; before the first round setup, and between rounds validation, checkpoints and writing the log. Where a pixel covers several spans, it shows their shares, stacked.",
  });
  if (runs.length > 1) picker.append(select("Run", runs.map((one, i) => [i, one.label]), 0, (i) => choose(runs[Number(i)], byRank)));

  const height = () => Math.max(90, Math.min(620, list.length * Math.max(8, Math.min(26, 560 / list.length)))) + AXIS;

  function span() {
    const last = run.round.seconds[run.count - 1];
    return [0, last > 0 ? last : 1];
  }

  // When a row was set up: before its first round and, in a path, before that of each problem. In a log that was cut off at
  // its beginning, the first is unknown.
  const begins = () => run.round.round[0] === 1 || Boolean(run.parts[0].start.settings?.resume);
  const setups = ({ levels: [{ spans, ends }] }) => run.parts.map(({ first }) => [first ? ends[first - 1] : 0, ends[first] - spans[first * 4] - spans[first * 4 + 1] - spans[first * 4 + 2] - spans[first * 4 + 3]])
    .filter(([begin, end], part) => end > begin && (part > 0 || begins()));

  function drawFew(u, { left, top, width: w, height: rowHeight }, from, to) {
    const scale = w / (view[1] - view[0]), gap = rowHeight > 5 ? 1 : 0, fills = PHASES.map(colour), context = u.ctx;
    context.save();
    context.beginPath();
    context.rect(left, top, w, rowHeight * list.length);
    context.clip();
    list.forEach((row, k) => {
      const { spans, ends } = row.levels[0];
      const fill = (begin, end, name) => {
        context.fillStyle = colour(name);
        context.fillRect(left + (begin - view[0]) * scale, top + k * rowHeight + gap, (end - begin) * scale, rowHeight - 2 * gap);
      };
      fill(0, ends[run.count - 1], "between");
      for (const [begin, end] of setups(row)) fill(begin, end, "setup");
      for (let i = from; i <= to; i++) {
        let at = ends[i] - spans[i * 4] - spans[i * 4 + 1] - spans[i * 4 + 2] - spans[i * 4 + 3];
        for (let p = 0; p < 4; p++) {
          const length = spans[i * 4 + p];
          context.fillStyle = fills[p];
          if (length > 0) context.fillRect(left + (at - view[0]) * scale, top + k * rowHeight + gap, Math.max(0.5, length * scale), rowHeight - 2 * gap);
          at += length;
        }
      }
    });
    context.restore();
  }

  let image = null;
  function drawMany(u, { left, top, width: w, height: rowHeight }) {
    const pixels = Math.round(w), tall = Math.round(rowHeight * list.length), sums = new Float64Array(pixels * 4);
    if (!image || image.width !== pixels || image.height !== tall) image = u.ctx.createImageData(pixels, tall);
    const target = new Uint32Array(image.data.buffer), fills = PHASES.map((name) => rgba(colour(name))), setup = rgba(colour("setup")), between = rgba(colour("between"));
    target.fill(rgba(colour("ground")));
    list.forEach((row, k) => {
      strips(row, view[0], view[1], pixels, sums);
      const begin = Math.round(k * rowHeight), end = Math.round((k + 1) * rowHeight) - (rowHeight > 5 ? 1 : 0), size = end - begin;
      const perPixel = (view[1] - view[0]) / pixels, before = setups(row), last = run.round.seconds[run.count - 1];
      let part = 0;
      for (let x = 0; x < pixels; x++) {
        const total = Math.max(1e-300, sums[x * 4] + sums[x * 4 + 1] + sums[x * 4 + 2] + sums[x * 4 + 3]), filled = Math.min(1, total);
        let share = 0, y = begin;
        for (let p = 0; p < 4; p++) {
          share += (sums[x * 4 + p] / total) * filled;
          for (const until = begin + Math.round(share * size); y < until; y++) target[y * pixels + x] = fills[p];
        }
        const time = view[0] + (x + 0.5) * perPixel;
        while (part < before.length && before[part][1] < time) part++;
        const rest = part < before.length && before[part][0] <= time ? setup : between;
        if (time <= last) for (; y < end; y++) target[y * pixels + x] = rest;
      }
    });
    u.ctx.putImageData(image, Math.round(left), Math.round(top));
  }

  function draw(u) {
    const { left, top, width: w, height: tall } = u.bbox, place = { left, top, width: w, height: tall / list.length };
    const from = roundAt(run, view[0]), to = Math.min(run.count - 1, roundAt(run, view[1]) + 1);
    if ((to - from + 1) * list.length * 4 <= FEW_SPANS) drawFew(u, place, from, to);
    else drawMany(u, place);
    if (current >= 0) mark(u, place);
  }

  // A frame around the round that is told.
  function mark(u, { left, top, width: w, height: rowHeight }) {
    const [begin, end] = roundSpan(list, current).map((time) => left + ((time - view[0]) / (view[1] - view[0])) * w);
    u.ctx.save();
    u.ctx.strokeStyle = colour("text");
    u.ctx.lineWidth = 1.5 * devicePixelRatio;
    const x = Math.max(left, begin), right = Math.min(left + w, Math.max(end, begin + 1));
    if (right >= x) u.ctx.strokeRect(x, top, right - x, rowHeight * list.length);
    u.ctx.restore();
  }

  function show(next) {
    view = next;
    plot.setScale("x", { min: view[0], max: view[1] });
  }

  // The labels of rows: all of them, or as many as there is room for.
  const every = () => Math.ceil((16 * list.length) / (height() - AXIS));

  function open() {
    plot?.destroy();
    plot = new uPlot({
      width, height: height(), legend: { show: false }, padding: [4, 12, 0, 0],
      scales: { x: { time: false, auto: false, min: view[0], max: view[1], range: (_, low, high) => [low, high] }, y: { auto: false, range: () => [0, list.length] } },
      axes: [
        axis("seconds", format.number, true, false),
        { ...axis("", format.number, false, true), size: 62, label: undefined, grid: { show: false }, ticks: { show: false }, splits: () => list.map((_, k) => list.length - k - 0.5).filter((_, k) => k % every() === 0), values: (_, values) => values.map((value) => list[Math.round(list.length - value - 0.5)]?.label.replace("worker ", "w").replace("rank ", "r")) },
      ],
      series: [{}, { show: true, paths: () => null, points: { show: false } }],
      cursor: { y: false, points: { show: false }, drag: { x: true, y: false, setScale: false } },
      hooks: {
        draw: [draw],
        setSelect: [(u) => {
          if (u.select.width < 4) return;
          const ends = [u.select.left, u.select.left + u.select.width].map((left) => u.posToVal(left, "x"));
          u.setSelect({ left: 0, top: 0, width: 0, height: 0 }, false);
          show(ends);
        }],
        setCursor: [(u) => u.cursor.event && u.cursor.left >= 0 && tell(roundAt(run, u.posToVal(u.cursor.left, "x")), false, Math.floor((u.cursor.top / u.over.clientHeight) * list.length))],
      },
    }, [[whole[0], whole[1]], [null, null]], parts.plot);
    onTouch(plot.over, { view: () => view, whole: () => whole, log: () => false, show });
    const words = { setup: "setup", between: "validation, checkpoint, log" };
    parts.legend.replaceChildren(...[...PHASES, "setup", "between"].map((name) => h("span", {}, swatch(colour(name)), words[name] ?? name)));
  }

  // Says what a row did in a round, in words.
  function tell(round, follow, row = 0) {
    const k = Math.max(0, Math.min(list.length - 1, row)), { spans } = list[k].levels[0];
    const changed = round !== current;
    current = round;
    const begin = roundSpan(list, round)[0], end = run.round.seconds[round];
    parts.readout.replaceChildren(
      h("span", { "data-round": run.round.round[round], "data-row": k, ...Object.fromEntries(PHASES.map((name, p) => [`data-${name}`, spans[round * 4 + p]])) },
        `round ${format.count(run.round.round[round])}, ${list[k].label}: ${PHASES.map((name, p) => `${name} ${format.seconds(spans[round * 4 + p])}`).join(", ")}; it ended at ${format.seconds(end)}`));
    if (follow && (begin < view[0] || end > view[1])) {
      const wide = Math.max(view[1] - view[0], (end - begin) * 1.2), left = Math.max(whole[0], Math.min(whole[1] - wide, (begin + end - wide) / 2));
      show([left, left + wide]);
    } else if (changed && plot) plot.redraw(false);
  }

  function zoomTo(wanted) {
    const round = run.round.round.indexOf(wanted);
    if (round < 0 || !plot) return;
    const [begin, end] = roundSpan(list, round), margin = (end - begin) * 0.05 || 1e-6;
    tell(round, false);
    show([Math.max(whole[0], begin - margin), Math.min(Math.max(whole[1], end), end + margin)]);
  }

  function choose(nextRun, ranks) {
    run = nextRun;
    byRank = ranks;
    list = rows(run, byRank && run.ranks.members > 0);
    whole = span();
    view = whole;
    current = -1;
    number.max = run.count;
    image = null;
    parts.readout.replaceChildren();
    if (width) open();
    parts.refreshTable();
  }

  function table() {
    return {
      head: ["round", byRank ? "rank" : "worker", "ended at", ...PHASES], rows: run.count * list.length,
      cell: (row, column) => {
        const round = Math.floor(row / list.length), k = row % list.length;
        if (column === 0) return format.exact(run.round.round[round]);
        if (column === 1) return String(k);
        return format.exact(column === 2 ? run.round.seconds[round] : list[k].levels[0].spans[round * 4 + column - 3]);
      },
    };
  }

  whole = span();
  view = whole;
  onWidth(parts.plot, (next) => {
    width = next;
    if (!plot) open();
    else plot.setSize({ width, height: height() });
  });
  onThemeChange(() => {
    image = null;
    if (plot) open();
  });
  charts.gantt = { act, tell, zoomTo, view: () => view, setView: (next) => plot && show(next), whole: () => whole, frame: () => plot.redraw(false, false), rows: () => list };
  return parts.element;
}
