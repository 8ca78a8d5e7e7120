// The token that is sent to the server. It is kept for this tab only.

import { token } from "./api.js";
import { el, put } from "./dom.js";

const dialog = document.getElementById("dialog");
const button = document.getElementById("token");

/** Shows the button if a token is of use; `changed` is called once another one was entered. */
export function showTokenButton(isOfUse, changed) {
  button.hidden = !isOfUse && !token.get();
  button.textContent = token.get() ? "Change token" : "Token";
  button.onclick = () => askForToken("", changed);
}

export function askForToken(why, changed) {
  if (dialog.open) return;
  const field = el("input", { id: "token-field", type: "password", autocomplete: "off",
    spellcheck: "false", value: token.get() });
  const give = (text) => {
    dialog.close();
    token.set(text.trim());
    changed();
  };
  put(dialog, el("form", { onsubmit: (event) => {
    event.preventDefault();
    give(field.value);
  } },
    el("h2", { id: "dialog-title" }, "Token"),
    why ? el("p", { role: "alert" }, why) : null,
    el("p", {}, "Where this deployment has tokens (reads.tokens_path), one of the role read shows ",
      "the page, and one of the role admin may give orders. It is kept until this tab is closed."),
    el("label", { for: "token-field" }, "Token"), field,
    el("div", { class: "buttons" },
      el("button", { type: "submit", class: "main" }, "Use it"),
      el("button", { type: "button", onclick: () => give("") }, "Use none"),
      el("button", { type: "button", onclick: () => dialog.close() }, "Cancel"))));
  dialog.showModal();
  field.focus();
}

/** Asks before an action that affects everybody. */
export function confirm(title, text, action, done) {
  const close = () => dialog.close();
  put(dialog, el("div", {},
    el("h2", { id: "dialog-title" }, title), el("p", {}, text),
    el("div", { class: "buttons" },
      el("button", { type: "button", class: "main", onclick: () => {
        close();
        done();
      } }, action),
      el("button", { type: "button", onclick: close }, "Cancel"))));
  dialog.showModal();
}
