/** A question to the queue's core: how would this job stand with fewer GPUs, in another queue, at another priority? */

import { h } from "../../page/elements.js";
import { said } from "../../page/sentences.js";
import { ahead, amount, number, took as quick } from "../../page/units.js";
import { listed, words, worded } from "../../page/words.js";
import { choice, field, queryForm } from "../../parts/form.js";
import { jobRefs } from "../../parts/job_link.js";
import { formNotice } from "../../parts/notice.js";
import { shortages } from "./shortages.js";

const SETTINGS = ["gpus", "resource", "queue", "priority"];

/** The question that an address asks, null where it asks none. */
export function asked(query) {
  const given = SETTINGS.filter((name) => query[name]);
  return given.some((name) => name !== "resource") ? Object.fromEntries(given.map((name) => [name, query[name]])) : null;
}

/** The form, and the two outlooks side by side where something was asked; or what is wrong with the question. */
export function whatIf(answer, { answer: other, problem }, route) {
  const { workload: row, localQueues = [] } = answer;
  const resources = Object.keys(row.asks ?? {});
  const { query } = route;
  const resource = query.resource || resources.find((name) => name.includes("gpu")) || resources[0] || "";
  const wrong = (name) => problem?.fields[name];
  const read = (values) => ({ ...values, resource: values.gpus ? values.resource : "" });
  return [
    h("p", { class: "quiet" }, words().whatIfHint),
    queryForm(route, words().whatIf, [
      choice("resource", words().resource, resource, resources.map((name) => [name, name]), { problem: wrong("resource") }),
      field("gpus", words().newAmount, query.gpus ?? "", { placeholder: quantity(amount(resource, row.asks?.[resource] ?? 0)), problem: wrong("gpus") }),
      choice("queue", words().localQueue, query.queue ?? "", [["", words().unchanged], ...others(localQueues, row.localQueue)], { problem: wrong("queue") }),
      field("priority", words().priority, query.priority ?? "", { placeholder: String(row.priority ?? 0), inputmode: "numeric", problem: wrong("priority") }),
    ], read),
    formNotice(problem, SETTINGS),
    other && outlooks(other, answer.at), // what it lacks as it is stands above
  ];
}

/** An amount as the server reads it: `64Gi`, not `64 Gi` or `1,000`. */
const quantity = (written) => written.replaceAll(/[\s,]/g, "");

const others = (queues, own) => queues.filter((name) => name !== own).map((name) => [name, name]);

function outlooks({ changed, now, then, took = 0, partial }, at) {
  return h("div", { "aria-live": "polite" },
    h("div", { class: "sides" }, outlook(words().asItIs, { ...now, shortages: [] }, at), outlook(said(changed), then, at)),
    h("p", { class: "quiet" }, words().answeredIn(quick(took)), partial && ` ${words().partialOutlook}`));
}

/** Where a job stands in its queue. */
export const place = (position) => (position === 1 ? words().nextInLine : words().positionOf(number(position), number(position - 1)));

function outlook(title, { admitted, clusterQueue, flavors = {}, position, reason, message, start, startUnknown, preempts = [], shortages: lacks = [] }, at) {
  return h("section", { class: "side" },
    h("h3", {}, title),
    h("p", {}, h("strong", { class: "state" }, admitted ? words().wouldRun(clusterQueue) : words().wouldWait(clusterQueue))),
    admitted && h("p", {}, listed(Object.entries(flavors).map(([name, flavor]) => `${name}: ${flavor}`))),
    preempts.length > 0 && h("p", {}, words().wouldPreempt, " ", jobRefs(preempts)),
    position > 0 && h("p", {}, place(position)),
    reason && h("p", {}, worded("reasons", reason), message && h("span", { class: "message" }, said(message))),
    !admitted && h("p", {}, start ? words().startsAt(ahead(start, at)) : words().startUnknown(said(startUnknown))),
    shortages(lacks, at, clusterQueue));
}
