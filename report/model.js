// model.js: what the log tells of the model: words of topics, the confusion matrix.
import { h } from "./dom.js";
import { figure } from "./figure.js";
import * as format from "./format.js";

const list = (value) => (Array.isArray(value) ? value : []);

export function topics(run) {
  const found = list(run.model?.topics);
  if (!found.length) return null;
  const words = (topic) => list(topic?.words).map(String), shares = (topic) => list(topic?.probabilities).map(Number);
  const parts = figure({
    id: `topics-${run.index}`, title: `Topics of ${run.label}`, note: "The most probable words of each topic, and its share of the whole.",
    table: () => {
      const rows = found.flatMap((topic, t) => words(topic).map((word, i) => [String(t), word, format.exact(shares(topic)[i])]));
      return { head: ["topic", "word", "probability"], rows: rows.length, cell: (i, column) => rows[i][column] };
    },
  });
  parts.plot.append(h("div", { class: "words" }, ...found.map((topic, t) => h("div", {}, h("b", {}, `${t}${Number.isFinite(topic?.share) ? `, ${format.percent(topic.share)}` : ""}: `), words(topic).join(", ")))));
  return parts.element;
}

// Rows are labels, columns predictions; the darker, the larger the share of its row.
export function confusion(run) {
  const scores = run.model?.validation, labels = list(scores?.classes).map((one) => String(one?.label)), counts = list(scores?.confusion).map(list);
  if (!labels.length || counts.length !== labels.length) return null;
  const sums = counts.map((row) => row.reduce((sum, value) => sum + (Number(value) || 0), 0));
  const parts = figure({
    id: `confusion-${run.index}`, title: `Confusion matrix of ${run.label}`, note: `Validation rows by their label (rows) and their predicted label (columns). Accuracy ${format.number(scores.accuracy, 4)}.`,
    table: () => ({ head: ["label", "predicted", "rows"], rows: labels.length ** 2, cell: (i, column) => (column === 0 ? labels[Math.floor(i / labels.length)] : column === 1 ? labels[i % labels.length] : format.exact(Number(counts[Math.floor(i / labels.length)][i % labels.length]))) }),
  });
  const cell = (i, j) => {
    const value = Number(counts[i][j]) || 0, share = sums[i] ? value / sums[i] : 0;
    return h("td", { title: `${labels[i]} predicted as ${labels[j]}: ${format.percent(share)}`, style: `background:color-mix(in srgb, var(--${i === j ? "good" : "poor"}) ${Math.round(70 * share)}%, transparent)` }, format.number(value));
  };
  parts.plot.append(h("div", { class: "scroll", tabindex: 0, role: "region", "aria-label": "Confusion matrix" }, h("table", { class: "matrix" },
    h("thead", {}, h("tr", {}, h("th", { scope: "col" }, "label"), ...labels.map((label) => h("th", { scope: "col" }, label)))),
    h("tbody", {}, ...labels.map((label, i) => h("tr", {}, h("th", { scope: "row" }, label), ...labels.map((_, j) => cell(i, j))))))));
  return parts.element;
}
