/** Plots of steps over time, drawn as SVG, with their numbers as a table below. */

import { h, s } from "../page/elements.js";
import { words } from "../page/words.js";
import { numberTop } from "./scale.js";
import { table } from "./table.js";

const HEIGHT = 180;
const LEFT = 52;
const RIGHT = 12;
const TOP = 10;
const BOTTOM = 26;
const TABLE_ROWS = 24;

/**
 * A plot. `series` are `{name, points: [[x, y], …]}`; a value holds until the next point, the last one until `to`. A
 * quota, `limit`, is drawn as a line across. `say.x` and `say.y` write values, `say.top` gives where a scale that holds a value
 * ends; `top` is what it holds at least.
 */
export function plot({ title, series, from, to, say, limit = 0, top = 2, width = 640 }) {
  const high = (say.top ?? numberTop)(Math.max(top, limit, ...series.flatMap(({ points }) => points.map(([, y]) => y))));
  const x = (value) => LEFT + ((value - from) / Math.max(1, to - from)) * (width - LEFT - RIGHT);
  const y = (value) => TOP + (1 - value / high) * (HEIGHT - TOP - BOTTOM);
  const frame = { from, to, high, x, y, width, say };
  const picture = s("svg", { class: "plot", viewBox: `0 0 ${width} ${HEIGHT}`, role: "img", "aria-label": summary(title, series, say) },
    ticksUp(frame), ticksAlong(frame),
    series.map((one, place) => curve(one, place, frame)),
    limit > 0 && limitLine(limit, frame)); // above the curves, which may reach over it
  return h("figure", { class: "figure" },
    h("figcaption", {}, h("strong", {}, title), series.length > 1 && series.map(({ name }, place) => lineKey(name, `curve curve-${place}`)),
      limit > 0 && lineKey(words().quotaMark, "limit")),
    picture, numbers(title, series, from, to, say));
}

/** The value that holds at `at`: that of the last point not after it, 0 before the first. */
export function valueAt(points, at) {
  let low = 0;
  let high = points.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (points[middle][0] <= at) low = middle + 1;
    else high = middle;
  }
  return low ? points[low - 1][1] : 0;
}

function curve({ points }, place, { to, x, y }) {
  if (!points.length) return null;
  const line = [`M${at(x(points[0][0]))} ${at(y(points[0][1]))}`];
  for (const [px, py] of points.slice(1)) line.push(`H${at(x(px))}V${at(y(py))}`);
  line.push(`H${at(x(to))}`);
  const area = `${line.join("")}V${at(y(0))}H${at(x(points[0][0]))}Z`;
  return [
    place === 0 && s("path", { class: "area", d: area }),
    s("path", { class: `curve curve-${place}`, d: line.join("") }),
  ];
}

function ticksUp({ high, y, width, say }) {
  return [0, 0.5, 1].map((part) => s("g", {},
    s("line", { class: "rule", x1: LEFT, x2: width - RIGHT, y1: y(high * part), y2: y(high * part) }),
    s("text", { x: LEFT - 6, y: y(high * part) + 4, "text-anchor": "end" }, say.y(high * part))));
}

function ticksAlong({ from, to, x, width, say }) {
  const many = width < 480 ? 2 : 4;
  const values = Array.from({ length: many + 1 }, (_, place) => from + ((to - from) * place) / many);
  return values.map((value, place) => {
    const anchor = place === 0 ? "start" : place === many ? "end" : "middle";
    const again = place > 0 && say.x(value) === say.x(values[place - 1]); // a short time has few minutes
    return !again && s("text", { x: x(value), y: HEIGHT - 8, "text-anchor": anchor }, say.x(value));
  });
}

function limitLine(limit, { y, width }) {
  return s("line", { class: "limit", x1: LEFT, x2: width - RIGHT, y1: y(limit), y2: y(limit) });
}

function lineKey(name, kind) {
  const line = s("svg", { class: "key", viewBox: "0 0 24 8", "aria-hidden": "true" },
    s("line", { class: kind, x1: 0, x2: 24, y1: 4, y2: 4 }));
  return h("span", {}, line, name);
}

function summary(title, series, say) {
  const parts = series.filter(({ points }) => points.length).map(({ name, points }) => {
    const values = points.map(([, value]) => value);
    return words().plotSummary(name, say.y(Math.min(...values)), say.y(Math.max(...values)), say.y(values.at(-1)));
  });
  return `${title}. ${parts.join(" ")}`;
}

function numbers(title, series, from, to, say) {
  const times = Array.from({ length: TABLE_ROWS }, (_, place) => from + ((to - from) * place) / (TABLE_ROWS - 1));
  const columns = [
    { head: words().time, cell: (time) => say.x(time) },
    ...series.map(({ name, points }) => ({ head: name, kind: "number", cell: (time) => say.y(valueAt(points, time)) })),
  ];
  return h("details", {}, h("summary", {}, words().asTable),
    table({ caption: title, columns, rows: times, key: (time) => String(time) }));
}

const at = (value) => value.toFixed(1);
