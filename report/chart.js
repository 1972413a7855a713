// chart.js: curves in a chart with zoom, cursor and keyboard, drawn by uPlot. Each curve has its own x. Only what is in
// view is given to uPlot, thinned to what the screen can show, as places between 0 and 1 on both axes (scale.js).
import uPlot from "uplot";
import { h } from "./dom.js";
import { figure } from "./figure.js";
import * as format from "./format.js";
import { labels, scale, ticks, widen } from "./scale.js";
import { clean, nearest, thin } from "./series.js";
import { colour, onThemeChange } from "./theme.js";
import { onTouch } from "./touch.js";

const HEIGHT = 300, CLOSEST = 1e-9;
const ROOM = { x: { tick: 70, edge: 80 }, y: { tick: 36, edge: 50 } }; // pixels of a tick, and those beside the plot

export const charts = {}; // by id, for tests and for the state that a reload keeps

// An axis of uPlot. `of` returns the scale whose places uPlot has; without it uPlot has the values themselves.
export function axis(label, text, isX, narrow, of) {
  const { tick, edge } = isX ? ROOM.x : ROOM.y;
  const values = (u, low, high) => ticks(of?.() ?? scale(low, high, false), ((isX ? u.width : u.height) - edge) / tick);
  let shown = [];
  return {
    shown: () => shown, label: narrow && !isX ? undefined : label, labelSize: 18, labelGap: 2, size: isX ? 34 : narrow ? 54 : 64, font: "12px system-ui, sans-serif", labelFont: "12px system-ui, sans-serif",
    stroke: () => colour("muted"), grid: { stroke: () => colour("grid"), width: 1 }, ticks: { stroke: () => colour("grid"), width: 1, size: 4 },
    splits: (u, _, low, high) => (shown = values(u, low, high)).map((value) => (of ? of().place(value) : value)),
    values: () => labels(shown, text),
  };
}

// Follows the width of an element; calls back at once and at every change.
export function onWidth(element, callback) {
  let last = 0;
  new ResizeObserver(() => {
    const width = Math.floor(element.clientWidth);
    if (width > 0 && width !== last) callback((last = width));
  }).observe(element);
}

// A view [min, max] of x on a linear or logarithmic axis, kept inside of what there is.
export function moveView([min, max], [low, high], log, centre, factor, share) {
  const to = log ? Math.log : (x) => x, from = log ? Math.exp : (x) => x;
  const [a, b, l, r] = [min, max, low, high].map(to), middle = to(centre ?? from((a + b) / 2));
  let left = middle - (middle - a) * factor + share * (b - a), width = Math.min(Math.max((b - a) * factor, CLOSEST * (r - l)), r - l);
  left = Math.max(l, Math.min(left, r - width));
  return [from(left), from(left + width)];
}

/* `spec()` returns what to draw now: {curves: [{label, colour, dash, x, y, stepped, thin, at(i)}], xLabel, yLabel, xText,
   yText, xLog, yLog}. `refresh` is to be called when it returns something else. */
