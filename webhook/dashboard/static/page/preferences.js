/** What a reader chose, kept in this browser where it keeps anything. */

function read(name) {
  try {
    return localStorage.getItem(`sluice.${name}`) ?? "";
  } catch {
    return "";
  }
}

function write(name, value) {
  try {
    localStorage.setItem(`sluice.${name}`, value);
  } catch {
    // Storage is switched off: the choice holds until the page is left.
  }
}

export const THEMES = ["", "light", "dark"];

/** `light`, `dark`, or empty for what the system says. */
export function theme() {
  return document.documentElement.dataset.theme ?? "";
}

export function chooseTheme(value) {
  if (value) document.documentElement.dataset.theme = value;
  else delete document.documentElement.dataset.theme;
  write("theme", value);
}

/** The language that was chosen, else the first of the browser's that there is, else English. */
export function language(known) {
  const wanted = [read("language"), ...navigator.languages.map((tag) => tag.split("-")[0])];
  return wanted.find((tag) => known.includes(tag)) ?? "en";
}

export function chooseLanguage(value) {
  write("language", value);
}
