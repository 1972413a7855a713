// series.js: curves of many points: those in view, few enough to draw, and the one at the cursor.

// The first index whose x is at least `value`; x increases.
export function lowerBound(x, value) {
  let low = 0, high = x.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (x[middle] < value) low = middle + 1;
    else high = middle;
  }
  return low;
}

// The index of the nearest point; -1 if there is none.
export function nearest(x, value) {
  if (!x.length) return -1;
  const at = Math.min(x.length - 1, lowerBound(x, value));
  return at > 0 && value - x[at - 1] < x[at] - value ? at - 1 : at;
}

// Points where both numbers exist, and are positive on logarithmic axes.
export function clean(x, y, xLog, yLog) {
  const xs = [], ys = [], index = [];
  for (let i = 0; i < x.length; i++) {
    if (!Number.isFinite(x[i]) || !Number.isFinite(y[i])) continue;
    if ((xLog && !(x[i] > 0)) || (yLog && !(y[i] > 0)) || (xs.length && x[i] < xs[xs.length - 1])) continue;
    xs.push(x[i]);
    ys.push(y[i]);
    index.push(i);
  }
  return { x: xs, y: ys, index };
}

// The points in [from, to] and one more on either side. Of more than `most`, the lowest and the highest of each of
// `most` / 2 strips are kept, so that the curve looks the same and every point appears when one zooms in.
export function thin({ x, y }, from, to, most, log) {
  const begin = Math.max(0, lowerBound(x, from) - 1), end = Math.min(x.length, lowerBound(x, to) + 2);
  if (end - begin <= most) return [x.slice(begin, end), y.slice(begin, end)];
  const place = log ? Math.log : (value) => value;
  const first = place(x[begin]), scale = most / 2 / (place(x[end - 1]) - first || 1);
  const xs = [], ys = [];
  for (let i = begin; i < end;) {
    const strip = Math.floor((place(x[i]) - first) * scale);
    let low = i, high = i, j = i;
    for (; j < end && Math.floor((place(x[j]) - first) * scale) === strip; j++) {
      if (y[j] < y[low]) low = j;
      if (y[j] > y[high]) high = j;
    }
    for (const k of low === high ? [low] : [Math.min(low, high), Math.max(low, high)]) {
      xs.push(x[k]);
      ys.push(y[k]);
    }
    i = j;
  }
  return [xs, ys];
}
