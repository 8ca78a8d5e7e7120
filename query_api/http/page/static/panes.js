// A list of links with a field to filter it; the arrow keys move through the list.

import { el, keyed, put, say } from "./dom.js";
import { Pages } from "./pages.js";
import { many } from "./units.js";

/** One column of the browser. */
export class Pane {
  #place = "";
  #listed = "";

  /**
   * `address` makes the link of an item; `read` gives a page of the items, each with a key, that
   * match a pattern and follow a name; `shown` is called when others are shown.
   */
  constructor(name, title, { noun, address, read, shown = () => {} }) {
    Object.assign(this, { noun, address, shown });
    this.items = [];
    this.chosen = "";
    const id = `${name}-filter`;
    let waiting = 0;
    this.filter = el("input", { id, type: "search", autocomplete: "off", spellcheck: "false",
      placeholder: "Filter", oninput: () => {
        clearTimeout(waiting);
        waiting = setTimeout(() => this.seek(), 200);
      }, onkeydown: (event) => this.#fromFilter(event) });
    this.title = el("h2", { id: `${name}-title` }, title);
    this.status = el("p", { class: "hint", role: "status" });
    this.list = el("ul", { class: "names", "aria-labelledby": `${name}-title`,
      onkeydown: (event) => this.#onKey(event) });
    this.pages = new Pages(`${noun}s`, {
      read: (after) => read(this.pattern, after),
      show: (items) => this.#turn(items),
      fail: (text) => this.#fail(text),
    });
    this.node = el("section", { class: `pane ${name}`, "aria-labelledby": `${name}-title` },
      this.title, el("label", { for: id, class: "unseen" }, `Filter ${title.toLowerCase()}`),
      this.filter, this.status, this.list, this.pages.node);
    this.left = this.right = null;
  }

  /** The typed text as a pattern of Hive's. */
  get pattern() {
    const text = this.filter.value.trim();
    return text === "" ? "*" : text.includes("*") ? text : `*${text}*`;
  }

  /** Lists what is in `place`, unless that is listed already, and marks what is chosen in it. */
  async open(place, chosen) {
    this.#place = place;
    this.chosen = chosen;
    if (this.#listed === this.#wanted) this.#show();
    else await this.seek();
  }

  /** Lists anew what matches the typed text. */
  async seek() {
    this.#listed = this.#wanted;
    await this.pages.begin();
  }

  get #wanted() {
    return `${this.#place} ${this.pattern}`;
  }

  #turn(items) {
    this.items = items;
    this.list.scrollTop = 0;
    this.#show();
    this.shown();
  }

  #show() {
    const { items, chosen, noun } = this;
    say(this.status, items.length
      ? this.pages.isWhole ? many(items.length, noun) : `Showing ${noun}s ${this.pages.range}`
      : this.pattern === "*" ? `There is no ${noun} here.` : `No ${noun} matches.`);
    const [first] = items.filter((item) => item.key === chosen).concat(items);
    keyed(this.list, items, (item) => item.key,
      (item) => el("li", {}, el("a", {}, el("span", {}, item.key), el("span", { class: "mark" }))),
      (node, item) => {
        const link = node.firstChild;
        // The same name may be in another place now.
        link.href = this.address(item);
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

  #fail(text) {
    this.#listed = "";
    this.items = [];
    put(this.list);
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
