// The browser: databases, their tables, and one of these.

import { ask, inWords, path } from "./api.js";
import { el, put } from "./dom.js";
import { heldOf } from "./orders.js";
import { Pane } from "./panes.js";
import { inShort, whyCold } from "./reasons.js";
import { Search } from "./search.js";
import { TableDetail } from "./table.js";

const PAGE = 200;
const MARK_EVERY_MS = 2_000;

export class Tables {
  #catalog = "hive";
  #db = "";
  #table = "";
  #lists = { databases: "", tables: "" };
  #found = { databases: [], tables: [] };
  #turn = 0;

  constructor(node) {
    this.node = node;
    this.databases = new Pane("databases", "Databases", {
      address: ({ key }) => path`#/tables/${this.#catalog}/${key}`,
      seek: () => this.#listDatabases(true),
      more: () => this.#listDatabases(true, this.#next.databases),
    });
    this.tables = new Pane("tables", "Tables", {
      address: ({ key }) => path`#/tables/${this.#catalog}/${this.#db}/${key}`,
      seek: () => this.#listTables(true),
      more: () => this.#listTables(true, this.#next.tables),
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

  #next = { databases: null, tables: null };

  async show([catalog = "hive", db = "", table = ""]) {
    const turn = ++this.#turn;
    const isOther = catalog !== this.#catalog || db !== this.#db;
    [this.#catalog, this.#db, this.#table] = [catalog || "hive", db, table];
    this.search.catalog = this.#catalog;
    this.node.dataset.depth = table ? "table" : db ? "tables" : "databases";
    this.back.hidden = !db;
    this.back.href = table ? path`#/tables/${this.#catalog}/${db}` : "#/tables";
    this.back.textContent = table ? `Back to ${db}` : "Back to the databases";
    if (isOther) this.tables.filter.value = "";
    this.tables.node.hidden = !db;
    await this.#listDatabases();
    if (turn !== this.#turn) return;
    if (db) await this.#listTables();
    if (turn !== this.#turn) return;
    await this.detail.show(this.#catalog, db, table);
  }

  #lookAgain() {
    if (this.node.hidden || document.hidden) return;
    this.#mark();
    this.detail.look();
  }

  async #listDatabases(again = false, after = "") {
    const key = `${this.#catalog} ${this.databases.pattern} ${after}`;
    const url = `/v1/databases?consistency=any&limit=${PAGE}&catalog=${encodeURIComponent(this.#catalog)}`
      + `&pattern=${encodeURIComponent(this.databases.pattern)}&after=${encodeURIComponent(after)}`;
    await this.#list("databases", this.databases, url, key, again, after, "database",
      (data) => data.databases.map(({ name }) => ({ key: name })), this.#db);
  }

  async #listTables(again = false, after = "") {
    const key = `${this.#catalog} ${this.#db} ${this.tables.pattern} ${after}`;
    const url = path`/v1/databases/${this.#db}/tables`
      + `?consistency=any&limit=${PAGE}&catalog=${encodeURIComponent(this.#catalog)}`
      + `&pattern=${encodeURIComponent(this.tables.pattern)}&after=${encodeURIComponent(after)}`;
    await this.#list("tables", this.tables, url, key, again, after, "table",
      (data) => data.tables.map(({ tableName }) => ({ key: tableName })), this.#table);
    await this.#mark();
  }

  async #list(name, pane, url, key, again, after, noun, itemsOf, chosen) {
    if (again || this.#lists[name] !== key) {
      try {
        const { data } = await ask(url);
        const items = itemsOf(data);
        this.#found[name] = after ? [...this.#found[name], ...items] : items;
        this.#next[name] = data.next;
        this.#lists[name] = key;
      } catch (error) {
        this.#lists[name] = "";
        pane.fail(inWords(error));
        return;
      }
    }
    pane.show(this.#found[name], chosen, this.#next[name], noun);
  }

  /** Asks how the tables of the list are held; reads none of them. */
  async #mark() {
    // A name that contains a dot can't be asked about.
    const names = this.#found.tables.map((item) => item.key).filter((name) => !name.includes("."));
    if (!this.#db || !names.length) return;
    const db = this.#db;
    const marks = new Map();
    try {
      for (let start = 0; start < names.length; start += 1_000) {
        const some = names.slice(start, start + 1_000);
        const held = await heldOf(some.map((table) => `${this.#catalog}.${db}.${table}`));
        held.forEach((one, i) => marks.set(some[i], one.warm ? ["good", "warm"]
          : ["cold", one.reason === "cold" ? `cold: ${whyCold(one.detail)}` : inShort(one.reason)]));
      }
    } catch {
      return;
    }
    if (db === this.#db) this.tables.mark(marks);
  }
}
