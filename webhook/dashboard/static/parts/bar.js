/** Bars of quota: what is used, held, borrowed and lent, told by pattern and number as well as by colour. */

import { h } from "../page/elements.js";
import { amount, short } from "../page/units.js";
import { words } from "../page/words.js";

const FIELDS = ["column", "nominal", "quota", "reserved", "used", "borrowed", "lent", "free", "most"];

/** A cell of the answer, which is an array, by the names of its fields. */
export function named(cell) {
  return Object.fromEntries(FIELDS.map((field, place) => [field, cell[place]]));
}

/** The parts of a bar from left to right, as shares of its width; the mark stands where the quota ends. */
export function segments({ quota, reserved, used, borrowed, lent }) {
  const width = Math.max(quota, reserved, 1);
  const own = reserved - borrowed;
  const taken = Math.min(used, own);
  const parts = [
    ["used", 0, taken],
    ["held", taken, own],
    ["borrowed", own, reserved],
    ["lent", Math.max(own, quota - lent), quota],
  ];
  return {
    mark: quota / width,
    parts: parts.map(([kind, from, to]) => ({ kind, from: from / width, size: Math.max(0, to - from) / width })),
  };
}

/** The bar alone: what it says stands beside it in words. */
export function bar(quota) {
  const { mark, parts } = segments(quota);
  return h("div", { class: "bar", "aria-hidden": "true" },
    parts.map(({ kind, from, size }) => h("i", { class: kind, style: { left: share(from), width: share(size) } })),
    h("b", { style: { left: share(mark) } }));
}

/** One line: flavor and resource, bar, and the numbers. */
export function quotaLine(cell, columns) {
  const quota = named(cell);
  const { flavor, resource } = columns[quota.column];
  const say = (value) => amount(resource, value);
  const extra = [
    quota.reserved > quota.used && words().heldPart(say(quota.reserved - quota.used)),
    quota.borrowed > 0 && words().borrowedPart(say(quota.borrowed)),
    quota.lent > 0 && words().lentPart(say(quota.lent)),
  ].filter(Boolean);
  return h("div", { class: "quota", "data-key": `${flavor}/${resource}` },
    h("span", { class: "what", title: `${flavor} · ${resource}` }, h("span", {}, short(resource)), " ", h("small", {}, flavor)),
    bar(quota),
    h("span", { class: "figures" }, h("strong", {}, say(quota.used)), ` / ${say(quota.quota)}`),
    h("span", { class: "extra" }, [...extra, freeIn(quota, say)].join(" · ")));
}

/** What one more job could get: of the queue's own quota, and with what others lend. */
function freeIn({ quota, reserved, free }, say) {
  const own = Math.max(0, quota - reserved);
  return free > own ? words().freeWithBorrowing(say(own), say(free)) : words().freePart(say(free));
}

/** What the patterns mean. */
export function legend() {
  const entry = (kind, text) => h("li", {}, h("i", { class: `swatch ${kind}`, "aria-hidden": "true" }), text);
  const { used, held, borrowed, lent, quotaMark } = words();
  return h("ul", { class: "legend", "aria-label": words().legend },
    entry("used", used), entry("held", held), entry("borrowed", borrowed), entry("lent", lent), entry("mark", quotaMark));
}

const share = (part) => `${(part * 100).toFixed(2)}%`;
