// data.js: the data of the page. docs/log.md describes their form; src/trace/page.c writes them.

function fromBase64(text) {
  if (Uint8Array.fromBase64) return Uint8Array.fromBase64(text);
  const letters = atob(text), bytes = new Uint8Array(letters.length);
  for (let i = 0; i < letters.length; i++) bytes[i] = letters.charCodeAt(i);
  return bytes;
}

async function inflate(base64) {
  const stream = new Blob([fromBase64(base64)]).stream().pipeThrough(new DecompressionStream("deflate"));
  return new Uint8Array(await new Response(stream).arrayBuffer());
}

const NO_NANOSECONDS = 2 ** 32 - 1;

// In each column all the first bytes of its numbers come first, then the second ones, and so on.
function nanoseconds(bytes, base, count) {
  const values = new Float64Array(count), second = base + count, third = second + count, fourth = third + count;
  for (let i = 0; i < count; i++) {
    const whole = (bytes[base + i] | (bytes[second + i] << 8) | (bytes[third + i] << 16) | (bytes[fourth + i] << 24)) >>> 0;
    values[i] = whole === NO_NANOSECONDS ? NaN : whole / 1e9;
  }
  return values;
}

function doubles(bytes, base, count) {
  const plain = new Uint8Array(8 * count);
  for (let b = 0; b < 8; b++) for (let i = 0, from = base + b * count, to = b; i < count; i++, to += 8) plain[to] = bytes[from + i];
  return new Float64Array(plain.buffer);
}

// One array per member.
async function unpack({ type, bytes }, members, count) {
  const [width, read] = type === "ns" ? [4, nanoseconds] : [8, doubles], plain = await inflate(bytes);
  return Array.from({ length: members }, (_, m) => read(plain, m * count * width, count));
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
  return { ...raw, label, index, round, workers, ranks, start: last.start, stop: last.stop, model: last.model };
}

export async function load() {
  const raw = JSON.parse(document.getElementById("data").textContent);
  const labels = shortNames(raw.runs.map((run) => run.name));
  return { ...raw, runs: await Promise.all(raw.runs.map((run, i) => openRun(run, labels[i], i))) };
}
