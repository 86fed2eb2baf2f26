/** Sentences of the server in the reader's language, by the templates that they are made from. */

import zh from "../words/zh_sentences.js";
import { lang } from "./words.js";

const TEMPLATES = { zh: compiled(zh) };

/** `[pattern, words]` of each, the one with the most letters of its own first. */
function compiled(templates) {
  const own = (template) => template.replaceAll("{}", "").length;
  return Object.entries(templates)
    .sort(([one], [other]) => own(other) - own(one))
    .map(([template, text]) => [pattern(template), text]);
}

function pattern(template) {
  const parts = template.split("{}").map((part) => part.replace(/[.*+?^${}()|[\]\\]/g, "\\$&"));
  return new RegExp(`^${parts.join("(.+?)")}$`, "s");
}

/** The sentence, or several with `; ` between; one that no template makes stays as it is. */
export function said(text) {
  const templates = TEMPLATES[lang()];
  return templates && text ? text.split("; ").map((sentence) => one(sentence, templates)).join("；") : text;
}

/** The values may be sentences too. */
function one(sentence, templates) {
  for (const [shape, written] of templates) {
    const values = shape.exec(sentence)?.slice(1);
    if (values) return written.replaceAll("{}", () => one(values.shift(), templates));
  }
  return sentence;
}
