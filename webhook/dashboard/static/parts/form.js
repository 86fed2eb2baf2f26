/** Forms whose settings go into the address, so that an answer can be sent to others. */

import { h } from "../page/elements.js";
import { go, withQuery } from "../page/route.js";
import { said } from "../page/sentences.js";
import { words } from "../page/words.js";

/** A labelled input; `hint` stands below it, and `problem`, which says what is wrong with its value. */
export function field(name, label, value, { hint, problem, ...attributes } = {}) {
  return labelled(name, label, hint, problem,
    (described) => h("input", { id: name, name, value, autocomplete: "off", spellcheck: "false", ...described, ...attributes }));
}

/** A labelled choice of `[value, text]`. */
export function choice(name, label, value, options, { problem, ...attributes } = {}) {
  const option = ([key, text]) => h("option", { value: key, selected: key === value }, text);
  return labelled(name, label, "", problem,
    (described) => h("select", { id: name, name, ...described, ...attributes }, options.map(option)));
}

function labelled(name, label, hint, problem, control) {
  const ids = [hint && `${name}-hint`, problem && `${name}-problem`].filter(Boolean).join(" ");
  const described = { "aria-describedby": ids || null, "aria-invalid": problem ? "true" : null };
  return h("p", { class: "field" },
    h("label", { for: name }, label), control(described),
    problem && h("small", { id: `${name}-problem`, class: "problem", role: "alert" }, said(problem)),
    hint && h("small", { id: `${name}-hint` }, hint));
}

/** A form that puts its fields into the route's query; `read` says which of them where not all. */
export function queryForm(route, label, children, read = (values) => values) {
  const submit = (event) => {
    event.preventDefault();
    const values = Object.fromEntries([...new FormData(event.target)].map(([name, value]) => [name, value.trim()]));
    go(withQuery(route, read(values)));
  };
  return h("form", { class: "form", "aria-label": label, onsubmit: submit }, children,
    h("p", { class: "field" }, h("button", { type: "submit" }, words().compare)));
}
