/** One queue: its quota, who waits and who runs, and what it was like. */

import { ask, tried } from "../page/ask.js";
import { h, whole } from "../page/elements.js";
import { address, withQuery } from "../page/route.js";
import { said } from "../page/sentences.js";
import { ahead, amount, amounts, clock, duration, isBytes, number } from "../page/units.js";
import { joined, words, worded } from "../page/words.js";
import { legend, quotaLine } from "../parts/bar.js";
import { jobLink } from "../parts/job_link.js";
import { plot } from "../parts/plot.js";
import { amountTop, durationTop } from "../parts/scale.js";
import { facts, pager, section, table } from "../parts/table.js";

const ROWS = 50;
const MINUTE = 60_000;
const SPANS = { "1h": 3_600_000, "6h": 21_600_000, "24h": 86_400_000, "7d": 604_800_000, "28d": 2_419_200_000 };

async function load({ path: [name], query }, signal, before, show) {
  const span = SPANS[query.span];
  const since = span && Math.floor((Date.now() - span) / MINUTE) * MINUTE; // whole minutes: the same question more often
  const { offset, "running-offset": running } = query;
  const answer = await ask(["queues", name], { offset, limit: ROWS, "running-offset": running, since }, signal);
  if (!answer.waiting.rows.length) return answer;
  const known = before?.starts ?? {};
  show({ ...answer, starts: known });
  const { answer: told } = await tried(ask(["queues", name, "starts"], { offset, limit: ROWS }, signal));
  const starts = told ? Object.fromEntries(told.starts.map((row) => [row.workload, row])) : known;
  return { ...answer, starts };
}

function draw(answer, route, { width }) {
  const { node, waiting, running, finished } = answer;
  return [
    h("div", { class: "heading" },
      h("p", { class: "trail" }, h("a", { href: address("cluster") }, words().cluster),
        node.parent && [" / ", h("a", { href: address("cluster", [], { filter: node.parent }) }, node.parent)]),
      h("h1", { tabindex: "-1" }, node.name),
      h("p", { class: "quiet" }, words().queueSummary(number(node.admitted ?? 0), number(node.pending ?? 0)))),
    node.inactive && h("p", { class: "notice" }, words().inactive(said(node.inactive))),
    section(words().quota, legend(),
      h("div", { class: "cells alone" }, (node.cells ?? []).map((cell) => quotaLine(cell, answer.columns))),
      facts([
        [words().strategy, worded("strategies", node.strategy ?? "")],
        [words().localQueues, joined((answer.localQueues ?? []).map(whole))],
        [words().inadmissible, node.inadmissible ? number(node.inadmissible) : ""],
      ])),
    section(words().pendingJobs(number(waiting.total)), hidden(waiting), waitingTable(waiting, answer),
      pages(waiting, "offset", route, words().pendingPages)),
    section(words().runningJobs(number(running.total)), hidden(running), runningTable(running, answer),
      pages(running, "running-offset", route, words().runningPages)),
    finished.total > 0 && section(words().finishedLately(number(finished.total)), hidden(finished), finishedTable(finished, answer)),
    history(answer, route, width),
  ];
}

function hidden({ total, visible }) {
  return visible < total && h("p", { class: "quiet" }, words().hiddenRows(number(total - visible)));
}

function waitingTable({ rows = [] }, { at, starts = {} }) {
  const columns = [
    { head: words().position, kind: "number", cell: (row) => row.position ? number(row.position) : "–" },
    { head: words().job, cell: jobLink },
    { head: words().asks, cell: (row) => amounts(row.asks) },
    { head: words().why, kind: "text", cell: reason },
    { head: words().priority, kind: "number", cell: (row) => String(row.priority ?? 0) },
    { head: words().waits, kind: "number", cell: (row) => row.since ? duration(at - row.since) : "" },
    { head: words().start, cell: (row) => start({ ...row, ...starts[`${row.namespace}/${row.name}`] }, at) },
  ];
  return table({ caption: words().pendingCaption, columns, rows, key: (row) => `${row.namespace}/${row.name}` });
}

function start(row, at) {
  if (row.start) return whole(ahead(row.start, at));
  return row.startUnknown ? [words().unknown, h("span", { class: "message" }, said(row.startUnknown))] : "–";
}

