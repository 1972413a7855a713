// dom.js: makes elements. Text from a log only ever becomes a text node or the value of an attribute, never markup.

export function h(tag, attributes, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes ?? {})) {
    if (value === undefined || value === null || value === false) continue;
    if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else element.setAttribute(name, value === true ? "" : String(value));
  }
  element.append(...children.flat().filter((child) => child !== null && child !== undefined));
  return element;
}

let numbers = 0;
export const unique = (prefix) => `${prefix}-${++numbers}`;

// A group of choices of which one is made: radio buttons that look like one control.
export function choice(label, options, chosen, onchange) {
  const name = unique("choice");
  const buttons = options.map(([value, text]) => {
    const input = h("input", { type: "radio", name, value, checked: value === chosen, onchange: () => onchange(value) });
    return h("label", {}, input, h("span", {}, text));
  });
  return h("fieldset", { class: "choice" }, h("legend", {}, label), ...buttons);
}

export function select(label, options, chosen, onchange) {
  const list = options.map(([value, text]) => h("option", { value, selected: String(value) === String(chosen) }, text));
  const field = h("select", { onchange: (event) => onchange(event.target.value) }, ...list);
  return h("label", { class: "select" }, label, " ", field);
}

export function button(text, label, onclick) {
  return h("button", { type: "button", title: label, "aria-label": label, onclick }, text);
}

// Copies text; where the browser refuses that to files, it is shown for copying by hand.
export async function copy(text, status) {
  try {
    await navigator.clipboard.writeText(text);
    status.textContent = "Copied.";
  } catch {
    const area = h("textarea", { rows: 6, readonly: true, "aria-label": "Text to copy" });
    area.value = text;
    status.replaceChildren("Copy this: ", area);
    area.select();
  }
}
