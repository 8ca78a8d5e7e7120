// Health at a glance.

import { Chart } from "./chart.js";
import { card, el, put, say } from "./dom.js";
import { RecentEvents } from "./events.js";
import { inWords } from "./api.js";
import { confirm } from "./dialogs.js";
import { Bars } from "./bars.js";
import { Connectors } from "./connectors.js";
import { Latency } from "./latency.js";
import { missedOf } from "./missed.js";
import { notices } from "./notices.js";
import { orders } from "./orders.js";
import { inShort, textOf, whyCold } from "./reasons.js";
import { Rates, Series } from "./series.js";
import { pausedShards } from "./shared.js";
import { summarize } from "./summary.js";
import { count, many, milliseconds, percent, rate } from "./units.js";
import { Calls } from "./thrift.js";
import { Workers } from "./workers.js";

export class Health {
  #rates = new Rates();
  #reads = { series: new Series(), chart: new Chart("Reads a second: from the cache below, from the database above", ["hit", "miss"], rate) };
  #share = { series: new Series(), chart: new Chart("Share of reads that the cache answered", ["hit"], percent, { most: 1 }) };
  #lag = { series: new Series(), chart: new Chart("Age of the oldest event that the cache lacks", ["lag"], milliseconds, { least: 10 }) };
  #misses = new Bars("No read has missed since the workers began.");
  #cold = new Bars("Everything that was read is warm.");
  #connectors = new Connectors();
  #latency = new Latency();
  #calls = new Calls();
  #missed = new Bars("No table has been missed since the workers began.");
  #workers = new Workers();
  #events = new RecentEvents();
  #summary = null;

