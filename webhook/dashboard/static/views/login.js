/** The form that takes a token, where the server asks for one. */

import { login as send } from "../page/ask.js";
import { h } from "../page/elements.js";
import { words } from "../page/words.js";

/** The form; `entered` is called once the server took the token. The token stays in no field, address or storage. */
export function login(entered) {
  const submit = async (event) => {
    event.preventDefault();
    const { token } = event.target.elements;
    const problem = document.getElementById("login-problem");
    problem.hidden = true;
    try {
      await send(token.value);
      entered();
    } catch (error) {
      problem.textContent = error.status === 401 ? words().tokenRefused : error.message || words().noAnswer;
      problem.hidden = false;
    }
    token.value = "";
  };
  return h("div", { class: "login" },
    h("h1", { tabindex: "-1" }, words().logIn),
    h("form", { class: "form", onsubmit: submit },
      h("p", { class: "field" },
        h("label", { for: "token" }, words().token),
        h("input", { id: "token", name: "token", type: "password", autocomplete: "off", required: true, "aria-describedby": "token-hint" }),
        h("small", { id: "token-hint" }, words().tokenHint, " ", h("code", {}, "kubectl create token NAME"))),
      h("p", { class: "field" }, h("button", { type: "submit" }, words().logIn))),
    h("p", { id: "login-problem", class: "notice", role: "alert", hidden: true }));
}
