// touch.js: fingers on a chart. Two of them zoom, and what is under them stays there; one moves a chart that is zoomed.
// Up and down scroll the page as elsewhere (`touch-action` in page.css).

// The view in which the values under the fingers before, at shares `from` of the width, are at the shares `to`.
export function pinched([min, max], [low, high], log, from, to) {
  const into = log ? Math.log : (x) => x, back = log ? Math.exp : (x) => x;
  const [a, b, l, r] = [min, max, low, high].map(into), value = from.map((share) => a + share * (b - a));
  let width = b - a;
  if (from.length > 1) {
    if ((to[1] - to[0]) * (from[1] - from[0]) <= 0 || Math.abs(to[1] - to[0]) < 0.01) return [min, max];
    width = Math.min((value[1] - value[0]) / (to[1] - to[0]), r - l);
  }
  const left = Math.max(l, Math.min(value[0] - to[0] * width, r - width));
  return [back(left), back(left + width)];
}

/* `chart` has view(), whole(), log() and show(view). */
export function onTouch(element, chart) {
  const fingers = new Map();
  const share = (event) => {
    const box = element.getBoundingClientRect();
    return (event.clientX - box.left) / box.width;
  };
  const end = (event) => fingers.delete(event.pointerId);
  element.addEventListener("pointerdown", (event) => event.pointerType === "touch" && fingers.set(event.pointerId, share(event)));
  element.addEventListener("pointermove", (event) => {
    if (!fingers.has(event.pointerId)) return;
    const ids = [...fingers.keys()].slice(0, 2), from = ids.map((id) => fingers.get(id));
    fingers.set(event.pointerId, share(event));
    const [min, max] = chart.view(), [low, high] = chart.whole();
    if (ids.length === 1 && min <= low && max >= high) return; // there is nothing to move
    chart.show(pinched([min, max], [low, high], chart.log(), from, ids.map((id) => fingers.get(id))));
  });
  for (const name of ["pointerup", "pointercancel"]) element.addEventListener(name, end);
}
