// data.js: the data of the page. docs/report.md describes their form; src/trace/page.c writes them.

async function inflate(base64) {
  const packed = Uint8Array.from(atob(base64), (letter) => letter.charCodeAt(0));
  const stream = new Blob([packed]).stream().pipeThrough(new DecompressionStream("deflate"));
  return new Uint8Array(await new Response(stream).arrayBuffer());
}

// In each column all the first bytes of its numbers come first, then the second ones, and so on.
function unshuffle(bytes, members, count, width) {
  const plain = new Uint8Array(bytes.length);
  for (let m = 0; m < members; m++) {
    const base = m * count * width;
    for (let b = 0; b < width; b++)
      for (let i = 0, from = base + b * count, to = base + b; i < count; i++, to += width) plain[to] = bytes[from + i];
  }
  return plain;
}

const NO_NANOSECONDS = 2 ** 32 - 1;

function seconds(whole) {
  const values = new Float64Array(whole.length);
  for (let i = 0; i < whole.length; i++) values[i] = whole[i] === NO_NANOSECONDS ? NaN : whole[i] / 1e9;
  return values;
}

// One array per member.
async function unpack({ type, bytes }, members, count) {
  const width = type === "ns" ? 4 : 8;
  const plain = unshuffle(await inflate(bytes), members, count, width);
  const values = type === "ns" ? seconds(new Uint32Array(plain.buffer)) : new Float64Array(plain.buffer);
  return Array.from({ length: members }, (_, m) => values.subarray(m * count, (m + 1) * count));
}

async function unpackAll({ members, columns }, count) {
  const entries = await Promise.all(
    Object.entries(columns).map(async ([key, column]) => [key, await unpack(column, members, count)]),
  );
  return { members, ...Object.fromEntries(entries) };
}

// Names of files, made as short as tells them apart.
function shortNames(names) {
  const bases = names.map((name) => name.split("/").pop().replace(/\.jsonl?$/, "") || name);
  const alike = (name) => bases.filter((other) => other === name).length > 1;
  return bases.map((base, i) => (alike(base) ? `${base} (${i + 1})` : base));
}

function cumulative(values) {
  const sums = new Float64Array(values.length);
  let sum = 0;
  for (let i = 0; i < values.length; i++) sums[i] = sum += values[i] || 0;
  return sums;
}

async function openRun(raw, label, index) {
  const [rounds, workers, ranks] = await Promise.all(
    [raw.rounds, raw.workers, raw.ranks].map((columns) => unpackAll(columns, raw.count)),
  );
  const round = Object.fromEntries(Object.entries(rounds).filter(([key]) => key !== "members").map(([key, [one]]) => [key, one]));
  for (const key of ["sent", "received"]) if (round[key]) round[`${key}_so_far`] = cumulative(round[key]);
  const last = raw.parts[raw.parts.length - 1];
  return { ...raw, label, index, round, workers, ranks, start: last.start, stop: last.stop };
}

export async function load() {
  const raw = JSON.parse(document.getElementById("data").textContent);
  const labels = shortNames(raw.runs.map((run) => run.name));
  return { ...raw, runs: await Promise.all(raw.runs.map((run, i) => openRun(run, labels[i], i))) };
}
