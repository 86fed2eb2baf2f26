/** One job: its life as a line, what decides about it now, and how it would stand otherwise. */

import { ask, tried } from "../page/ask.js";
import { h } from "../page/elements.js";
import { address } from "../page/route.js";
import { said } from "../page/sentences.js";
import { ahead, amounts, clock, duration, moment, number } from "../page/units.js";
import { listed, words, worded } from "../page/words.js";
import { facts, section, table } from "../parts/table.js";
import { life, spansOf } from "./job/life.js";
import { shortages } from "./job/shortages.js";
import { asked, place, whatIf } from "./job/what_if.js";

/** The job, and the answer to what the address asks beside it; that one is not asked again when the job changes. */
async function load({ path, query }, signal, before, show) {
  const workload = await ask(["workloads", ...path.slice(0, 2)], { kind: query.kind }, signal);
  const question = asked(query);
  const key = JSON.stringify(question);
  const shown = { workload, key, other: {}, start: before?.start, revision: workload.revision };
  const again = before?.key === key;
  if (!waitsForQuota(workload.workload)) return shown;
  show({ ...shown, other: again ? before.other : {}, key: again ? key : "" });
  const about = (what, more) => tried(ask(["workloads", ...path.slice(0, 2), what], { ...more, kind: query.kind }, signal));
  const { answer: start } = await about("start");
  if (again) return { ...shown, other: before.other, start };
  return { ...shown, other: question ? await about("what-if", question) : {}, start };
}

function draw({ workload: told, other, start }, route) {
  const answer = { ...told, workload: { ...told.workload, ...shownOf(start) } };
  const { workload: row, at } = answer;
  const queue = row.clusterQueue && queueLink(row.clusterQueue);
  return [
    h("div", { class: "heading" },
      h("p", { class: "trail" }, h("a", { href: address("cluster") }, words().cluster), queue && [" / ", queue]),
      h("h1", { tabindex: "-1" }, row.job || row.name),
      h("p", { class: "quiet" }, words().inNamespace(row.namespace))),
    standing(answer),
    pending(answer),
    waitsForQuota(row) && section(words().whatIf, whatIf(answer, other, route)),
    section(words().life, life(answer)),
    section(words().podSets, podSets(answer)),
    section(words().aboutJob, facts([
      [words().workload, row.name],
      [words().localQueue, row.localQueue],
      [words().user, row.user],
      [words().priority, String(row.priority ?? 0)],
      [words().asks, amounts(row.asks)],
      [words().created, moment(row.created)],
      [words().holdsSince, waitsForQuota(row) ? "" : moment(row.since)],
      [words().ends, row.ends ? ahead(row.ends, at) : ""],
      [words().ended, moment(row.ended)],
      [words().outcome, worded("outcomes", row.outcome ?? "")],
    ])),
  ];
}

const queueLink = (name) => h("a", { href: address("queues", [name]) }, name);

/** What a forecast knows of the start; nothing while there is none. */
const shownOf = (start) => (start ? { start: start.start, startUnknown: start.startUnknown } : {});

const waitsForQuota = (row) => Boolean(row.place || row.position || row.reason);

/** In one sentence: where it stands, since when, and until when. */
function standing(answer) {
  const { workload: row, at } = answer;
  const parts = [h("strong", { class: "state" }, worded("states", row.state)), ...(waitsForQuota(row) ? waiting(row, at) : running(answer))];
  return h("p", { class: "standing" }, parts.flatMap((part, number) => (number ? [" · ", part] : [part])));
}

function waiting(row, at) {
  return [
    row.position && place(row.position),
    row.since && words().waitsSince(duration(at - row.since)),
    row.start ? words().startsAt(ahead(row.start, at)) : words().startUnknown(said(row.startUnknown ?? "")),
  ].filter(Boolean);
}

function running({ workload: row, at, events = [] }) {
  const runs = spansOf(events, row.ended || at).filter(({ what }) => what === "runs").at(-1);
  return [
    row.ended && row.outcome && worded("outcomes", row.outcome),
    row.ended && words().endedAt(clock(row.ended, at)),
    runs ? runFor(runs, row) : row.since && duration((row.ended || at) - row.since),
    row.ends && !row.ended && words().expectedEnd(ahead(row.ends, at)),
  ].filter(Boolean);
}

const runFor = ({ from, to }, { ended }) => (ended ? words().ran(duration(to - from)) : duration(to - from));

function pending(answer) {
  const { workload: row, rule } = answer;
  if (!waitsForQuota(row)) return null;
  return section(words().why,
    h("p", {}, h("strong", {}, worded("reasons", row.reason ?? "")), row.message && h("span", { class: "message" }, said(row.message))),
    shortages(answer.shortages ?? [], answer.at, row.clusterQueue),
    row.position > 1 && h("p", { class: "quiet" }, words().aheadFirst(number(row.position - 1), queueLink(row.clusterQueue))),
    rule && clause(rule));
}

/** The rule that decides: where it is written, what it saw and gave; its text on demand. */
function clause({ rule, point, text, file, line, values = [] }) {
  return h("figure", { class: "clause" },
    h("figcaption", {}, words().decidedBy(h("strong", {}, rule)), " · ", worded("points", point),
      file && h("small", {}, ` ${file}${line ? `:${line}` : ""}`)),
    values.length > 0 && h("ul", { class: "values" }, values.map(seen)),
    text && h("details", {}, h("summary", {}, words().showClause),
      h("pre", { tabindex: 0, role: "region", "aria-label": words().clause }, h("code", {}, text))));
}

function seen({ node, parts, result, worked }) {
  return h("li", {}, node && [h("strong", {}, node), " "],
    parts.map(([part, value]) => [h("code", {}, `${part} = ${value}`), " "]), h("strong", {}, worked ? `${worked} = ${result}` : words().gives(result)));
}

function podSets({ podSets: rows }) {
  const columns = [
    { head: words().name, cell: (row) => row.name },
    { head: words().pods, kind: "number", cell: (row) => (row.minCount ? words().podsLeast(row.count, row.minCount) : String(row.count)) },
    { head: words().asksEach, cell: (row) => amounts(row.requests) },
    { head: words().flavors, cell: (row) => listed(Object.entries(row.flavors ?? {}).map(([resource, flavor]) => `${resource}: ${flavor}`)) || "–" },
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
