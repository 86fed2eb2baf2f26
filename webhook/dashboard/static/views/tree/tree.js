/** The tree as a grid that is walked with arrow keys. */

import { h } from "../../page/elements.js";
import { address, go } from "../../page/route.js";
import { said } from "../../page/sentences.js";
import { number } from "../../page/units.js";
import { words } from "../../page/words.js";
import { quotaLine } from "../../parts/bar.js";
import { isClosed, keyOf, layout, rowAt, turn } from "./rows.js";

const MARGIN = 400;

let cursor = ""; // the key of the row that Tab leads to

/** Draws the rows that are near the window, and the one that has the focus. */
export function tree(rows, columns, tools) {
  const tops = layout(rows, matchMedia("(max-width: 720px)").matches);
  const at = Math.max(0, rows.findIndex(({ node }) => keyOf(node) === cursor));
  const top = -(document.querySelector(".tree-body")?.getBoundingClientRect().top ?? 0);
  const first = rowAt(tops, top - MARGIN);
  const last = rowAt(tops, top + innerHeight + MARGIN);
  const places = new Set([at, ...Array.from({ length: last - first + 1 }, (_, place) => first + place)]);
  const body = [...places].sort((a, b) => a - b).map((place) => row(rows, place, tops, columns, place === at, tools));
  const keys = (event) => onKey(event, { rows, tops, at, tools });
  return h("div", { class: "tree", role: "treegrid", "aria-label": words().treeLabel, "aria-rowcount": rows.length + 1, onkeydown: keys },
    headings(),
    h("div", { class: "tree-body", role: "rowgroup", style: { height: `${tops.at(-1)}px` } }, body));
}

function headings() {
  const titles = [words().name, words().running, words().pending, words().quota];
  const heading = (title, place) => h("span", { role: "columnheader", class: place === 1 || place === 2 ? "number" : null }, title);
  return h("div", { class: "tree-head", role: "rowgroup" },
    h("div", { role: "row", class: "tree-row", "aria-rowindex": 1 }, titles.map(heading)));
}

function row(rows, place, tops, columns, isCursor, tools) {
  const { node, cells } = rows[place];
  const cohort = node.kind === "cohort";
  const box = { top: `${tops[place]}px`, height: `${tops[place + 1] - tops[place]}px`, "--depth": node.depth };
  return h("div", {
    role: "row", class: `tree-row ${node.kind}`, style: box, tabindex: isCursor ? 0 : -1,
    "data-key": keyOf(node), "aria-level": node.depth + 1, "aria-rowindex": place + 2,
    "aria-expanded": cohort ? String(!isClosed(node)) : null,
    onfocus: () => moveTo(node, tools),
  },
    h("div", { role: "gridcell", class: "node" }, cohort ? twist(node, tools) : null, title(node)),
    h("div", { role: "gridcell", class: "number", "data-head": words().running }, number(node.admitted ?? 0)),
    h("div", { role: "gridcell", class: "number", "data-head": words().pending }, pending(node)),
    h("div", { role: "gridcell", class: "cells" },
      node.inactive && h("p", { class: "inactive", title: said(node.inactive) }, words().inactive(said(node.inactive))),
      cells.map((cell) => quotaLine(cell, columns))));
}

function title(node) {
  if (node.kind === "cohort") return h("span", { class: "name", title: node.name }, h("small", {}, words().cohort), " ", node.name);
  return h("a", { class: "name", href: address("queues", [node.name]), tabindex: -1, title: node.name }, node.name);
}

function pending(node) {
  const waiting = node.pending ?? 0;
  return waiting ? h("strong", {}, number(waiting)) : "0";
}

function twist(node, tools) {
  const turned = () => {
    turn(node);
    tools.redraw();
  };
  return h("span", { class: "twist", "aria-hidden": "true", onclick: turned }, isClosed(node) ? "▸" : "▾");
}

function moveTo(node, tools) {
  if (cursor === keyOf(node)) return;
  cursor = keyOf(node);
  tools.redraw();
}

function onKey(event, { rows, tops, at, tools }) {
  const { node } = rows[at];
  const to = { ArrowDown: at + 1, ArrowUp: at - 1, PageDown: at + 10, PageUp: at - 10, Home: 0, End: rows.length - 1 }[event.key];
  if (to !== undefined) focusRow(rows, tops, Math.min(rows.length - 1, Math.max(0, to)), tools);
  else if (event.key === "Enter" && node.kind === "queue") go(address("queues", [node.name]));
  else if (event.key === "ArrowRight" && isClosed(node)) turned(node, true, tools);
  else if (event.key === "ArrowLeft" && node.kind === "cohort" && !isClosed(node)) turned(node, false, tools);
  else if (event.key === "ArrowLeft") focusRow(rows, tops, parentOf(rows, at), tools);
  else return;
  event.preventDefault();
}

function turned(node, open, tools) {
  turn(node, open);
  tools.redraw();
}

function parentOf(rows, at) {
  const depth = rows[at].node.depth;
  for (let place = at; place >= 0; place -= 1) if (rows[place].node.depth < depth) return place;
  return at;
}

function focusRow(rows, tops, place, tools) {
  cursor = keyOf(rows[place].node);
  const body = document.querySelector(".tree-body").getBoundingClientRect().top;
  const [top, bottom] = [body + tops[place], body + tops[place + 1]];
  const heading = document.querySelector(".tree-head").getBoundingClientRect();
  const covered = Math.max(0, document.getElementById("frame").getBoundingClientRect().bottom) + heading.height;
  if (top < covered) scrollBy({ top: top - covered, behavior: "instant" });
  else if (bottom > innerHeight) scrollBy({ top: bottom - innerHeight, behavior: "instant" });
  tools.redraw();
  document.querySelector(`[data-key="${CSS.escape(cursor)}"]`)?.focus({ preventScroll: true });
}
