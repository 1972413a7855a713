// gantt_data.js: when each worker computed, exchanged, evaluated and waited. A round ends at the log's `seconds`; its
// spans follow each other up to there.
export const PHASES = ["compute", "wait", "exchange", "evaluate"]; // in this order within a round
const FACTOR = 4, SMALL = 512;

// Sums over blocks of rounds, and over blocks of blocks, so that a picture of very many rounds need not visit them all.
function pyramid(spans, ends, count) {
  const levels = [{ spans, ends, count }];
  while (levels[levels.length - 1].count > SMALL) {
    const below = levels[levels.length - 1], size = Math.ceil(below.count / FACTOR), sums = new Float64Array(size * PHASES.length), last = new Float64Array(size);
    for (let i = 0; i < below.count; i++) {
      const to = Math.floor(i / FACTOR);
      for (let p = 0; p < PHASES.length; p++) sums[to * PHASES.length + p] += below.spans[i * PHASES.length + p];
      last[to] = below.ends[i];
    }
    levels.push({ spans: sums, ends: last, count: size });
  }
  return levels;
}

/* What to draw for the workers or the ranks of a run: for each row, levels of {spans: seconds by round and phase, ends,
   count}. Ranks call their local work `local`, which has the waiting in it. */
export function rows(run, byRank) {
  const source = byRank ? run.ranks : run.workers, ends = run.round.seconds ?? new Float64Array(0), count = run.count;
  const none = new Float64Array(count);
  return Array.from({ length: source.members }, (_, m) => {
    const column = (key) => source[key]?.[m] ?? none;
    const [compute, wait, exchange, evaluate] = byRank ? ["local", "wait", "exchange", "evaluate"].map(column) : PHASES.map(column);
    const spans = new Float64Array(count * PHASES.length);
    for (let i = 0; i < count; i++) {
      const waited = wait[i] || 0, worked = compute[i] || 0;
      spans[i * 4] = byRank ? Math.max(0, worked - waited) : worked;
      spans[i * 4 + 1] = waited;
      spans[i * 4 + 2] = exchange[i] || 0;
      spans[i * 4 + 3] = evaluate[i] || 0;
    }
    return { label: `${byRank ? "rank" : "worker"} ${m}`, levels: pyramid(spans, ends, count) };
  });
}

// The seconds of each phase in each of `pixels` strips of [from, to], for one row: an array of pixels x phases.
export function strips(row, from, to, pixels, out) {
  const perPixel = (to - from) / pixels, scale = 1 / perPixel, n = PHASES.length;
  out.fill(0);
  let level = row.levels.length - 1;
  while (level > 0 && blockSeconds(row.levels[level]) > perPixel / 1.5) level--;
  const { spans, ends, count } = row.levels[level];
  let first = lower(ends, from);
  for (let i = first; i < count; i++) {
    let total = 0;
    for (let p = 0; p < n; p++) total += spans[i * n + p];
    let at = ends[i] - total;
    if (at >= to) {
      if (i > first && ends[i - 1] >= to) break;
      continue;
    }
    for (let p = 0; p < n; p++) {
      const length = spans[i * n + p];
      if (length <= 0) continue;
      const left = (at - from) * scale, right = (at += length, at - from) * scale, pixel = Math.floor(left);
      if (right < pixel + 1 && pixel >= 0 && pixel < pixels) out[pixel * n + p] += right - left;
      else spread(out, p, left, right, pixels);
    }
  }
  return out;
}

const blockSeconds = ({ ends, count }) => (count > 1 ? (ends[count - 1] - ends[0]) / (count - 1) : Infinity);

// Adds a span, in pixels, to the strips that it covers.
function spread(out, phase, begin, end, pixels) {
  if (end <= 0 || begin >= pixels || end <= begin) return;
  const n = PHASES.length;
  let i = Math.max(0, Math.floor(begin));
  const last = Math.min(pixels - 1, Math.floor(end));
  if (i === last) {
    out[i * n + phase] += Math.min(end, i + 1) - Math.max(begin, i);
    return;
  }
  out[i * n + phase] += i + 1 - Math.max(begin, i);
  for (i++; i < last; i++) out[i * n + phase] += 1;
  out[last * n + phase] += Math.min(end, last + 1) - last;
}

function lower(values, value) {
  let low = 0, high = values.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (values[middle] < value) low = middle + 1;
    else high = middle;
  }
  return low;
}

// The round that is going on at a time, or the last one.
export const roundAt = (run, time) => Math.min(run.count - 1, lower(run.round.seconds, time));

// When a round began on its slowest row, and ended.
export function roundSpan(allRows, round) {
  let longest = 0, end = 0;
  for (const row of allRows) {
    const { spans, ends } = row.levels[0];
    let total = 0;
    for (let p = 0; p < PHASES.length; p++) total += spans[round * PHASES.length + p];
    longest = Math.max(longest, total);
    end = ends[round];
  }
  return [end - longest, end];
}
