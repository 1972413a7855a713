// scale.js: an axis: where values are on it, as shares of its length, and its ticks. Charts give only these shares to
// uPlot, whose own axes fail for logarithmic ranges within a decade and for very large and very small numbers.
const MARGIN = 0.03, LEAST = Number.MIN_VALUE, MOST = Number.MAX_VALUE;

const within = (value, low, high) => Math.max(low, Math.min(high, value));

// The range of the values with a margin. On a logarithmic axis they must be positive.
export function widen(low, high, log) {
  if (log) {
    const margin = low === high ? Math.log(2) : MARGIN * (Math.log(high) - Math.log(low));
    return [within(Math.exp(Math.log(low) - margin), LEAST, low), within(Math.exp(Math.log(high) + margin), high, MOST)];
  }
  let margin = low === high ? Math.abs(low) * 0.1 : high * MARGIN - low * MARGIN;
  if (low === high && low - margin === low) margin = 1;
  return [within(low - margin, -MOST, low), within(high + margin, high, MOST)];
}

// The axis from `low` to `high`, which differ. Where logarithms hardly differ, it is as good as linear.
export function scale(low, high, log) {
  const bent = log && Math.log(high) - Math.log(low) > 1e-9;
  const part = Number.isFinite(high - low) ? 1 : 0.25; // so that differences of the largest numbers are finite
  const to = bent ? Math.log : (value) => value * part, from = bent ? Math.exp : (place) => place / part;
  const begin = to(low), length = to(high) - begin;
  return {
    low, high, log,
    place: (value) => (to(value) - begin) / length,
    value: (share) => (share === 0 ? low : share === 1 ? high : from(begin + share * length)),
  };
}

// The smallest step of 1, 2 or 5 times a power of ten that makes at most so many ticks.
function stepOf(low, high, most) {
  const rough = high / most - low / most, power = Math.floor(Math.log10(rough));
  return [1, 2, 5, 10, 20].map((mantissa) => mantissa * Number(`1e${power}`)).find((step) => step > 0 && high / step - low / step <= most);
}

function multiples(step, low, high) {
  const found = [], first = Math.ceil(low / step), count = Math.floor(high / step) - first;
  for (let i = 0; i <= count && i < 100; i++) {
    const tick = Number(((first + i) * step).toPrecision(15));
    if (tick >= low && tick <= high && tick !== found[found.length - 1]) found.push(tick === 0 ? 0 : tick);
  }
  return found;
}

function linearTicks(low, high, most) {
  for (const more of [1, 2, 4, 8]) {
    const step = stepOf(low, high, most * more), found = step ? multiples(step, low, high) : [];
    if (found.length >= 2) return found;
  }
  return [low, high];
}

// Of mantissas times powers of ten, the most that are not too many.
function decimalTicks(low, high, most) {
  const first = Math.floor(Math.log10(low)) - 1, last = Math.ceil(Math.log10(high)) + 1;
  const kinds = [[[1, 2, 5], 1], [[1, 3], 1], ...[1, 2, 3, 5, 10, 20, 50, 100].map((every) => [[1], every])];
  for (const [mantissas, every] of kinds) {
    const found = [];
    for (let power = Math.ceil(first / every) * every; power <= last; power += every)
      for (const mantissa of mantissas) found.push(Number(`${mantissa}e${power}`));
    const shown = found.filter((tick) => tick > 0 && tick >= low && tick <= high);
    if (shown.length <= most && shown.length >= 2) return shown;
  }
  return linearTicks(low, high, most);
}

// At least two numbers in the range, and about `most` if there are round ones.
export function ticks({ low, high, log }, most) {
  const wanted = Math.max(2, Math.floor(most));
  return log && Math.log10(high) - Math.log10(low) >= 1 ? decimalTicks(low, high, wanted) : linearTicks(low, high, wanted);
}

// Texts of ticks with as many digits as tell them apart.
export function labels(values, text) {
  for (let digits = 4; digits < 17; digits++) {
    const found = values.map((value) => text(value, digits));
    if (new Set(found).size === found.length) return found;
  }
  return values.map((value) => text(value, 17));
}
