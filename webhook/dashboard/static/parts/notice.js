/** What the server refused, in the reader's words. */

import { h } from "../page/elements.js";
import { said } from "../page/sentences.js";
import { words } from "../page/words.js";

/** A notice that a screen reader hears at once. */
export function notice({ status, message }) {
  const sentence = words().refused[status] ?? words().refused.other;
  return h("div", { class: "notice", role: "alert" }, h("p", {}, sentence), message && h("p", {}, said(message)));
}

/** The same for a question of a form: nothing where the message stands beside a field. */
export function formNotice(problem, names) {
  return problem && !names.some((name) => problem.fields[name]) && notice(problem);
}
