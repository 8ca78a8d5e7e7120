// Turns the pages of a long list: one page is held and shown at a time, however long the list is.

import { inWords } from "./api.js";
import { el } from "./dom.js";
import { count } from "./units.js";

const FIRST = [{ after: "", number: 1 }];

export class Pages {
  /** Where the pages up to this one begin: behind which name, and with which number. */
  #begins = FIRST;
  #items = [];
  #next = null;
  #turn = 0;

  /**
   * `read` gives the items that follow a name, and the name that the next page follows, if there is
   * one; `show` shows the items of a page, `fail` a problem in words.
   */
  constructor(what, { read, show, fail }) {
    Object.assign(this, { read, show, fail });
    const button = (text, to) => el("button", { type: "button", class: "plain",
      "aria-label": `${text} ${what}`, onclick: () => this.#turnTo(to()) }, text);
    this.back = button("Previous", () => this.#begins.slice(0, -1));
    this.forth = button("Next", () =>
      [...this.#begins, { after: this.#next, number: this.#begins.at(-1).number + this.#items.length }]);
    this.node = el("div", { class: "pages", hidden: true }, this.back, this.forth);
  }

  /** Shows the first page of a list that has changed. */
  async begin() {
    await this.#turnTo(FIRST);
  }

  /** Whether one page shows the whole list. */
  get isWhole() {
    return this.#next === null && this.#begins.length === 1;
  }

  /** Which items are shown: `201 to 400`. */
  get range() {
    const { number } = this.#begins.at(-1);
    return `${count(number)} to ${count(number + this.#items.length - 1)}`;
  }

  async #turnTo(begins) {
    const turn = ++this.#turn;
    try {
      const { items, next } = await this.read(begins.at(-1).after);
      // What was asked for later is shown in place of this.
      if (turn !== this.#turn) return;
      [this.#begins, this.#items, this.#next] = [begins, items, next];
    } catch (error) {
      if (turn !== this.#turn) return;
      this.node.hidden = true;
      this.fail(inWords(error));
      return;
    }
    this.#showButtons();
    this.show(this.#items);
  }

  #showButtons() {
    const hadFocus = this.node.contains(document.activeElement);
    this.node.hidden = this.isWhole;
    this.back.disabled = this.#begins.length === 1;
    this.forth.disabled = this.#next === null;
    // A button that is disabled would lose the focus to the top of the page.
    if (hadFocus) [this.forth, this.back].find((button) => !button.disabled)?.focus();
  }
}
