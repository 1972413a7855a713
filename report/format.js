// format.js: numbers as people read them.

const known = (value) => Number.isFinite(value);

// Significant digits without trailing zeros; powers of ten for the very large and small.
export function number(value, digits = 5) {
  if (!known(value)) return "–";
  if (value === 0) return "0";
  const size = Math.abs(value);
  if (size >= 1e6 || size < 1e-3) return value.toExponential(digits - 1).replace(/\.?0+e/, "e").replace("e+", "e");
  return String(Number(value.toPrecision(digits)));
}

export const exact = (value) => (known(value) ? String(value) : "");

export function count(value) {
  return known(value) ? Math.round(value).toLocaleString("en-US") : "–";
}

export function seconds(value) {
  if (!known(value)) return "–";
  const size = Math.abs(value);
  if (size === 0) return "0 s";
  if (size < 1e-3) return `${number(value * 1e6, 4)} µs`;
  if (size < 1) return `${number(value * 1e3, 4)} ms`;
  if (size < 120) return `${number(value, 4)} s`;
  if (size < 7200) return `${number(value / 60, 3)} min`;
  return `${number(value / 3600, 3)} h`;
}

export function bytes(value, digits = 4) {
  if (!known(value)) return "–";
  const units = ["B", "kB", "MB", "GB", "TB", "PB"];
  let unit = 0;
  for (; Math.abs(value) >= 1000 && unit + 1 < units.length; unit++) value /= 1000;
  return `${number(value, digits)} ${units[unit]}`;
}

export function percent(value) {
  return known(value) ? `${(100 * value).toFixed(value < 0.1 ? 1 : 0)} %` : "–";
}

export function plural(amount, word) {
  return `${count(amount)} ${word}${amount === 1 ? "" : "s"}`;
}
