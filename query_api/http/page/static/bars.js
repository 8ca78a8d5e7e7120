// A list of causes with bars; a cause with an explanation can be unfolded.

import { el, keyed, prose, say } from "./dom.js";
import { count, sentence } from "./units.js";

export class Bars {
  constructor(empty) {
    this.list = el("ul", { class: "bars" });
    this.empty = el("p", { class: "empty" }, empty);
    this.node = el("div", {}, this.list, this.empty);
  }

  /** `items`: key, label, more, number and, if there is more to say, the `text` of a reason. */
  update(items) {
    const most = Math.max(1, ...items.map((item) => item.number));
    keyed(this.list, items, (item) => item.key, make, (node, item) => {
      say(node.querySelector(".number"), count(item.number));
      say(node.querySelector(".label > span"), item.more);
      node.querySelector(".bar > span").style.inlineSize = `${(100 * item.number) / most}%`;
    });
    this.list.hidden = !items.length;
    this.empty.hidden = Boolean(items.length);
  }
}

function make(item) {
  const line = [
    el("span", { class: "label" }, el("b", {}, item.label), " ", el("span", {}, item.more)),
    el("span", { class: "number" }),
    el("span", { class: "bar", "aria-hidden": "true" }, el("span")),
  ];
  if (!item.text) return el("li", {}, el("div", { class: "line" }, ...line));
  const { meaning, remedy } = item.text;
  return el("li", {}, el("details", {},
    el("summary", { class: "line" }, ...line),
    el("p", {}, prose(sentence(meaning))),
    el("p", {}, el("b", {}, "What to do: "), prose(sentence(remedy)))));
}
