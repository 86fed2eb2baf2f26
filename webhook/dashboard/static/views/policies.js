/** Which policies and rules are in force, and what they do. */

import { ask } from "../page/ask.js";
import { h } from "../page/elements.js";
import { clock, duration, moment, number } from "../page/units.js";
import { listed, words, worded } from "../page/words.js";
import { facts, section, table } from "../parts/table.js";

const NARROW = 700; // pixels: below that a policy is one line, with the rest to unfold

function draw(answer, route, { width }) {
  return [
    h("div", { class: "heading" },
      h("h1", { tabindex: "-1" }, words().policies),
      h("p", { class: "quiet" }, words().inForceSince(moment(answer.at)))),
    answer.problem && h("div", { class: "notice", role: "alert" }, h("strong", {}, words().filesNotUsed), h("pre", { tabindex: 0 }, answer.problem)),
    facts([
      [words().digest, digest(answer.digest)],
      [words().countsSince, moment(answer.since)],
    ]),
    section(words().lastReload, reload(answer.reload)),
    section(words().policiesInForce(answer.policies.length),
      h("p", { class: "quiet" }, words().timedHint(number(answer.timedOf))), policyTable(answer.policies, width < NARROW)),
    section(words().queueRules, ruleTable(answer.rules)),
    section(words().exceptions, exceptionTable(answer)),
  ];
}

const digest = (text) => h("code", { title: text }, text.slice(0, "sha256:".length + 12));

/** As git writes them: enough to tell two apart. */
const shortDigest = (text) => h("small", { title: text }, text.slice("sha256:".length, "sha256:".length + 7));

const place = ({ file, line }) => file && h("code", { class: "place" }, line ? `${file}:${line}` : file);
const count = (field) => (row) => number(row[field] ?? 0);

/** Those that denied first, then those that changed something, then the others. */
function policyTable(rows, narrow) {
  const time = (field) => (row) => (row.timed ? words().micros(number(row[field] ?? 0)) : "–");
  const name = { head: words().name, kind: narrow ? "text" : null, cell: (row) => h("strong", {}, row.name) };
  const more = [
    { head: words().does, cell: (row) => (row.mutating ? words().changesObjects : words().checksObjects) },
    { head: words().fileAndDigest, kind: "text", cell: (row) => [place(row), " ", shortDigest(row.digest)] },
    { head: words().mode, cell: (row) => listed([worded("modes", row.mode), worded("failures", row.failurePolicy)]) },
  ];
  const counts = [
    { head: words().reviews, kind: "number", cell: count("evaluated") },
    { head: words().denied, kind: "number", cell: count("denied") },
    { head: words().changed, kind: "number", cell: count("changed") },
  ];
  const times = [
    { head: words().meanTime, kind: "number", cell: time("mean") },
    { head: words().slowest, kind: "number", cell: time("slowest") },
  ];
  const rank = (row) => [row.denied ?? 0, row.changed ?? 0];
  const sorted = [...rows].sort((one, other) => rank(other)[0] - rank(one)[0] || rank(other)[1] - rank(one)[1]);
  const columns = narrow ? [unfolded(name, [...more, ...times]), ...counts] : [name, ...more, ...counts, ...times];
  return table({ caption: words().policies, columns, rows: sorted, key: (row) => `${row.mutating} ${row.name}`, lines: narrow });
}

/** A column whose cells unfold what other columns would show. */
function unfolded(column, others) {
  const rest = (row) => facts(others.map(({ head, cell }) => [head, cell(row)]));
  return { ...column, cell: (row) => h("details", {}, h("summary", {}, column.cell(row)), rest(row)) };
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
  const changes = last.changes ?? [];
  return [
    h("p", { class: "quiet" }, moment(last.at), " · ", words().digestBefore, " ", digest(last.before)),
    changes.length
      ? h("ul", { class: "diff" }, changes.map(change))
      : h("p", { class: "quiet" }, words().otherFiles),
  ];
}

const SIGNS = { added: "+", removed: "−", changed: "~" };

function change({ change: what, kind, name, file, line }) {
  return h("li", {},
    h("span", { class: "sign", role: "img", "aria-label": worded("reloaded", what) }, SIGNS[what]),
    h("span", {}, h("strong", {}, name), " ", h("small", {}, kind), " ", place({ file, line })));
}

export const policies = {
  parts: ["policies"],
  load: (route, signal) => ask(["policies"], {}, signal),
  draw,
  title: () => words().policies,
  said: () => "",
};
