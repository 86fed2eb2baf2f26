/** Shows the view of the address, and keeps it as the server says things are. */

import { drawFrame, locked } from "./frame.js";
import { ask, logout } from "./page/ask.js";
import { h, patch } from "./page/elements.js";
import { listen } from "./page/live.js";
import { address, current, stay } from "./page/route.js";
import { words } from "./page/words.js";
import { notice } from "./parts/notice.js";
import { cluster } from "./views/cluster.js";
import { find } from "./views/find.js";
import { job } from "./views/job.js";
import { login } from "./views/login.js";
import { policies } from "./views/policies.js";
import { queue } from "./views/queue.js";
import { simulate } from "./views/simulate.js";

/**
 * A view is plain data and passes: `load(route, signal, before, show)` asks, and may show what it has so far;
 * `draw(answer, route, tools)` gives nodes, `parts` are what it is loaded again for, `said` what a screen reader hears
 * then; one that `follows` is drawn as the page scrolls.
 */
const VIEWS = { cluster, queues: queue, workloads: job, policies, simulate, find };
const NEEDS = { queues: 1, workloads: 2 }; // names in the address
const PAUSE = 250; // milliseconds between two loads, at least; and as long as a load takes
const SAID_AGAIN = 10_000;

const main = document.getElementById("main");
const said = document.getElementById("said");
const shown = { route: current(), view: null, answer: null, problem: null, session: null, busy: false, state: "reconnecting" };
let asking = null; // the load under way
let newest = -1; // the revision that was told last
let stale = false; // something changed while one is
let timer = 0;
let lastSaid = 0;
let telling = 0;
let stopListening = null;

/** What a view may do: draw itself again, at another address too, and know its width in pixels. */
const tools = {
  redraw,
  leave,
  restate(to) {
    stay(to);
    shown.route = current();
    redraw();
  },
  get width() {
    return main.clientWidth - parseFloat(getComputedStyle(main).paddingLeft) * 2;
  },
};

async function start() {
  drawFrame({ ...shown, tools });
  try {
    shown.session = await ask(["session"]);
  } catch (problem) {
    shown.problem = problem;
    redraw();
    setTimeout(start, 2000);
    return;
  }
  shown.problem = null;
  if (locked(shown.session)) {
    hush();
    return redraw();
  }
  stopListening ??= listen({ changed, state: (word) => { shown.state = word; drawFrame({ ...shown, tools }); } });
  open();
}

function hush() {
  stopListening?.();
  stopListening = null;
}

async function leave() {
  hush();
  await logout().catch(() => null); // whoever cannot be told has forgotten the session, or will
  Object.assign(shown, { session: null, answer: null });
  start();
}

/** Shows the view of the address; what stood there before goes once there is an answer. */
function open() {
  const before = shown.route;
  shown.route = current();
  shown.view = shown.route.path.length >= (NEEDS[shown.route.view] ?? 0) ? VIEWS[shown.route.view] : undefined;
  const same = before.view === shown.route.view && before.path.join("/") === shown.route.path.join("/");
  if (!same) Object.assign(shown, { answer: null, problem: null });
  if (shown.session && !locked(shown.session)) load(!same);
  drawFrame({ ...shown, tools });
}

async function load(fresh) {
  asking?.abort();
  clearTimeout(timer);
  if (!shown.view) {
    redraw();
    return settle();
  }
  const mine = (asking = new AbortController());
  const began = performance.now();
  stale = false;
  const before = fresh ? null : shown.answer;
  let first = !main.hasAttribute("data-shown") || fresh;
  const show = (changes) => {
    if (mine.signal.aborted) return;
    Object.assign(shown, changes);
    redraw();
    if (first) settle();
    first = false;
  };
  try {
    const answer = await shown.view.load(shown.route, mine.signal, before, (soFar) => show({ answer: soFar, problem: null, busy: true }));
    show({ answer, problem: null, busy: false });
    if (before && answer.revision !== before.revision && !mine.signal.aborted) tell();
  } catch (problem) {
    if (!mine.signal.aborted && problem.status === 401) return start();
    show({ problem, busy: false });
  }
  if (mine.signal.aborted) return;
  const wait = Math.max(PAUSE, performance.now() - began);
  timer = setTimeout(() => {
    asking = null;
    if (stale && !upToDate()) load(false);
  }, wait);
}

