/** All cohorts and queues as a tree, of which only what is on the screen is drawn. */

import { ask } from "../page/ask.js";
import { h } from "../page/elements.js";
import { withQuery } from "../page/route.js";
import { number } from "../page/units.js";
import { words } from "../page/words.js";
import { legend } from "../parts/bar.js";
import { visible } from "./tree/rows.js";
import { tree } from "./tree/tree.js";

const PAGE = 2000;

/** The whole tree, put together from as many answers as it takes. */
async function load(route, signal) {
  const whole = await ask(["cluster"], { offset: 0, limit: PAGE }, signal);
  const nodes = [...whole.nodes];
  while (nodes.length < whole.total) {
    const next = await ask(["cluster"], { offset: nodes.length, limit: PAGE }, signal);
    if (!next.nodes.length) break;
    nodes.push(...next.nodes);
  }
  return { ...whole, nodes };
}

function draw(answer, route, tools) {
  const { filter = "", resource = "" } = route.query;
  const rows = visible(answer.nodes, filter, columnsOf(answer.columns, resource));
  const queues = answer.nodes.filter(({ kind }) => kind === "queue");
  const sum = (field) => number(queues.reduce((total, node) => total + (node[field] ?? 0), 0));
  return [
    h("div", { class: "heading" },
      h("h1", { tabindex: "-1" }, words().cluster),
      h("p", { class: "quiet" }, words().clusterSummary(number(queues.length), sum("admitted"), sum("pending")))),
    toolbar(answer, route, tools),
    rows.length
      ? tree(rows, answer.columns, tools)
      : h("p", { class: "notice" }, filter ? words().nothingMatches(filter) : words().noQueues),
  ];
}

function toolbar(answer, route, tools) {
  const resources = [...new Set(answer.columns.map(({ resource }) => resource))];
  const chosen = (name) => (event) => tools.restate(withQuery(route, { [name]: event.target.value }));
  const { filter = "", resource = "" } = route.query;
  return h("div", { class: "toolbar" },
    h("p", { class: "field" },
      h("label", { for: "filter" }, words().filter),
      h("input", { id: "filter", type: "search", value: filter, autocomplete: "off", spellcheck: "false",
        "aria-keyshortcuts": "/", placeholder: words().filterHint, oninput: chosen("filter") })),
    resources.length > 1 && h("p", { class: "field" },
      h("label", { for: "resource" }, words().resource),
      h("select", { id: "resource", onchange: chosen("resource") },
        ["", ...resources].map((value) => h("option", { value, selected: value === resource }, value || words().all)))),
    legend());
}

/** The places of the columns that are shown; null is all of them. */
function columnsOf(columns, resource) {
  if (!columns.some((column) => column.resource === resource)) return null;
  return new Set(columns.flatMap((column, place) => (column.resource === resource ? [place] : [])));
}

export const cluster = {
  parts: ["cluster"],
  follows: true,
  load,
  draw,
  title: () => words().cluster,
  said: (answer) => words().clusterSaid(number(answer.nodes.reduce((n, { kind, pending }) => n + (kind === "queue" ? pending ?? 0 : 0), 0))),
};
