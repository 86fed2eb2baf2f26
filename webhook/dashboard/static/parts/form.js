/** Forms whose settings go into the address, so that an answer can be sent to somebody else. */

import { h } from "../page/elements.js";
import { go, withQuery } from "../page/route.js";
import { words } from "../page/words.js";

/** A labelled input; `hint` stands below it. */
export function field(name, label, value, { hint, ...attributes } = {}) {
  const described = hint ? { "aria-describedby": `${name}-hint` } : {};
  return h("p", { class: "field" },
    h("label", { for: name }, label),
    h("input", { id: name, name, value, autocomplete: "off", spellcheck: "false", ...described, ...attributes }),
    hint && h("small", { id: `${name}-hint` }, hint));
}

/** A labelled choice of `[value, text]`. */
export function choice(name, label, value, options, attributes = {}) {
  const option = ([key, text]) => h("option", { value: key, selected: key === value }, text);
  return h("p", { class: "field" },
    h("label", { for: name }, label),
    h("select", { id: name, name, ...attributes }, options.map(option)));
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
