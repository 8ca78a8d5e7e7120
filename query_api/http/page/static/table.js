// One table: how it is held, why a read was answered as it was, and what is in it.

import { ask, inWords, path } from "./api.js";
import { el, put, say } from "./dom.js";
import { Explain } from "./explain.js";
import { cacheStates, orders, until } from "./orders.js";
import { columnsOf, partitionsOf, propertiesOf, statisticsOf } from "./contents.js";
import { inShort, whyCold } from "./reasons.js";
import { day } from "./units.js";

const ORDERS = [
  ["warm", "Warm", "Load the table, if it isn't in the cache"],
  ["refresh", "Refresh", "Drop it from the cache and load it again"],
  ["drop", "Drop from the cache", "Drop it from the cache until somebody reads it"],
];
const DONE = { warm: "It is in the cache now.", refresh: "It was loaded anew.", drop: "It was dropped from the cache." };

/** The JSON of a GET, or null if it fails: the page then shows what else it can get. */
async function whatever(url) {
  try {
    return (await ask(url)).data;
  } catch {
    return null;
  }
}

export class TableDetail {
  left = null;
  #turn = 0;
  #name = "";

  constructor(changed) {
    this.changed = changed;
    this.node = el("section", { class: "pane detail", "aria-label": "Table", tabindex: "-1",
      onkeydown: (event) => {
        if (event.key === "Escape" && this.left) this.left.focus();
      } });
  }

  focus() {
    (this.node.querySelector("button, input, a") ?? this.node).focus();
  }

  async show(catalog, db, table) {
    const turn = ++this.#turn;
    const isThis = () => turn === this.#turn;
    this.#name = table && `${catalog}.${db}.${table}`;
    if (!table) {
      put(this.node, el("p", { class: "empty" }, db
        ? "Choose a table to see what is in it, and why a read of it is answered as it is."
        : "Choose a database. With the keyboard: arrows go through a list and from one to the next, Enter opens."));
      return;
    }
    const at = path`/v1/databases/${db}/tables/${table}`;
    const query = `catalog=${encodeURIComponent(catalog)}`;
    this.badge = el("span", { class: "badge", role: "status" });
    this.said = el("p", { class: "said", role: "status" });
    this.explain = new Explain(at, query, this.#name);
    const kind = el("p", { class: "hint" });
    const contents = el("div", { class: "contents" }, el("p", { class: "empty" }, "Reading …"));
    put(this.node,
      el("header", {}, el("h2", {}, table), this.badge), kind, this.#orders(), this.said,
      this.explain.node, contents);
    const before = await this.look();
    if (!isThis()) return;
    const found = await this.explain.read() ?? await whatever(`${at}?${query}&consistency=any`);
    if (!isThis()) return;
    if (!found) {
      put(contents, el("p", { class: "empty" }, "There is nothing more to show."));
      return;
    }
    say(kind, [found.tableType.replaceAll("_", " ").toLowerCase(), `owner ${found.owner || "unknown"}`,
      found.createTime ? `created ${day(found.createTime)}` : null].filter(Boolean).join(" · "));
    put(contents, columnsOf(found), await partitionsOf(at, query, found),
      await statisticsOf(at, query), propertiesOf(found));
    if (isThis() && !before?.warm) await this.look();
  }

  /** Asks how the table is held now, and shows it in words. */
  async look() {
    const name = this.#name;
    if (!name) return null;
    try {
      const [held] = await cacheStates([name]);
      if (name === this.#name) this.#show(held);
      return held;
    } catch (error) {
      say(this.said, inWords(error));
      return null;
    }
  }

  #show(held) {
    this.badge.dataset.tone = held.warm ? "good" : "cold";
    say(this.badge, held.warm ? "warm"
      : held.reason === "cold" ? `cold: ${whyCold(held.detail)}` : inShort(held.reason));
  }

  #orders() {
    if (orders.refused) {
      return el("p", { class: "hint" }, `You may look, but give no orders: ${orders.refused}`);
    }
    return el("div", { class: "buttons", role: "group", "aria-label": "Orders" },
      ...ORDERS.map(([what, label, title]) => el("button", {
        type: "button", title, "data-order": what, onclick: () => this.#give(what),
      }, label)));
  }

  async #give(what) {
    const name = this.#name;
    const turn = this.#turn;
    try {
      const [before] = await cacheStates([name]);
      await orders.give(what, name);
      say(this.said, "The order is on its way: a connector writes it into the topic.");
      const wasSeen = await this.#seen(what, name, turn, before);
      if (turn !== this.#turn) return;
      say(this.said, wasSeen ? DONE[what]
        : "No effect yet. Check that a connector runs and that the table exists; see metatide doctor.");
      this.changed();
    } catch (error) {
      if (turn === this.#turn) say(this.said, `The order wasn't taken. ${inWords(error)}`);
    }
  }

  /** Whether the order took effect. */
  async #seen(what, name, turn, before) {
    const isSo = (held) => {
      if (turn !== this.#turn) return true;
      if (what === "drop") return !held.warm;
      return held.warm && (what === "warm" || held.load !== before.load);
    };
    return until(name, isSo, (held) => turn === this.#turn && this.#show(held));
  }
}
