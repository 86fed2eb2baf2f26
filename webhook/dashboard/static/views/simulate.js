/** The recorded jobs of this cluster under other quota or rules, beside what happened under today's. */

import { ask } from "../page/ask.js";
import { h } from "../page/elements.js";
import { amount, duration, isBytes, moment, number, percent, short, took } from "../page/units.js";
import { words } from "../page/words.js";
import { choice, field, queryForm } from "../parts/form.js";
import { plot } from "../parts/plot.js";
import { amountTop } from "../parts/scale.js";
import { section, table } from "../parts/table.js";

const SETTINGS = ["queue", "flavor", "resource", "quota", "rules"];

async function load({ query }, signal) {
  const { columns, nodes } = await ask(["cluster"], {}, signal);
  const queues = nodes.filter(({ kind }) => kind === "queue").map(({ name }) => name);
  const question = Object.fromEntries(SETTINGS.map((name) => [name, query[name]]));
  const answer = query.quota || query.rules ? await ask(["simulate"], question, signal) : null;
  return { columns, queues, answer };
}

function draw({ columns, queues, answer }, route, { width }) {
  return [
    h("div", { class: "heading" },
      h("h1", { tabindex: "-1" }, words().simulate),
      h("p", { class: "quiet" }, words().simulateHint)),
    form(columns, queues, route),
    answer && result(answer, route, width),
  ];
}

function form(columns, queues, route) {
  const { query } = route;
  const distinct = (name) => [...new Set(columns.map((column) => column[name]))];
  const resources = distinct("resource");
  const resource = query.resource || resources.find((name) => name.includes("gpu")) || resources[0] || "";
  const options = (values) => values.map((value) => [value, value]);
  return queryForm(route, words().simulate, [
    field("queue", words().queue, query.queue ?? "", { list: "queues", placeholder: words().all }),
    h("datalist", { id: "queues" }, queues.map((name) => h("option", { value: name }))),
    choice("flavor", words().flavor, query.flavor ?? "", options(distinct("flavor"))),
    choice("resource", words().resource, resource, options(resources)),
    field("quota", words().newQuota, query.quota ?? ""),
    field("rules", words().queueRules, query.rules ?? "", { hint: words().rulesHint, placeholder: words().unchanged }),
  ]);
}

function result(answer, route, width) {
  const { today, other } = answer;
  return [
    h("p", { class: "quiet", role: "status" },
      words().simulated(number(today.jobs), moment(answer.since), moment(answer.until)), " ",
      answer.source === "memory" ? words().traceFromMemory : "", answer.partial ? ` ${words().partialTrace}` : "",
      ` ${words().answeredIn(took(answer.took ?? 0))}`),
    section(words().compared, h("div", { class: "compared" }, comparison(today, other))),
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