  constructor(node) {
    this.node = node;
    this.figures = Object.fromEntries(["reads", "share", "lag", "tables"].map((name) => [name, {
      main: el("p", { class: "figure" }, "–"), more: el("p", { class: "more" }),
    }]));
    this.legend = [el("span", { class: "key hit" }), el("span", { class: "key miss" })];
    this.figures.reads.more.append(...this.legend);
    this.split = el("div", { class: "split", role: "img" },
      el("span", { class: "warm" }), el("span", { class: "cold" }));
    this.serving = el("div", { class: "serving" });
    put(node,
      el("div", { class: "figures" },
        this.#figure("Reads", "reads", this.#reads.chart.node),
        this.#figure("From the cache", "share", this.#share.chart.node),
        this.#figure("Lag", "lag", this.#lag.chart.node),
        this.#figure("Tables in the cache", "tables", this.split)),
      el("div", { class: "columns" },
        el("div", {},
          card("Why reads missed", "misses", el("p", { class: "hint" },
            "Since the workers began. A miss is answered by the database."), this.#misses.node),
          card("Tables most often missed", "missed", this.#missed.node),
          card("Why tables are cold", "cold", this.#cold.node),
          card("Time to answer", "latency", this.#latency.node),
          card("Connectors", "connectors", this.#connectors.node),
          card("Workers and shards", "workers", this.#workers.node, this.serving)),
        el("div", {},
          card("Recent events", "events", this.#events.node),
          card("Calls over Thrift", "calls", this.#calls.node))));
  }

  show() {
    this.#events.ask();
  }

  /** What the workers have kept of the last hour. */
  begin({ moments }) {
    const now = performance.now() / 1_000;
    for (const { ago_s: agoS, hits_per_s: hits, misses_per_s: misses, missing_age_s: ageS } of moments) {
      const time = now - agoS;
      this.#reads.series.add(time, [hits, misses]);
      if (ageS !== null) this.#lag.series.add(time, [ageS * 1_000]);
      if (hits + misses) this.#share.series.add(time, [hits / (hits + misses)]);
    }
  }

  update(overview) {
    const now = performance.now() / 1_000;
    const summary = summarize(overview);
    this.#summary = summary;
    this.#updateReads(summary, now);
    this.#updateLag(summary, now);
    this.#updateTables(summary);
    this.#misses.update(summary.misses.map(([reason, number]) => ({
      key: reason, label: reason, more: inShort(reason), number, text: textOf(reason),
    })));
    this.#cold.update(summary.cold.map(([why, number]) => ({
      key: why, label: why.replaceAll("_", " "), more: whyCold(why), number,
    })));
    this.#connectors.update(summary.health, now);
    this.#latency.update(overview.workers, now);
    this.#calls.update(overview.workers);
    this.#missed.update(missedOf(overview.workers));
    this.#workers.update(overview, summary);
    this.#updateServing(overview);
    if (!this.node.hidden) this.#events.update(summary.applied);
  }

  /** One line for the head of the page. */
  verdict(overview) {
    const { faults, unowned, health } = this.#summary;
    if (pausedShards(overview)) return { tone: "warn", text: "Serving is paused" };
    if (overview.event === null) return { tone: "bad", text: "The database doesn't answer" };
    if (faults.length) return { tone: "bad", text: faults[0] };
    if (health.problem !== null) return { tone: health.tone, text: health.problem };
    if (unowned.length) {
      return { tone: "warn", text: `${many(unowned.length, "shard")} without a worker` };
    }
    return { tone: "good", text: `All is well at event ${count(overview.event)}` };
  }

  #figure(title, name, drawing) {
    const { main, more } = this.figures[name];
    return card(title, name, main, more, drawing);
  }

  #updateReads(summary, now) {
    const rates = this.#rates.next(now, new Map([["hit", summary.hits], ["miss", summary.missed]]));
    if (rates !== null) {
      const values = [rates.get("hit"), rates.get("miss")];
      this.#reads.series.add(now, values);
      say(this.figures.reads.main, rate(values[0] + values[1]));
      say(this.legend[0], `${rate(values[0])} hits`);
      say(this.legend[1], `${rate(values[1])} misses`);
      const sum = values[0] + values[1];
      if (sum) this.#share.series.add(now, [values[0] / sum]);
    }
    this.#reads.chart.draw(this.#reads.series, now);
    const all = summary.hits + summary.missed;
    const share = all ? summary.hits / all : 0;
    say(this.figures.share.main, all ? percent(share) : "–");
    say(this.figures.share.more, all ? `of ${many(all, "read")} since the workers began`
      : "Nobody has read anything yet");
    this.#share.chart.draw(this.#share.series, now);
  }

  #updateLag({ event, health: { ageS, missing } }, now) {
    const ageMs = ageS === null ? null : ageS * 1_000;
    if (ageMs !== null) this.#lag.series.add(now, [ageMs]);
    say(this.figures.lag.main, ageMs === null ? "–" : milliseconds(ageMs));
    say(this.figures.lag.more, event === null ? "The lag isn't known without a database"
      : missing ? `${many(missing, "event")} missing` : "No event missing");
    this.#lag.chart.draw(this.#lag.series, now);
  }

  #updateTables({ warm, coldTables, named, isCounted }) {
    const all = Math.max(1, warm + coldTables);
    this.split.children[0].style.flexGrow = warm / all;
    this.split.children[1].style.flexGrow = coldTables / all;
    this.split.children[1].hidden = !coldTables;
    this.split.setAttribute("aria-label", `${count(warm)} warm, ${count(coldTables)} cold`);
    say(this.figures.tables.main, isCounted ? `${count(warm)} warm` : "Counting …");
    const others = named - warm - coldTables;
    say(this.figures.tables.more,
      `${count(coldTables)} cold${others > 0 ? `, ${count(others)} never asked for` : ""}`);
  }

  #updateServing(overview) {
    const paused = pausedShards(overview);
    const key = `${paused > 0} ${orders.refused}`;
    if (this.serving.dataset.key === key) return;
    this.serving.dataset.key = key;
    const resume = () => this.#order("resume", () => orders.resume());
    const pause = () => confirm("Pause serving?",
      "Until serving is resumed, the database answers every read.", "Pause serving",
      () => this.#order("pause", () => orders.pause()));
    const button = paused
      ? el("button", { type: "button", class: "main", onclick: resume }, "Resume serving")
      : el("button", { type: "button", onclick: pause }, "Pause serving");
    put(this.serving,
      el("p", {}, paused ? "Serving is paused: the database answers everything."
        : "The cache answers reads wherever it can prove that it may."),
      orders.refused ? el("p", { class: "hint" }, `You can't change that: ${orders.refused}`) : button);
  }

  async #order(what, order) {
    try {
      await order();
      notices.clear("order");
    } catch (error) {
      notices.set("order", "bad", `The order to ${what} wasn't taken. ${inWords(error)}`);
    }
  }
}
