// figure.js: what all charts have: a heading, a plot that takes the keyboard, buttons for what keys do, the values under
// the cursor in words, and the table behind the chart.
import { button, copy, h, unique } from "./dom.js";

const PAGE_ROWS = 50;

// `table` returns {head, rows, cell(row, column)}: it is made when it is opened, and shown a page at a time.
function tableBehind(table) {
  const body = h("div", { class: "table" });
  let first = 0;
  const show = () => {
    const { head, rows, cell } = table();
    const status = h("span", { role: "status" });
    first = Math.max(0, Math.min(first, rows - 1));
    const last = Math.min(rows, first + PAGE_ROWS);
    const lines = [];
    for (let i = first; i < last; i++) lines.push(h("tr", {}, ...head.map((_, column) => h("td", {}, cell(i, column)))));
    const all = () => [head, ...Array.from({ length: rows }, (_, i) => head.map((_, column) => cell(i, column)))];
    body.replaceChildren(
      h("p", { class: "tools" },
        rows > PAGE_ROWS ? button("‹", "Earlier rows", () => move(-PAGE_ROWS)) : null,
        rows > PAGE_ROWS ? button("›", "Later rows", () => move(PAGE_ROWS)) : null,
        h("span", {}, rows ? `Rows ${first + 1} to ${last} of ${rows.toLocaleString("en-US")}` : "No rows"),
        button("Copy all", "Copy the whole table", () => copy(all().map((row) => row.join("\t")).join("\n"), status)), status),
      h("div", { class: "scroll", tabindex: 0, role: "region", "aria-label": "Table" },
        h("table", {}, h("thead", {}, h("tr", {}, ...head.map((name) => h("th", { scope: "col" }, name)))), h("tbody", {}, ...lines))));
  };
  const move = (by) => {
    first += by;
    show();
  };
  const details = h("details", { ontoggle: () => details.open && show() }, h("summary", {}, "Table"), body);
  return { details, refresh: () => details.open && show() };
}

// Keys and buttons of a plot that can be zoomed: `act` has zoom(factor), pan(share), step(by), reset().
function controls(act) {
  return h("span", { class: "zoom" },
    button("+", "Zoom in (key +)", () => act.zoom(0.5)), button("−", "Zoom out (key -)", () => act.zoom(2)),
    button("◀", "Move left (Shift and left arrow)", () => act.pan(-0.25)),
    button("▶", "Move right (Shift and right arrow)", () => act.pan(0.25)),
    button("Whole", "Show everything (key 0)", () => act.reset()));
}

function onKey(event, act) {
  const move = { ArrowLeft: -1, ArrowRight: 1 }[event.key];
  if (event.ctrlKey || event.altKey || event.metaKey) return;
  if (move && event.shiftKey) act.pan(0.1 * move);
  else if (move) act.step(move);
  else if (event.key === "PageUp" || event.key === "PageDown") act.step(event.key === "PageUp" ? -20 : 20);
  else if (event.key === "+" || event.key === "=") act.zoom(0.5);
  else if (event.key === "-") act.zoom(2);
  else if (event.key === "0" || event.key === "Home" || event.key === "Escape") act.reset();
  else return;
  event.preventDefault();
}

export function figure({ id, title, note, tools = [], act, table }) {
  const heading = unique("heading"), behind = table ? tableBehind(table) : null;
  const plot = h("div", { class: "plot", tabindex: act ? 0 : undefined, role: act ? "application" : undefined, "aria-labelledby": heading,
    "aria-roledescription": act ? "chart; arrow keys move the cursor, plus and minus zoom" : undefined,
    onkeydown: act ? (event) => onKey(event, act) : undefined });
  const readout = h("div", { class: "readout", "aria-live": "polite" });
  const legend = h("div", { class: "legend" });
  const element = h("figure", { id, "aria-labelledby": heading },
    h("h3", { id: heading }, title), note ? h("p", { class: "note" }, note) : null,
    tools.length || act ? h("div", { class: "tools" }, ...tools, act ? controls(act) : null) : null, legend, plot, act ? readout : null, behind?.details);
  return { element, plot, readout, legend, refreshTable: behind?.refresh ?? (() => {}) };
}
