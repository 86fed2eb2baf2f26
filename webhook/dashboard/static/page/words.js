/** The words of the page in the reader's language. */

import { language } from "./preferences.js";
import en from "../words/en.js";
import zh from "../words/zh.js";

export const LANGUAGES = { en, zh };

let tongue = language(Object.keys(LANGUAGES));

/** The language in use, as `lang` of the page. */
export const lang = () => tongue;

/** The words in use: texts, and functions that give one. */
export const words = () => LANGUAGES[tongue];

export function speak(value) {
  tongue = value;
}

/** Several things in one line. */
export const listed = (items) => (items ?? []).join(words().comma);

/** The same of nodes; nothing where there are none. */
export const joined = (nodes) => (nodes.length ? nodes.flatMap((node, place) => (place ? [words().comma, node] : [node])) : "");

/** A word of the server in the reader's language; itself where there is no word for it. */
export function worded(kind, value) {
  const known = words()[kind];
  return Object.hasOwn(known, value) ? known[value] : value;
}