export function lineChart({ id, title, note, tools, spec, headline }) {
  let plot = null, axes = [], width = 0, curves = [], now = null, whole = [0, 1], view = null, at = null, xScale = null, yScale = null;
  const act = {
    zoom: (factor) => plot && show(moveView(view, whole, now.xLog, at?.x, factor, 0)),
    pan: (share) => plot && show(moveView(view, whole, now.xLog, null, 1, share)),
    reset: () => plot && show(whole),
    step: (by) => {
      const curve = curves[at?.curve ?? 0];
      if (!plot || !curve?.x.length) return;
      const i = Math.max(0, Math.min(curve.x.length - 1, at ? nearest(curve.x, at.x) + by : by > 0 ? 0 : curve.x.length - 1));
      if (curve.x[i] < view[0] || curve.x[i] > view[1]) show(moveView(view, whole, now.xLog, null, 1, curve.x[i] < view[0] ? -0.5 : 0.5));
      point(curve.x[i]);
    },
  };
  const parts = figure({ id, title, note, tools, act, table: () => tableOf(now, curves) });
  const markers = h("div", { class: "markers", "aria-hidden": "true" });

  function prepare() {
    now = spec();
    curves = now.curves.map((curve) => ({ ...curve, ...clean(curve.x, curve.y, now.xLog, now.yLog) }));
    const ends = curves.filter((curve) => curve.x.length).map((curve) => [curve.x[0], curve.x[curve.x.length - 1]]);
    const low = Math.min(...ends.map((end) => end[0])), high = Math.max(...ends.map((end) => end[1]));
    whole = ends.length ? (low === high ? widen(low, high, now.xLog) : [low, high]) : now.xLog ? [1, 10] : [0, 1];
  }

  function thinned() {
    const tables = curves.map((curve) => thin(curve, view[0], view[1], 2 * Math.max(300, width), now.xLog));
    let low = Infinity, high = -Infinity;
    for (const [x, y] of tables)
      for (let i = 0; i < x.length; i++)
        if (x[i] >= view[0] && x[i] <= view[1]) {
          low = Math.min(low, y[i]);
          high = Math.max(high, y[i]);
        }
    if (now.fromZero && !now.yLog) low = Math.min(low, 0);
    xScale = scale(...view, now.xLog);
    yScale = scale(...(Number.isFinite(low) ? widen(low, high, now.yLog) : now.yLog ? [1, 10] : [0, 1]), now.yLog);
    const placed = tables.map(([x, y]) => [x.map(xScale.place), y.map(yScale.place)]);
    return placed.length ? uPlot.join(placed) : [[], []];
  }

  function show(next) {
    view = next;
    const data = thinned();
    plot.batch(() => {
      plot.setData(data, false);
      plot.redraw(true, true); // with other ticks
    });
    if (at) point(at.x);
  }

  function open() {
    plot?.destroy();
    prepare();
    view = whole;
    const data = thinned(), narrow = width < 480;
    const unit = { time: false, auto: false, min: 0, max: 1, range: () => [0, 1] };
    const paths = (curve) => (curve.stepped ? uPlot.paths.stepped({ align: 1 }) : undefined);
    axes = [axis(now.xLabel, now.xText, true, narrow, () => xScale), axis(now.yLabel, now.yText, false, narrow, () => yScale)];
    plot = new uPlot({
      width, height: HEIGHT, legend: { show: false }, padding: [10, 12, 0, 0],
      scales: { x: { ...unit }, y: { ...unit } },
      axes,
      series: [{}, ...curves.map((curve) => ({ label: curve.label, stroke: curve.colour, dash: curve.dash, width: curve.thin ? 0.75 : 2, spanGaps: true, paths: paths(curve),
        points: { show: !curve.thin && curve.x.length < 40, size: 5, fill: curve.colour, stroke: curve.colour } }))],
      cursor: { y: false, points: { show: false }, drag: { x: true, y: false, setScale: false } },
      hooks: {
        setSelect: [(u) => {
          if (u.select.width < 4) return;
          const [from, to] = [u.select.left, u.select.left + u.select.width].map((left) => xScale.value(u.posToVal(left, "x")));
          u.setSelect({ left: 0, top: 0, width: 0, height: 0 }, false);
          show([from, to]);
        }],
        setCursor: [(u) => u.cursor.event && u.cursor.left >= 0 && point(xScale.value(u.posToVal(u.cursor.left, "x")))],
      },
    }, data, parts.plot);
    plot.over.append(markers);
    onTouch(plot.over, { view: () => view, whole: () => whole, log: () => now.xLog, show });
    drawLegend();
    if (at) point(at.x);
  }

  function drawLegend() {
    parts.legend.replaceChildren(...(curves.length > 1 || headline ? curves.map((curve) => h("span", {}, swatch(curve.colour(), curve.dash, curve.thin), curve.label)) : []));
  }

  // Shows the values of all curves nearest to x, in words and as marks.
  function point(x) {
    at = { x, curve: 0 };
    const inView = (left) => left >= 0 && left <= plot.over.clientWidth;
    const found = curves.map((curve) => ({ curve, i: nearest(curve.x, x) })).filter(({ i }) => i >= 0);
    markers.replaceChildren(...found.flatMap(({ curve, i }) => {
      const left = plot.valToPos(xScale.place(curve.x[i]), "x"), top = plot.valToPos(yScale.place(curve.y[i]), "y");
      return inView(left) ? [h("i", { style: `left:${left}px;top:${top}px;background:${curve.colour()}` })] : [];
    }));
    parts.readout.replaceChildren(...found.map(({ curve, i }) => h("span", { "data-curve": curve.label, "data-x": curve.x[i], "data-y": curve.y[i] },
      swatch(curve.colour(), curve.dash, curve.thin), `${curve.label}: ${now.yLabel} ${now.yExact?.(curve.y[i]) ?? format.number(curve.y[i], 7)} at ${now.xExact?.(curve.x[i]) ?? format.number(curve.x[i], 7)} ${now.xUnit ?? ""}${curve.at ? `, ${curve.at(curve.index[i])}` : ""}`)));
  }

  onWidth(parts.plot, (next) => {
    width = next;
    if (!plot) open();
    else {
      plot.setSize({ width, height: HEIGHT });
      show(view);
    }
  });
  onThemeChange(() => plot && open());
  charts[id] = { act, point, view: () => view, setView: (next) => plot && show(next), whole: () => whole, frame: () => show(view), curves: () => curves,
    ticks: () => axes.map((one) => one.shown()), scales: () => [xScale, yScale] };
  return { element: parts.element, refresh: () => {
    at = null;
    parts.readout.replaceChildren();
    markers.replaceChildren();
    if (plot) open();
    parts.refreshTable();
  } };
}

export const swatch = (of, dash, thin) => h("i", { class: thin ? "swatch thin" : dash ? "swatch dashed" : "swatch", style: `background:${of};--dash:${of}`, "aria-hidden": "true" });

// One row per point, curve after curve.
function tableOf(now, curves) {
  const ends = [];
  for (const curve of curves) ends.push((ends[ends.length - 1] ?? 0) + curve.x.length);
  return {
    head: ["curve", now.xLabel, now.yLabel], rows: ends[ends.length - 1] ?? 0,
    cell: (row, column) => {
      const c = ends.findIndex((end) => row < end), curve = curves[c], i = row - (ends[c - 1] ?? 0);
      return column === 0 ? curve.label : format.exact(column === 1 ? curve.x[i] : curve.y[i]);
    },
  };
}
