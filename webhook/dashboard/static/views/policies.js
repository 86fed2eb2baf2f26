/** Which policies and rules are in force, and what they do. */

import { ask } from "../page/ask.js";
import { h } from "../page/elements.js";
import { clock, duration, moment, number } from "../page/units.js";
import { listed, words, worded } from "../page/words.js";
import { facts, section, table } from "../parts/table.js";

function draw(answer) {
  return [
    h("div", { class: "heading" },
      h("h1", { tabindex: "-1" }, words().policies),
      h("p", { class: "quiet" }, words().inForceSince(moment(answer.at)))),
    answer.problem && h("div", { class: "notice", role: "alert" }, h("strong", {}, words().filesNotUsed), h("pre", { tabindex: 0 }, answer.problem)),
    facts([
      [words().digest, h("code", {}, answer.digest)],
      [words().countsSince, moment(answer.since)],
    ]),
    section(words().policiesInForce(answer.policies.length), policyTable(answer.policies)),
    section(words().queueRules, ruleTable(answer.rules)),
    section(words().exceptions, exceptionTable(answer)),
    section(words().lastReload, reload(answer.reload)),
  ];
}

const place = ({ file, line }) => file && h("code", { class: "place" }, line ? `${file}:${line}` : file);
const count = (field) => (row) => number(row[field] ?? 0);

function policyTable(rows) {
  const time = (field) => (row) => (row.timed ? words().micros(number(row[field] ?? 0)) : "–");
  const columns = [
    { head: words().name, cell: (row) => h("strong", {}, row.name) },
    { head: words().does, cell: (row) => (row.mutating ? words().changesObjects : words().checksObjects) },
    { head: words().file, kind: "text", cell: place },
    { head: words().mode, cell: (row) => listed([worded("modes", row.mode), worded("failures", row.failurePolicy)]) },
    { head: words().reviews, kind: "number", cell: count("evaluated") },
    { head: words().denied, kind: "number", cell: count("denied") },
    { head: words().changed, kind: "number", cell: count("changed") },
    { head: words().meanTime, kind: "number", cell: time("mean") },
    { head: words().slowest, kind: "number", cell: time("slowest") },
  ];
  return table({ caption: words().policies, columns, rows, key: (row) => `${row.mutating} ${row.name}` });
}

function ruleTable(rows) {
  const columns = [
    { head: words().name, cell: (row) => h("strong", {}, row.name) },
    { head: words().file, kind: "text", cell: (row) => place({ file: row.file ?? "" }) || words().shipped },
  ];
  return table({ caption: words().queueRules, columns, rows, key: (row) => row.name, empty: words().noRules });
}

function exceptionTable({ exceptions = [] }) {
  const now = Date.now();
  const ends = (row) => {
    if (row.disabled) return words().disabled;
    if (row.expires <= now) return words().expired(moment(row.expires));
    return words().inTime(duration(row.expires - now), clock(row.expires, now));
  };
  const columns = [
    { head: words().name, cell: (row) => h("strong", {}, row.name) },
    { head: words().exceptFrom, cell: (row) => listed(row.policies) },
    { head: words().namespaces, cell: (row) => listed(row.namespaces) || words().all },
    { head: words().because, kind: "text", cell: (row) => row.reason },
    { head: words().endsAt, cell: ends },
    { head: words().file, cell: place },
  ];
  return table({ caption: words().exceptions, columns, rows: exceptions, key: (row) => `${row.file}:${row.line}`, empty: words().noExceptions });
}

function reload(last) {
  if (!last) return h("p", { class: "quiet" }, words().neverReloaded);
  return facts([
    [words().time, moment(last.at)],
    [words().digestBefore, h("code", {}, last.before)],
    [words().added, listed(last.added)],
    [words().removed, listed(last.removed)],
    [words().otherNow, listed(last.changed)],
  ]);
}

export const policies = {
  parts: ["policies"],
  load: (route, signal) => ask(["policies"], {}, signal),
  draw,
  title: () => words().policies,
  said: () => "",
};
