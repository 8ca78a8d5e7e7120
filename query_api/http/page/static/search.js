// Finds tables in all databases of a catalog, for which there may be too many databases to look.

import { ask, inWords, path } from "./api.js";
import { el } from "./dom.js";
import { Pane } from "./panes.js";

const PAGE = 50;

export class Search {
  #items = [];
  #next = null;
  #turn = 0;

  constructor() {
    this.catalog = "hive";
    this.pane = new Pane("everywhere", "Tables of all databases", {
      address: ({ db, table }) => path`#/tables/${this.catalog}/${db}/${table}`,
      seek: () => this.#seek(),
      more: () => this.#seek(this.#next),
    });
    this.node = el("details", { class: "everywhere", ontoggle: () => this.#opened() },
      el("summary", {}, "Find a table in all databases"), this.pane.node);
  }

  #opened() {
    if (!this.node.open) return;
    this.pane.filter.focus();
    this.#seek();
  }

  async #seek(after = "") {
    const turn = ++this.#turn;
    try {
      const { data } = await ask(`/v1/table-metadata?consistency=any&limit=${PAGE}`
        + `&catalog=${encodeURIComponent(this.catalog)}`
        + `&pattern=${encodeURIComponent(this.pane.pattern)}&after=${encodeURIComponent(after)}`);
      if (turn !== this.#turn) return;
      const items = data.tables.map(({ dbName: db, tableName: table }) =>
        ({ key: `${db}.${table}`, db, table }));
      this.#items = after ? [...this.#items, ...items] : items;
      this.#next = data.next;
      this.pane.show(this.#items, "", this.#next, "table");
    } catch (error) {
      if (turn === this.#turn) this.pane.fail(inWords(error));
    }
  }
}
