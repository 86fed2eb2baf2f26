/** Tables, lists of facts, and the line that leads through their pages. */

import { h } from "../page/elements.js";
import { number } from "../page/units.js";
import { words } from "../page/words.js";

/**
 * A table. A column is `{head, cell(row), kind}`: `kind` is `number`, `text` (takes what room there is) or nothing. On a
 * narrow screen each row is a card, or with `lines` a line as elsewhere; its roles are said outright, which blocks lack.
 */
export function table({ caption, columns, rows, key, empty, lines = false }) {
  if (!rows.length) return h("p", { class: "quiet" }, empty ?? words().none);
  const headings = columns.map(({ head, kind }) => h("th", { scope: "col", role: "columnheader", class: kind }, head));
  const cells = (row) => columns.map((column) => cell(column, row));
  return h("table", { role: "table", class: lines ? "list lines" : "list", onkeydown: alongRows },
    h("caption", { class: "unseen" }, caption),
    h("thead", { role: "rowgroup" }, h("tr", { role: "row" }, headings)),
    h("tbody", { role: "rowgroup" }, rows.map((row) => h("tr", { role: "row", "data-key": key(row) }, cells(row)))));
}

function cell({ head, cell: content, kind }, row) {
  const value = content(row);
  const nothing = value === "" || value === null || value === undefined;
  return h("td", { role: "cell", class: kind, "data-head": head, "data-empty": nothing }, value);
}

/** Up and down arrows go from a row's first link to the next row's; Home and End to the first and the last. */
function alongRows(event) {
  const row = event.target.closest("tbody tr");
  if (!row) return;
  const rows = [...row.parentNode.children];
  const at = rows.indexOf(row);
  const to = { ArrowDown: at + 1, ArrowUp: at - 1, Home: 0, End: rows.length - 1 }[event.key];
  const link = rows[to]?.querySelector("a, button");
  if (!link) return;
  event.preventDefault();
  link.focus();
}

/** Facts of one thing, as terms and what they are; those that are empty are left out. */
export function facts(pairs) {
  const given = pairs.filter(([, value]) => value !== "" && value !== null && value !== undefined);
  return h("dl", { class: "facts" }, given.map(([term, value]) => h("div", {}, h("dt", {}, term), h("dd", {}, value))));
}

/** Links to the pages before and after; nothing where there is one page. `to(offset)` gives an address. */
export function pager({ offset, size, total, shown, label, to }) {
  if (offset === 0 && shown >= total) return null;
  const step = (text, at, known) => known
    ? h("a", { href: to(at) }, text)
    : h("span", { class: "quiet", "aria-disabled": "true" }, text);
  const range = words().range(number(offset + Math.min(1, shown)), number(offset + shown), number(total));
  return h("nav", { class: "pager", "aria-label": label },
    step(words().previous, Math.max(0, offset - size), offset > 0),
    h("span", {}, range),
    step(words().next, offset + size, offset + shown < total));
}

/** A titled part of a view. */
export function section(title, ...children) {
  return h("section", { class: "part" }, h("h2", {}, title), children);
}
