/** One job: its life as a line, what decides about it now, and how it would stand otherwise. */

import { ask } from "../page/ask.js";
import { h } from "../page/elements.js";
import { address } from "../page/route.js";
import { said } from "../page/sentences.js";
import { ahead, amounts, duration, moment, number } from "../page/units.js";
import { listed, words, worded } from "../page/words.js";
import { facts, section, table } from "../parts/table.js";
import { life } from "./job/life.js";
import { shortages } from "./job/shortages.js";
import { asked, whatIf } from "./job/what_if.js";

/** The job, and the answer to what the address asks beside it; that one is not asked again when the job changes. */
async function load({ path, query }, signal, before) {
  const workload = await ask(["workloads", ...path.slice(0, 2)], { kind: query.kind }, signal);
  const question = asked(query);
  const key = JSON.stringify(question);
  if (before?.key === key) return { ...before, workload, revision: workload.revision };
  const other = question && (await ask(["workloads", ...path.slice(0, 2), "what-if"], question, signal));
  return { workload, key, other, revision: workload.revision };
}

function draw({ workload: answer, other }, route) {
  const { workload: row, at } = answer;
  const queue = row.clusterQueue && h("a", { href: address("queues", [row.clusterQueue]) }, row.clusterQueue);
  return [
    h("div", { class: "heading" },
      h("p", { class: "trail" }, h("a", { href: address("cluster") }, words().cluster), queue && [" / ", queue]),
      h("h1", { tabindex: "-1" }, row.job || row.name),
      h("p", { class: "quiet" }, words().inNamespace(row.namespace))),
    standing(answer),
    section(words().life, life(answer)),
    waits(answer),
    section(words().podSets, podSets(answer)),
    section(words().aboutJob, facts([
      [words().workload, row.name],
      [words().localQueue, row.localQueue],
      [words().user, row.user],
      [words().priority, String(row.priority ?? 0)],
      [words().asks, amounts(row.asks)],
      [words().created, moment(row.created)],
      [words().holdsSince, moment(row.since)],
      [words().ends, row.ends ? ahead(row.ends, at) : ""],
    ])),
    waitsForQuota(row) && section(words().whatIf, whatIf(answer, other, route)),
  ];
}

const waitsForQuota = (row) => Boolean(row.place || row.position || row.reason);

/** In one sentence: where it stands. */
function standing({ workload: row, ahead: before = 0, at }) {
  const parts = [h("strong", { class: "state" }, worded("states", row.state))];
  if (row.position) parts.push(words().positionOf(number(row.position), number(before)));
  if (row.created && waitsForQuota(row)) parts.push(words().waitsSince(duration(at - row.created)));
  if (waitsForQuota(row)) parts.push(words().startsAt(row.start ? ahead(row.start, at) : words().unknown));
  return h("p", { class: "standing" }, parts.flatMap((part, place) => (place ? [" · ", part] : [part])));
}

function waits(answer) {
  const { workload: row, rule } = answer;
  if (!waitsForQuota(row)) return null;
  return section(words().whyWaits,
    h("p", {}, h("strong", {}, worded("reasons", row.reason ?? "")), row.message && h("span", { class: "message" }, said(row.message))),
    rule && h("figure", { class: "clause" },
      h("figcaption", {}, words().decidedBy, " ", h("strong", {}, rule.rule), " · ", worded("points", rule.point),
        rule.file && h("small", {}, ` ${rule.file}${rule.line ? `:${rule.line}` : ""}`)),
      rule.text && h("pre", { tabindex: 0, role: "region", "aria-label": words().clause }, h("code", {}, rule.text))),
    shortages(answer.shortages ?? [], answer.at, row.clusterQueue));
}

function podSets({ podSets: rows }) {
  const columns = [
    { head: words().name, cell: (row) => row.name },
    { head: words().pods, kind: "number", cell: (row) => (row.minCount ? words().podsLeast(row.count, row.minCount) : String(row.count)) },
    { head: words().asksEach, cell: (row) => amounts(row.requests) },
    { head: words().flavors, cell: (row) => listed(Object.entries(row.flavors ?? {}).map(([resource, flavor]) => `${resource}: ${flavor}`)) },
  ];
  return table({ caption: words().podSets, columns, rows, key: (row) => row.name });
}

export const job = {
  parts: ["workloads"],
  load,
  draw,
  title: (route) => route.path[1],
  said: ({ workload: { workload: row } }) => worded("states", row.state),
};
