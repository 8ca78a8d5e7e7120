// Notices above the content that concern the whole page.

import { el } from "./dom.js";

class Notices {
  #node = document.getElementById("notices");

  /** `key` names the subject: a later notice of it replaces this one. */
  set(key, tone, text, ...actions) {
    const before = this.#find(key);
    if (before?.dataset.text === text) return;
    const made = el("div", { class: "notice", role: "alert", "data-tone": tone,
      "data-key": key, "data-text": text }, el("p", {}, text), ...actions);
    if (before) before.replaceWith(made);
    else this.#node.append(made);
  }

  clear(key) {
    this.#find(key)?.remove();
  }

  #find(key) {
    return [...this.#node.children].find((one) => one.dataset.key === key);
  }
}

export const notices = new Notices();
