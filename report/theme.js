// theme.js: colours, which canvases must be told and styles know. The same in both themes by name.
const listeners = new Set();

export const colour = (name) => getComputedStyle(document.documentElement).getPropertyValue(`--${name}`).trim();
export const runColour = (index) => colour(`run${(index % 8) + 1}`);
// After eight runs colours repeat, with other dashes.
export const runDash = (index) => [undefined, [6, 3], [2, 3], [8, 3, 2, 3]][Math.floor(index / 8) % 4];

export function onThemeChange(listener) {
  listeners.add(listener);
}

const tell = () => listeners.forEach((listener) => listener());
matchMedia("(prefers-color-scheme: dark)").addEventListener("change", tell);

function keep(theme) {
  try {
    localStorage.setItem("parley-theme", theme);
  } catch {
    // a file may have no storage; then the choice lasts as long as the page
  }
}

export function kept() {
  try {
    return localStorage.getItem("parley-theme") ?? "auto";
  } catch {
    return "auto";
  }
}

export function setTheme(theme) {
  if (theme === "auto") delete document.documentElement.dataset.theme;
  else document.documentElement.dataset.theme = theme;
  keep(theme);
  tell();
}