const upToDate = () => newest !== -1 && shown.answer?.revision === newest;

/** Hears of a change: loads again, or soon. */
function changed({ revision, parts }) {
  newest = revision;
  if (!shown.view?.parts.some((part) => parts.includes(part)) || upToDate()) return;
  stale = true;
  if (!document.hidden && !asking) load(false);
}

/** Says what the view says of itself; what changes soon after is said when the time has come, as it is then. */
function tell() {
  clearTimeout(telling);
  const wait = lastSaid + SAID_AGAIN - Date.now();
  if (wait > 0) {
    telling = setTimeout(tell, wait);
    return;
  }
  const sentence = shown.answer && shown.view?.said(shown.answer);
  if (!sentence) return;
  lastSaid = Date.now();
  said.textContent = sentence;
}

/** After a view was opened: the focus goes to its heading, except on the first one, where the browser has it. */
function settle() {
  document.title = shown.view ? `${shown.view.title(shown.route)} · Sluice` : "Sluice";
  if (main.hasAttribute("data-shown")) {
    scrollTo({ top: 0, behavior: "instant" });
    main.querySelector("h1")?.focus({ preventScroll: true });
  }
  main.setAttribute("data-shown", shown.route.view);
  if (shown.view?.follows) redraw(); // now that its place is known
}

function redraw() {
  drawFrame({ ...shown, tools });
  const attributes = { id: "main", tabindex: "-1", "data-shown": main.getAttribute("data-shown"), "aria-busy": shown.view && (shown.busy || (!shown.answer && !shown.problem)) ? "true" : null };
  patch(main, h("main", attributes, content()));
}

function content() {
  if (shown.session && locked(shown.session)) return login(start);
  if (shown.problem && !shown.answer) return trouble(shown.problem);
  if (!shown.session) return h("p", { class: "quiet" }, words().loading);
  if (!shown.view) return [h("h1", { tabindex: "-1" }, words().noSuchView), h("p", {}, h("a", { href: address("cluster") }, words().cluster))];
  if (!shown.answer) return h("p", { class: "quiet" }, words().loading);
  return [shown.problem && notice(shown.problem), shown.view.draw(shown.answer, shown.route, tools)];
}

function trouble(problem) {
  return [
    h("h1", { tabindex: "-1" }, words().trouble),
    notice(problem),
    h("p", {}, h("button", { type: "button", onclick: () => (shown.session ? load(false) : start()) }, words().again)),
  ];
}

/** `/` goes to the filter or the search, Escape empties it and leaves it. */
function onKey(event) {
  const typing = event.target.matches("input, select, textarea");
  const box = document.getElementById("filter") ?? document.getElementById("find");
  if (event.key === "/" && !typing && !event.ctrlKey && !event.metaKey && !event.altKey && box) {
    event.preventDefault();
    box.focus();
  } else if (event.key === "Escape" && typing && event.target.type === "search") {
    event.target.value = "";
    event.target.dispatchEvent(new Event("input", { bubbles: true }));
    (main.querySelector("h1") ?? main).focus();
  }
}

let frameAsked = false;
function follow() {
  if (frameAsked || !shown.view?.follows || !shown.answer) return;
  frameAsked = true;
  requestAnimationFrame(() => { frameAsked = false; redraw(); });
}

addEventListener("hashchange", open);
addEventListener("keydown", onKey);
addEventListener("scroll", follow, { passive: true });
addEventListener("resize", () => shown.answer && redraw());
document.addEventListener("visibilitychange", () => { if (!document.hidden && stale) load(false); });
start();
