/** The recorded jobs of this cluster under other quota or rules, beside what happened under today's. */

import { ask, tried } from "../page/ask.js";
import { h } from "../page/elements.js";
import { address } from "../page/route.js";
import { amount, duration, isBytes, moment, number, percent, short, took } from "../page/units.js";
import { words } from "../page/words.js";
import { named } from "../parts/bar.js";
import { choice, field, queryForm } from "../parts/form.js";
import { formNotice } from "../parts/notice.js";
import { plot } from "../parts/plot.js";
import { amountTop } from "../parts/scale.js";
import { section, table } from "../parts/table.js";

const QUEUES = 20; // as many are compared by name
const SECOND = 1000;
const PAUSE = 500; // milliseconds between two looks at how far it is
const SETTINGS = ["queue", "flavor", "resource", "quota", "rules"];

async function load({ query }, signal, before, show) {
  const [{ columns, nodes }, trace] = await Promise.all([ask(["cluster"], {}, signal), ask(["trace"], {}, signal)]);
  const form = { columns, queues: nodes.filter(({ kind }) => kind === "queue"), trace };
  if (!trace.jobs || !SETTINGS.some((name) => query[name])) return form;
  const question = Object.fromEntries(SETTINGS.map((name) => [name, query[name]]));
  let runs = true;
  const look = setInterval(async () => {
    const { answer } = await tried(ask(["simulate", "progress"], {}, signal)).catch(() => ({}));
    if (runs && answer) show({ ...form, done: answer.done });
  }, PAUSE);
  show({ ...form, done: 0 });
  try {
    return { ...form, ...(await tried(ask(["simulate"], question, signal))) };
  } finally {
    runs = false;
    clearInterval(look);
  }
}

function draw({ columns, queues, trace, answer, problem, done }, route, tools) {
  return [
    h("div", { class: "heading" },
      h("h1", { tabindex: "-1" }, words().simulate),
      h("p", { class: "quiet" }, words().simulateHint),
      h("p", { class: "quiet" }, trace.jobs ? recorded(trace) : words().nothingFinished)),
    form({ columns, queues, trace, problem }, route, tools),
    formNotice(problem, SETTINGS),
    done !== undefined && !answer && !problem && h("p", { class: "working" },
      h("label", { for: "done" }, words().simulating(percent(done))), " ", h("progress", { id: "done", value: done, max: 1 })),
    answer && result(answer, route, tools.width),
  ];
}

function recorded({ jobs, since, until, source, partial }) {
  const told = words().recordedJobs(number(jobs), moment(since), moment(until));
  return [told, source === "memory" && words().traceFromMemory, partial && words().partialTrace].filter(Boolean).join(" ");
}

function form({ columns, queues, trace, problem }, route, tools) {
  const { query } = route;
  const distinct = (name) => [...new Set(columns.map((column) => column[name]))];
  const resources = distinct("resource");
  const resource = query.resource || resources.find((name) => name.includes("gpu")) || resources[0] || "";
  const options = (values) => values.map((value) => [value, value]);
  const flavors = distinct("flavor");
  const wrong = (name) => problem?.fields[name];
  const typed = (name, otherwise) => document.getElementById(name)?.value ?? otherwise;
  const now = quotaNow({ columns, queues }, typed("queue", query.queue ?? ""), typed("flavor", query.flavor ?? ""), typed("resource", resource));
  const redraw = () => tools.redraw();
  return queryForm(route, words().simulate, [
    field("queue", words().queue, query.queue ?? "", { list: "queues", placeholder: words().all, problem: wrong("queue"), oninput: redraw }),
    h("datalist", { id: "queues" }, queues.map(({ name }) => h("option", { value: name }))),
    choice("flavor", words().flavor, query.flavor ?? "", [["", words().automatic], ...options(flavors)], { problem: wrong("flavor"), onchange: redraw }),
    choice("resource", words().resource, resource, options(resources), { problem: wrong("resource"), onchange: redraw }),
    field("quota", words().newQuota, query.quota ?? "", { hint: now, problem: wrong("quota") }),
    field("rules", words().queueRules, query.rules ?? "", { list: "rules-known", hint: words().rulesHint, placeholder: words().unchanged, problem: wrong("rules") }),
    h("datalist", { id: "rules-known" }, trace.rules.map((name) => h("option", { value: name }))),
  ]);
}

