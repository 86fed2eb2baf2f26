/** Which nodes of the tree are shown, and where each stands, in pixels from the tree's top. */

import { named } from "../../parts/bar.js";

const WIDE = { head: 0, line: 24, least: 1, pad: 13 };
const NARROW = { head: 28, line: 42, least: 0, pad: 15 };

const closed = new Set();

/** A node's name among all: a cohort and a queue may be called alike. */
export const keyOf = (node) => `${node.kind}:${node.name}`;

export const isClosed = (node) => closed.has(keyOf(node));

/** Opens or closes a cohort; `open` says which, else it is turned. */
export function turn(node, open = isClosed(node)) {
  if (open) closed.delete(keyOf(node));
  else closed.add(keyOf(node));
}

/**
 * The nodes to draw, in order, each with the cells of the columns that are asked for (null: all). A filter keeps nodes
 * whose name contains it, with the cohorts above them and everything below them; then nothing is closed.
 */
export function visible(nodes, filter, columns) {
  const wanted = filter ? matching(nodes, filter.toLowerCase()) : open(nodes);
  return wanted.map((node) => ({ node, cells: shown(node.cells ?? [], columns) }));
}

function shown(cells, columns) {
  return columns ? cells.filter((cell) => columns.has(named(cell).column)) : cells;
}

function open(nodes) {
  let hidden = Infinity; // deeper than this is inside of a closed cohort
  return nodes.filter((node) => {
    if (node.depth > hidden) return false;
    hidden = isClosed(node) ? node.depth : Infinity;
    return true;
  });
}

function matching(nodes, text) {
  const kept = new Set();
  const path = [];
  let inside = Infinity;
  for (const node of nodes) {
    path.length = node.depth;
    path[node.depth] = node;
    if (node.depth <= inside) inside = node.name.toLowerCase().includes(text) ? node.depth : Infinity;
    if (inside !== Infinity) path.forEach((above) => kept.add(above));
  }
  return nodes.filter((node) => kept.has(node));
}

/** Tops of the rows, and after the last its bottom: row `i` goes from `tops[i]` to `tops[i + 1]`. */
export function layout(rows, narrow) {
  const { head, line, least, pad } = narrow ? NARROW : WIDE;
  const tops = [0];
  for (const { node, cells } of rows) {
    const lines = Math.max(least, cells.length + (node.inactive ? 1 : 0));
    tops.push(tops.at(-1) + head + lines * line + pad);
  }
  return tops;
}

/** The first row whose bottom is below `edge`. */
export function rowAt(tops, edge) {
  let low = 0;
  let high = tops.length - 2;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (tops[middle + 1] > edge) high = middle;
    else low = middle + 1;
  }
  return low;
}
