// A list of links with a field to filter it; the arrow keys move through the list.

import { el, keyed, put, say } from "./dom.js";
import { many } from "./units.js";

/** One column of the browser. */
export class Pane {
  /** `address` makes the link of an item; `seek` gets the typed text after a pause. */
  constructor(name, title, { address, seek, more }) {
    this.address = address;
    this.items = [];
    this.chosen = "";
    const id = `${name}-filter`;
    let waiting = 0;
    this.filter = el("input", { id, type: "search", autocomplete: "off", spellcheck: "false",
      placeholder: "Filter", oninput: () => {
        clearTimeout(waiting);
        waiting = setTimeout(() => seek(this.pattern), 200);
      }, onkeydown: (event) => this.#fromFilter(event) });
    this.title = el("h2", { id: `${name}-title` }, title);
    this.status = el("p", { class: "hint", role: "status" });
    this.list = el("ul", { class: "names", "aria-labelledby": `${name}-title`,
      onkeydown: (event) => this.#onKey(event) });
    this.more = el("button", { type: "button", class: "plain", hidden: true, onclick: more }, "Show more");
    this.node = el("section", { class: `pane ${name}`, "aria-labelledby": `${name}-title` },
      this.title, el("label", { for: id, class: "unseen" }, `Filter ${title.toLowerCase()}`),
      this.filter, this.status, this.list, this.more);
    this.left = this.right = null;
  }

  /** The typed text as a pattern of Hive's. */
  get pattern() {
    const text = this.filter.value.trim();
    return text === "" ? "*" : text.includes("*") ? text : `*${text}*`;
  }

  /** `items`: key, and what else `mark` shows. */
  show(items, chosen, next, noun) {
    this.items = items;
    this.chosen = chosen;
    this.more.hidden = !next;
    const some = next ? `The first ${many(items.length, noun)}` : many(items.length, noun);
    say(this.status, items.length ? some
      : this.pattern === "*" ? `There is no ${noun} here.` : `No ${noun} matches.`);
    const [first] = items.filter((item) => item.key === chosen).concat(items);
    keyed(this.list, items, (item) => item.key,
      (item) => el("li", {}, el("a", { href: this.address(item) }, el("span", {}, item.key),
        el("span", { class: "mark" }))),
      (node, item) => {
        const link = node.firstChild;
        link.tabIndex = item === first ? 0 : -1;
        if (item.key === chosen) link.setAttribute("aria-current", "true");
        else link.removeAttribute("aria-current");
      });
  }

  /** Says in words and by a dot how each item is held: `marks` are texts and tones by key. */
  mark(marks) {
    for (const child of this.list.children) {
      const [tone, text] = marks.get(child.dataset.key) ?? ["", ""];
      const mark = child.querySelector(".mark");
      mark.dataset.tone = tone;
      mark.title = text;
      say(mark, text);
    }
  }

  fail(text) {
    put(this.list);
    this.more.hidden = true;
    say(this.status, text);
  }

  focus() {
    const links = this.#links();
    (links.find((link) => link.tabIndex === 0) ?? links[0] ?? this.filter).focus();
  }

  #links() {
    return [...this.list.querySelectorAll("a")];
  }

  #fromFilter(event) {
    if (event.key === "ArrowDown" && this.items.length) {
      event.preventDefault();
      this.focus();
    }
  }

  #onKey(event) {
    const links = this.#links();
    const at = links.indexOf(document.activeElement);
    const to = { ArrowDown: at + 1, ArrowUp: at - 1, Home: 0, End: links.length - 1 }[event.key];
    const beside = { ArrowLeft: this.left, ArrowRight: this.right }[event.key];
    if (beside) {
      event.preventDefault();
      beside.focus();
    } else if (to !== undefined) {
      event.preventDefault();
      if (to < 0) this.filter.focus();
      const link = links[Math.min(to, links.length - 1)];
      if (to < 0 || !link) return;
      for (const one of links) one.tabIndex = one === link ? 0 : -1;
      link.focus();
    }
  }
}