/** The quota that a queue has now, in words; nothing where that is not one number. */
function quotaNow({ columns, queues }, queue, flavor, resource) {
  const cells = (queues.find(({ name }) => name === queue)?.cells ?? []).map(named)
    .filter(({ column }) => columns[column].resource === resource && (!flavor || columns[column].flavor === flavor));
  return cells.length === 1 ? words().quotaToday(amount(resource, cells[0].nominal)) : "";
}

function result(answer, route, width) {
  const { today, other } = answer;
  return [
    h("p", { class: "quiet", role: "status" },
      words().simulated(number(today.jobs)), " ", words().answeredIn(took(answer.took ?? 0))),
    section(words().compared, h("div", { class: "compared" }, comparison(today, other))),
    section(words().waitByQueue, h("div", { class: "compared" }, byQueue(today, other))),
    section(route.query.queue || words().allQueues, plots(answer, width)),
  ];
}

function comparison(today, other) {
  const time = (field) => (series) => duration(series[field] ?? 0);
  const plain = (field) => (series) => number(series[field] ?? 0);
  const resources = [...new Set([...Object.keys(today.utilisation), ...Object.keys(other.utilisation)])];
  const rows = [
    [words().finishedJobs, plain("finished")], [words().neverStarted, plain("neverStarted")],
    [words().waitMean, time("waitMean")], [words().waitMedian, time("waitMedian")],
    [words().waitP90, time("waitP90")], [words().waitMax, time("waitMax")],
    [words().preemptions, plain("preemptions")], [words().lost, time("lost")],
    [words().lasted, time("end")], [words().fairness, plain("fairness")],
    ...resources.map((name) => [words().utilisation(short(name)), (series) => percent(series.utilisation[name] ?? 0)]),
  ];
  const columns = [
    { head: words().figure, cell: ([name]) => name },
    { head: words().today, kind: "number", cell: ([, say]) => say(today) },
    { head: other.name, kind: "number", cell: ([, say]) => say(other) },
  ];
  return table({ caption: words().compared, columns, rows, key: ([name]) => name });
}

/** Who waits longer and who shorter: the queues whose mean wait changes most; those that a change leaves are counted. */
function byQueue(today, other) {
  const names = [...new Set([...Object.keys(today.waits), ...Object.keys(other.waits)])];
  const waited = (series, name) => series.waits[name] ?? 0;
  const differs = (name) => Math.abs(waited(other, name) - waited(today, name));
  const sorted = names.sort((one, two) => differs(two) - differs(one) || one.localeCompare(two));
  const shown = sorted.filter((name, place) => place < QUEUES && (differs(name) >= SECOND || names.length <= QUEUES));
  const columns = [
    { head: words().queue, cell: (name) => h("a", { href: address("queues", [name]) }, name) },
    { head: words().today, kind: "number", cell: (name) => duration(waited(today, name)) },
    { head: other.name, kind: "number", cell: (name) => duration(waited(other, name)) },
  ];
  const left = names.length - shown.length;
  return [
    table({ caption: words().waitByQueue, columns, rows: shown, key: (name) => name }),
    left > 0 && h("p", { class: "quiet" }, words().otherQueues(number(left))),
  ];
}

/** For each resource and for what waits: both runs side by side, on one scale. */
function plots({ today, other, capacity }, width) {
  const half = width >= 720 ? (width - 24) / 2 : width;
  const to = Math.max(today.end, other.end, 1);
  const resources = [...new Set([today, other].flatMap(({ points }) => points.flatMap(({ used }) => Object.keys(used ?? {}))))];
  const pairs = [
    ...resources.map((name) => ({
      name: words().usedOf(short(name)), value: ({ used }) => used?.[name] ?? 0,
      limits: capacity.map((limit) => limit[name] ?? 0), say: (value) => amount(name, value), round: amountTop(name, isBytes(name)),
    })),
    { name: words().pending, value: ({ pending }) => pending ?? 0, limits: [0, 0], say: number },
  ];
  return h("div", { class: "plots pairs" }, pairs.map((pair) => [today, other].map((series, side) => oneSide(pair, series, side, { today, other, to, half }))));
}

function oneSide({ name, value, limits, say, round }, series, side, { today, other, to, half }) {
  const points = (from) => from.points.map((point) => [point.at, value(point)]);
  const top = Math.max(2, ...limits, ...[today, other].flatMap((one) => points(one).map(([, y]) => y)));
  return plot({
    title: `${name}: ${side ? other.name : words().today}`, series: [{ name, points: points(series) }],
    from: 0, to, say: { x: duration, y: say, top: round }, limit: limits[side], top, width: half,
  });
}

export const simulate = {
  parts: [],
  load,
  draw,
  title: () => words().simulate,
  said: () => "",
};
