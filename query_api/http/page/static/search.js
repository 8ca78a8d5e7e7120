// Finds tables in all databases of a catalog, for which there may be too many databases to look.

import { ask, path } from "./api.js";
import { el } from "./dom.js";
import { Pane } from "./panes.js";

const PAGE = 50;

export class Search {
  constructor() {
    this.catalog = "hive";
    this.pane = new Pane("everywhere", "Tables of all databases", {
      noun: "table",
      address: ({ db, table }) => path`#/tables/${this.catalog}/${db}/${table}`,
      read: (pattern, after) => this.#read(pattern, after),
    });
    this.node = el("details", { class: "everywhere", ontoggle: () => this.#opened() },
      el("summary", {}, "Find a table in all databases"), this.pane.node);
  }

  #opened() {
    if (!this.node.open) return;
    this.pane.filter.focus();
    this.pane.seek();
  }

  async #read(pattern, after) {
    const { data } = await ask(`/v1/table-metadata?consistency=any&limit=${PAGE}`
      + `&catalog=${encodeURIComponent(this.catalog)}`
      + `&pattern=${encodeURIComponent(pattern)}&after=${encodeURIComponent(after)}`);
    const items = data.tables.map(({ dbName: db, tableName: table }) =>
      ({ key: `${db}.${table}`, db, table }));
    return { items, next: data.next };
  }
}
