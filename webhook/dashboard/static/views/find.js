/** Queues and jobs whose name contains a text. */

import { ask } from "../page/ask.js";
import { h } from "../page/elements.js";
import { address } from "../page/route.js";
import { amounts } from "../page/units.js";
import { words, worded } from "../page/words.js";
import { jobLink } from "../parts/job_link.js";
import { section, table } from "../parts/table.js";

function draw({ queues, workloads }, { query }) {
  const columns = [
    { head: words().job, cell: jobLink },
    { head: words().state, cell: (row) => worded("states", row.state) },
    { head: words().queue, cell: (row) => row.clusterQueue && h("a", { href: address("queues", [row.clusterQueue]) }, row.clusterQueue) },
    { head: words().asks, cell: (row) => amounts(row.asks) },
  ];
  const found = queues.map((name) => h("li", {}, h("a", { href: address("queues", [name]) }, name)));
  return [
    h("div", { class: "heading" },
      h("h1", { tabindex: "-1" }, words().found(query.text ?? "")),
      h("p", { class: "quiet" }, words().foundHint)),
    section(words().queues, found.length ? h("ul", { class: "plain" }, found) : h("p", { class: "quiet" }, words().none)),
    section(words().jobs, table({ caption: words().jobs, columns, rows: workloads, key: (row) => `${row.namespace}/${row.name}` })),
  ];
}

export const find = {
  parts: [],
  load: ({ query }, signal) => ask(["find"], { text: query.text }, signal),
  draw,
  title: () => words().find,
  said: () => "",
};
