// How long answers take, by who gives them, from the counts of workers' histograms.

import { el, put, say, table } from "./dom.js";
import { count, fineTime } from "./units.js";

const KEPT_S = 120;

export class Latency {
  #before = [];

  constructor() {
    this.all = el("div");
    this.more = el("p", { class: "hint" });
    this.node = el("div", {}, this.more, this.all);
    this.shown = "";
  }

  update(workers, now) {
    const sums = sumsOf(workers);
    this.#before.push({ now, sums });
    while (this.#before.length > 1 && this.#before[0].now < now - KEPT_S) this.#before.shift();
    const first = this.#before[0].sums;
    const isRecent = this.#before.length > 1 && [...sums].some(([key, { total }]) => total > (first.get(key)?.total ?? 0));
    const rows = [...sums].sort(([a], [b]) => (a < b ? -1 : 1)).map(([key, sum]) =>
      rowOf(key, isRecent ? without(sum, first.get(key)) : sum)).filter(Boolean);
    say(this.more, rows.length ? isRecent ? "In the last two minutes, at most." : "Since the workers began, at most."
      : "Nobody has read anything yet.");
    const shown = JSON.stringify(rows);
    if (shown === this.shown) return;
    this.shown = shown;
    put(this.all, rows.length ? table("Time to answer", ["Source", "Answers", "p50", "p99"],
      rows.map(([name, ...cells]) => [el("th", { scope: "row" }, name), ...cells])) : null);
  }
}

/** Adds up the histograms of all workers, by server and source. */
function sumsOf(workers) {
  const sums = new Map();
  for (const { server, source, bounds_s: bounds, counts } of workers.flatMap((one) => one.times ?? [])) {
    const key = `${source} over ${server === "http" ? "HTTP" : "Thrift"}`;
    const known = sums.get(key);
    const added = known ? known.counts.map((number, i) => number + counts[i]) : counts;
    sums.set(key, { bounds, counts: added, total: added.reduce((a, b) => a + b, 0) });
  }
  return sums;
}

/** What was counted since; a restarted worker counts from 0 again. */
function without(sum, before) {
  if (!before || before.counts.some((number, i) => number > sum.counts[i])) return sum;
  const counts = sum.counts.map((number, i) => number - before.counts[i]);
  return { bounds: sum.bounds, counts, total: sum.total - before.total };
}

function rowOf(name, { bounds, counts, total }) {
  if (!total) return null;
  const at = (share) => {
    let rest = share * total;
    const bucket = counts.findIndex((number) => (rest -= number) <= 0);
    return bucket >= 0 && bucket < bounds.length ? fineTime(bounds[bucket])
      : `over ${fineTime(bounds.at(-1))}`;
  };
  return [name, count(total), at(0.5), at(0.99)];
}
