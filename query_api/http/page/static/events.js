// The last events of the metastore, and whether the cache has folded them.

import { ask, inWords, path } from "./api.js";
import { el, keyed, say } from "./dom.js";
import { ago, count } from "./units.js";

const COUNT = 40;
const EVERY_MS = 2_000;

export class RecentEvents {
  #asked = 0;
  #applied = 0;
  #found = [];

  constructor() {
    this.list = el("ol", { class: "events-list" });
    this.empty = el("p", { class: "empty" }, "Nothing has happened in this metastore yet.");
    this.node = el("div", {}, this.list, this.empty);
  }

  /** `applied`: all events up to this one are in the cache. */
  update(applied) {
    this.#applied = applied;
    if (performance.now() - this.#asked >= EVERY_MS) this.ask();
    else this.#show();
  }

  async ask() {
    this.#asked = performance.now();
    try {
      this.#found = (await ask(`/v1/events?limit=${COUNT}`)).data.events;
      say(this.empty, "Nothing has happened in this metastore yet.");
      this.#show();
    } catch (error) {
      this.empty.hidden = false;
      say(this.empty, `The events can't be read. ${inWords(error)}`);
    }
  }

  #show() {
    this.empty.hidden = this.#found.length > 0;
    keyed(this.list, this.#found, (one) => one.event, make, (node, one) => {
      const isFolded = one.event <= this.#applied;
      node.dataset.folded = isFolded;
      say(node.querySelector("time"), isFolded ? ago(one.time_s) : "on its way");
    });
  }
}

function make(one) {
  const name = one.table ? `${one.database}.${one.table}` : one.database;
  const address = path`#/tables/${one.catalog || "hive"}/${one.database ?? ""}/${one.table ?? ""}`;
  const about = one.table ? el("a", { href: address }, name) : name;
  return el("li", {},
    el("span", { class: "id" }, count(one.event)),
    el("span", { class: "what" }, el("b", {}, one.type.replace(/_EVENT$/, "").replaceAll("_", " ").toLowerCase()), " ", about),
    el("time", { datetime: new Date(one.time_s * 1_000).toISOString() }));
}
