// The browser: databases, their tables, and one of these.

import { ask, path } from "./api.js";
import { el, put } from "./dom.js";
import { cacheStates } from "./orders.js";
import { Pane } from "./panes.js";
import { inShort, whyCold } from "./reasons.js";
import { Search } from "./search.js";
import { TableDetail } from "./table.js";

const PAGE = 200;
const MARK_EVERY_MS = 2_000;

export class Tables {
  #catalog = "hive";
  #db = "";
  #turn = 0;

  constructor(node) {
    this.node = node;
    this.databases = new Pane("databases", "Databases", {
      noun: "database",
      address: ({ key }) => path`#/tables/${this.#catalog}/${key}`,
      read: (pattern, after) => this.#databases(pattern, after),
    });
    this.tables = new Pane("tables", "Tables", {
      noun: "table",
      address: ({ key }) => path`#/tables/${this.#catalog}/${this.#db}/${key}`,
      read: (pattern, after) => this.#tables(pattern, after),
      shown: () => this.#mark(),
    });
    this.detail = new TableDetail(() => this.#mark());
    this.search = new Search();
    this.databases.right = this.tables;
    this.tables.left = this.databases;
    this.tables.right = this.detail;
    this.detail.left = this.tables;
    this.back = el("a", { class: "back", href: "#/tables" }, "Back");
    put(node, this.back, this.search.node, el("div", { class: "panes" },
      this.databases.node, this.tables.node, this.detail.node));
    setInterval(() => this.#lookAgain(), MARK_EVERY_MS);
  }

  async show([catalog = "hive", db = "", table = ""]) {
    const turn = ++this.#turn;
    const isOther = catalog !== this.#catalog || db !== this.#db;
    [this.#catalog, this.#db] = [catalog || "hive", db];
    this.search.catalog = this.#catalog;
    this.node.dataset.depth = table ? "table" : db ? "tables" : "databases";
    this.back.hidden = !db;
    this.back.href = table ? path`#/tables/${this.#catalog}/${db}` : "#/tables";
    this.back.textContent = table ? `Back to ${db}` : "Back to the databases";
    if (isOther) this.tables.filter.value = "";
    this.tables.node.hidden = !db;
    await this.databases.open(this.#catalog, db);
    if (turn !== this.#turn) return;
    if (db) await this.tables.open(`${this.#catalog} ${db}`, table);
    if (turn !== this.#turn) return;
    await this.detail.show(this.#catalog, db, table);
  }

  #lookAgain() {
    if (this.node.hidden || document.hidden) return;
    this.#mark();
    this.detail.look();
  }

  async #databases(pattern, after) {
    const { data } = await ask(`/v1/databases?${this.#query(pattern, after)}`);
    return { items: data.databases.map(({ name }) => ({ key: name })), next: data.next };
  }

  async #tables(pattern, after) {
    const { data } = await ask(path`/v1/databases/${this.#db}/tables` + `?${this.#query(pattern, after)}`);
    return { items: data.tables.map(({ tableName }) => ({ key: tableName })), next: data.next };
  }

  #query(pattern, after) {
    return new URLSearchParams(
      { consistency: "any", limit: PAGE, catalog: this.#catalog, pattern, after });
  }

  /** Asks how the tables of the list are held; reads none of them. */
  async #mark() {
    // A name that contains a dot can't be asked about.
    const names = this.tables.items.map((item) => item.key).filter((name) => !name.includes("."));
    if (!this.#db || !names.length) return;
    const db = this.#db;
    const marks = new Map();
    try {
      const held = await cacheStates(names.map((table) => `${this.#catalog}.${db}.${table}`));
      held.forEach((one, i) => marks.set(names[i], one.warm ? ["good", "warm"]
        : ["cold", one.reason === "cold" ? `cold: ${whyCold(one.detail)}` : inShort(one.reason)]));
    } catch {
      return;
    }
    if (db === this.#db) this.tables.mark(marks);
  }
}
