/** What stands around each view: where to go, what to look for, whether the page is live, language and colours. */

import { h, patch } from "./page/elements.js";
import { chooseLanguage, chooseTheme, theme, THEMES } from "./page/preferences.js";
import { address, go } from "./page/route.js";
import { lang, speak, words } from "./page/words.js";

const frame = document.getElementById("frame");

/** Draws it. `tools` are `{redraw, leave}`; `session` is null until the server said who reads. */
export function drawFrame({ route, state, session, tools }) {
  document.documentElement.lang = lang();
  const skip = document.getElementById("skip");
  skip.textContent = words().skip;
  skip.onclick = (event) => {
    event.preventDefault(); // the part after # is the view's address
    document.getElementById("main").focus();
  };
  patch(frame, h("header", { id: "frame" },
    h("a", { class: "brand", href: address("cluster") }, "Sluice"),
    session && !locked(session) && [places(route), search(route)],
    h("div", { class: "settings" },
      session && !locked(session) && liveness(state),
      h("button", { type: "button", class: "plain-button", lang: lang() === "zh" ? "en" : "zh", onclick: () => changeLanguage(tools) }, lang() === "zh" ? "English" : "中文"),
      h("button", { type: "button", class: "plain-button", onclick: () => changeTheme(tools) }, words().themes[theme()]),
      session?.user && h("span", { class: "user", title: session.user }, session.user),
      session?.mode === "login" && session.user && h("button", { type: "button", class: "plain-button", onclick: tools.leave }, words().logOut))));
}

export const locked = (session) => session.needsLogin && !session.user;

function places(route) {
  const views = [["cluster", words().cluster], ["policies", words().policies], ["simulate", words().simulate]];
  const link = ([view, name]) => h("a", { href: address(view), "aria-current": route.view === view ? "page" : null }, name);
  return h("nav", { "aria-label": words().views }, views.map(link));
}

function search(route) {
  const submit = (event) => {
    event.preventDefault();
    const text = new FormData(event.target).get("text").trim();
    if (text) go(address("find", [], { text }));
  };
  const value = route.view === "find" ? route.query.text : "";
  return h("form", { class: "search", role: "search", onsubmit: submit },
    h("label", { class: "unseen", for: "find" }, words().find),
    h("input", { id: "find", name: "text", type: "search", value, placeholder: words().find, autocomplete: "off", spellcheck: "false" }));
}

function liveness(state) {
  return h("span", { class: `live ${state}`, role: "status" }, h("i", { "aria-hidden": "true" }), words().liveness[state]);
}

function changeLanguage(tools) {
  const next = lang() === "zh" ? "en" : "zh";
  speak(next);
  chooseLanguage(next);
  tools.redraw();
}

function changeTheme(tools) {
  chooseTheme(THEMES[(THEMES.indexOf(theme()) + 1) % THEMES.length]);
  tools.redraw();
}