function reason(row) {
  if (!row.reason && !row.message) return "";
  return [h("strong", {}, worded("reasons", row.reason ?? "")), row.message && h("span", { class: "message" }, said(row.message))];
}

function runningTable({ rows = [] }, { at }) {
  const columns = [
    { head: words().job, cell: jobLink },
    { head: words().asks, cell: (row) => amounts(row.asks) },
    { head: words().user, cell: (row) => row.user ?? "" },
    { head: words().priority, kind: "number", cell: (row) => String(row.priority ?? 0) },
    { head: words().state, cell: (row) => worded("states", row.state) },
    { head: words().holdsFor, kind: "number", cell: (row) => row.since ? duration(at - row.since) : "" },
    { head: words().ends, cell: (row) => row.ends ? whole(ahead(row.ends, at)) : "–" },
  ];
  return table({ caption: words().runningCaption, columns, rows, key: (row) => `${row.namespace}/${row.name}` });
}

function finishedTable({ rows = [] }, { at }) {
  const columns = [
    { head: words().job, cell: jobLink },
    { head: words().asks, cell: (row) => amounts(row.asks) },
    { head: words().user, cell: (row) => row.user ?? "" },
    { head: words().outcome, kind: "text", cell: outcome },
    { head: words().ranFor, kind: "number", cell: (row) => row.since ? duration(row.ended - row.since) : "" },
    { head: words().ended, cell: (row) => clock(row.ended, at) },
  ];
  return table({ caption: words().finishedCaption, columns, rows, key: (row) => `${row.namespace}/${row.name}` });
}

function outcome(row) {
  return [worded("outcomes", row.outcome ?? ""), row.outcome === "Failed" && row.message && h("span", { class: "message" }, said(row.message))];
}

function pages({ total, visible, offset = 0, rows = [] }, setting, route, label) {
  const to = (at) => withQuery(route, { [setting]: at || "" });
  return pager({ offset, size: ROWS, total: Math.min(visible, total), shown: rows.length, label, to });
}

function history({ history: past, columns, node, at }, route, width) {
  const points = past.points ?? [];
  const spans = Object.keys(SPANS).map((span) => {
    const chosen = route.query.span === span;
    return h("a", { href: withQuery(route, { span: chosen ? "" : span }), "aria-current": chosen ? "true" : null }, words().spans[span]);
  });
  const note = [past.source === "memory" ? words().fromMemory(clock(past.since, at)) : words().fromJournal, past.partial && words().partialHistory];
  if (!points.length) return section(words().history, h("p", { class: "quiet" }, words().noHistory));
  const frame = { from: points[0].at, to: at, width: width >= 900 ? (width - 24) / 2 : width };
  const say = (y, top) => ({ x: (value) => clock(value, at), y, top });
  const quotas = (node.cells ?? []).map((cell) => {
    const [column, , quota] = cell;
    const { flavor, resource } = columns[column];
    const used = points.map((point) => [point.at, point.reserved?.[column] ?? 0]);
    const written = say((value) => amount(resource, value), amountTop(resource, isBytes(resource)));
    return plot({ ...frame, title: `${resource} · ${flavor}`, series: [{ name: words().held, points: used }], limit: quota, say: written });
  });
  const counts = (field) => points.map((point) => [point.at, point[field] ?? 0]);
  return section(words().history,
    h("nav", { class: "spans", "aria-label": words().span }, spans),
    h("p", { class: "quiet" }, note.filter(Boolean).join(" ")),
    h("div", { class: "plots" }, quotas,
      plot({ ...frame, title: words().workloads, say: say(number), series: [{ name: words().pending, points: counts("pending") }, { name: words().states.QuotaReserved, points: counts("reserving") }] }),
      plot({ ...frame, title: words().waitingTime, say: say(duration, durationTop), top: MINUTE, series: [{ name: words().meanWait, points: counts("waited") }] })));
}

export const queue = {
  parts: ["queues"],
  load,
  draw,
  title: (route) => route.path[0],
  said: ({ node }) => words().queueSummary(number(node.admitted ?? 0), number(node.pending ?? 0)),
};
