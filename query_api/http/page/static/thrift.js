// Calls over Thrift: the clients, the methods that they call, and who answers them.

import { el, put, say, table } from "./dom.js";
import { count, many } from "./units.js";

const METHODS_MAX = 20;

export class Calls {
  constructor() {
    this.clients = el("p", { class: "hint" });
    this.shadow = el("p", { hidden: true });
    this.all = el("div");
    this.node = el("div", {}, this.clients, this.shadow, this.all);
    this.shown = "";
  }

  update(workers) {
    const parts = workers.map((worker) => worker.thrift).filter(Boolean);
    say(this.clients, parts.length
      ? `${many(parts.reduce((sum, part) => sum + part.connections, 0), "connection")} now. Calls since the workers began.`
      : "No worker serves Thrift.");
    const methods = new Map();
    for (const { method, ...counts } of parts.flatMap((part) => part.methods)) {
      const sum = methods.get(method) ?? {};
      for (const [name, number] of Object.entries(counts)) sum[name] = (sum[name] ?? 0) + number;
      methods.set(method, sum);
    }
    const different = [...methods.values()].reduce((sum, one) => sum + one.different, 0);
    this.shadow.hidden = !different;
    say(this.shadow, `Shadow mode found ${many(different, "difference")} between cache and metastore: `
      + "see /v1/thrift/differences of each worker before the cache answers these clients.");
    const calls = ({ cache, database, metastore }) => cache + database + metastore;
    const rows = [...methods].sort(([a, m], [b, n]) => calls(n) - calls(m) || (a < b ? -1 : 1))
      .slice(0, METHODS_MAX).map(([method, one]) =>
        [method, count(one.cache), count(one.database), count(one.metastore), one.different ? count(one.different) : "–"]);
    const shown = JSON.stringify(rows);
    if (shown === this.shown) return;
    this.shown = shown;
    put(this.all, rows.length ? table("Calls by method",
      ["Method", "Cache", "Database", "Metastore", "Different"],
      rows.map(([name, ...cells]) => [el("th", { scope: "row" }, name), ...cells])) : null);
  }
}
