/** The life of a job: a line whose lengths are times, and what happened, in order. */

import { h } from "../../page/elements.js";
import { said } from "../../page/sentences.js";
import { duration, second } from "../../page/units.js";
import { listed, words, worded } from "../../page/words.js";
import { jobRef } from "../../parts/job_link.js";

/** What a job does after an event, until the next one; others change nothing. */
const AFTER = {
  created: "waits", queued: "waits", requeued: "waits", preempted: "waits", evicted: "waits",
  reserved: "checks", admitted: "runs", ready: "runs",
  denied: "over", deactivated: "over", finished: "over", deleted: "over",
};
const LEAST = 0.012; // of the line's length, so that what took a second is seen

/** Both, from the answer's events; `source` says how far back they go. */
export function life({ events = [], at, source }) {
  if (!events.length) return h("p", { class: "quiet" }, words().noLife);
  const spans = spansOf(events, at);
  return [
    line(spans),
    h("ol", { class: "life" }, events.map((event, place) => step(event, events[place - 1], place))),
    source === "memory" && h("p", { class: "quiet" }, words().lifeFromMemory),
  ];
}

/** What the job did and for how long: `[{what, from, to}]`, equal neighbours as one. */
export function spansOf(events, now) {
  const spans = [];
  for (const { at, what } of events) {
    const next = AFTER[what];
    const last = spans.at(-1);
    if (!next || last?.what === next) continue;
    if (last) last.to = at;
    spans.push({ what: next, from: at, to: now });
  }
  return spans.filter(({ what }) => what !== "over");
}

function line(spans) {
  const whole = Math.max(1, spans.reduce((sum, { from, to }) => sum + (to - from), 0));
  const told = spans.map(({ what, from, to }) => words().spanTold(words().doing[what], duration(to - from)));
  return h("div", { class: "lifeline", role: "img", "aria-label": listed(told) },
    spans.map(({ what, from, to }) => h("span", {
      class: what, title: words().spanTold(words().doing[what], duration(to - from)),
      style: { "flex-grow": String(Math.max(LEAST, (to - from) / whole)) },
    }, h("b", {}, words().doing[what]), h("small", {}, duration(to - from)))));
}

function step({ at, what, by, queue, detail, changes = [], reason, preemptor }, before, place) {
  return h("li", { class: `step ${AFTER[what] ?? "aside"}`, "data-key": `${place} ${what}` },
    h("time", { datetime: new Date(at).toISOString() }, second(at, before?.at),
      before && at - before.at >= 1000 && h("small", {}, ` +${duration(at - before.at)}`)),
    h("div", {},
      h("p", {}, headline({ what, by, queue, reason, preemptor })),
      detail && h("p", { class: "message" }, said(detail)),
      changes.length > 0 && h("details", {}, h("summary", {}, words().changes(changes.length)),
        h("ul", { class: "diff" }, changes.map(change)))));
}

const REASONS = { preempted: "preempting", evicted: "evictions", deactivated: "evictions", finished: "outcomes" };

/** What happened, where, by or for whom, and why. */
function headline({ what, by, queue, reason, preemptor }) {
  const why = reason && REASONS[what] ? words().reasonOf(worded(REASONS[what], reason)) : "";
  if (preemptor) return [h("strong", {}, words().preemptedBy(jobRef(preemptor))), why];
  return [h("strong", {}, event(what, by, queue)), why];
}

function event(what, by, queue) {
  if (what === "created" && by) return words().createdBy(by);
  if (what === "shaped") return words().shapedBy(by);
  if (what === "queued" && queue) return words().queuedIn(queue);
  return queue ? words().eventIn(worded("events", what), queue) : worded("events", what);
}

const SIGNS = { add: "+", remove: "−", replace: "~" };

function change({ op, path, value }) {
  const content = op === "remove" || value === undefined ? "" : JSON.stringify(value, null, 1).replaceAll(/\n\s*/g, " ");
  return h("li", { class: op },
    h("span", { class: "sign", "aria-label": worded("operations", op), role: "img" }, SIGNS[op] ?? op),
    h("code", {}, h("b", {}, readable(path)), content && ` ${content}`));
}

/** A JSON pointer as people write a field: `/metadata/labels/a~1b` is `metadata.labels[a/b]`. */
export function readable(pointer) {
  const parts = pointer.split("/").slice(1).map((part) => part.replaceAll("~1", "/").replaceAll("~0", "~"));
  return parts.reduce((text, part) => (/^[A-Za-z]\w*$/.test(part) ? `${text}${text && "."}${part}` : `${text}[${part}]`), "");
}
