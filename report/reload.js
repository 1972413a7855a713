// reload.js: the page of a run that goes on loads itself again, and comes back to where the reader was: the scroll
// position, what is zoomed, and which tables are open.
import { charts } from "./chart.js";

const KEY = "parley-report";

function state() {
  const views = {};
  for (const [id, chart] of Object.entries(charts)) {
    const view = chart.view(), whole = chart.whole();
    if (view && (view[0] !== whole[0] || view[1] !== whole[1])) views[id] = view;
  }
  const open = [...document.querySelectorAll("details")].map((details) => details.open);
  const chosen = [...document.querySelectorAll(".choice input")].map((input) => input.checked);
  return { top: scrollY, views, open, chosen };
}

function restore({ top, views, open, chosen }) {
  document.querySelectorAll("details").forEach((details, i) => (details.open = Boolean(open[i])));
  document.querySelectorAll(".choice input").forEach((input, i) => {
    if (chosen[i] && !input.checked) input.click();
  });
  setTimeout(() => {
    for (const [id, view] of Object.entries(views)) charts[id]?.setView(view);
    scrollTo(0, top);
  }, 50);
}

// A page that nobody sees, or whose reader has something selected, waits.
export function reloadAfter(seconds) {
  try {
    const kept = sessionStorage.getItem(KEY);
    sessionStorage.removeItem(KEY);
    if (kept) restore(JSON.parse(kept));
  } catch {
    // without storage the page starts at its top
  }
  if (!(seconds > 0)) return;
  setInterval(() => {
    if (document.hidden || String(getSelection()) !== "") return;
    try {
      sessionStorage.setItem(KEY, JSON.stringify(state()));
    } catch {
      // as above
    }
    location.reload();
  }, 1000 * seconds);
}
