// Which worker owns which shard, and the state of each shard.

import { el, keyed, put, say, table } from "./dom.js";
import { bytes, count, eventOf, many, milliseconds, seconds } from "./units.js";

export class Workers {
  constructor() {
    this.list = el("ul", { class: "workers-list" });
    this.all = el("div");
    this.unowned = el("p", { class: "hint", hidden: true });
    this.details = el("details", { ontoggle: () => this.#updateTable() },
      el("summary", {}, "Shard by shard"), this.all);
    this.node = el("div", {}, this.list, this.unowned, this.details);
    this.overview = null;
  }

  update(overview, { unowned }) {
    this.overview = overview;
    keyed(this.list, overview.workers, (worker) => worker.status?.address ?? worker.url, make, fill);
    this.unowned.hidden = !unowned.length;
    say(this.unowned, `Nobody holds ${unowned.length > 1 ? "shards" : "shard"} ${unowned.join(", ")}: the database answers for them.`);
    this.#updateTable();
  }

  #updateTable() {
    if (!this.details.open || this.overview === null) return;
    const rows = this.overview.workers.flatMap((worker) => shardsOf(worker).map((shard) => [
      el("th", { scope: "row" }, String(shard.shard)), nameOf(worker), shard.phase,
      shard.position, count(Math.max(0, (this.overview.event ?? 0) - eventOf(shard.position))),
      shard.lag_ms === undefined ? "–" : milliseconds(shard.lag_ms),
      shard.tables ? count(shard.tables.warm) : "–",
      shard.tables ? count(Object.values(shard.tables.cold).reduce((a, b) => a + b, 0)) : "–",
    ]));
    rows.sort((a, b) => Number(a[0].textContent) - Number(b[0].textContent));
    const scrolled = this.all.firstChild?.scrollLeft ?? 0;
    const hadFocus = this.all.firstChild !== null && this.all.firstChild === document.activeElement;
    put(this.all, table("All shards",
      ["Shard", "Worker", "Phase", "Position", "Events behind", "Lag", "Warm", "Cold"], rows));
    this.all.firstChild.scrollLeft = scrolled;
    if (hadFocus) this.all.firstChild.focus();
  }
}

function make() {
  return el("li", {}, el("p", { class: "who" }, el("b"), " ", el("span", { class: "hint" })),
    el("ol", { class: "shards", "aria-label": "Shards" }));
}

function fill(node, worker) {
  const { status, fault } = worker;
  say(node.querySelector("b"), nameOf(worker));
  say(node.querySelector(".hint"), fault ?? (status === null ? "answers from images"
    : `${status.address}, Metatide ${status.version}, up for ${seconds(status.up_s)}, ${bytes(status.memory_bytes)} of memory, `
      + `${bytes(status.disk_bytes)} on disk`
      + (status.load_requests_waiting ? `, ${many(status.load_requests_waiting, "load request")} waiting` : "")));
  const bad = fault || status?.fault;
  node.dataset.tone = bad ? "bad" : status && !status.ready ? "warn" : "good";
  keyed(node.querySelector("ol"), shardsOf(worker), (shard) => shard.shard,
    (shard) => el("li", {}, String(shard.shard)), (square, shard) => {
      const tone = shard.fault ? "bad" : shard.paused || shard.phase !== "live" ? "warn" : "good";
      const words = `Shard ${shard.shard}: ${shard.fault ?? (shard.paused ? "paused" : shard.phase)}`;
      square.dataset.tone = tone;
      square.title = words;
      square.setAttribute("aria-label", words);
    });
}

function nameOf(worker) {
  return worker.status?.name ?? (worker.url || "this server");
}

/** Merges what a worker's status and its part of the overview say of each shard. */
function shardsOf(worker) {
  const parts = new Map(worker.shards.map((shard) => [shard.shard, shard]));
  const told = worker.status?.shards ?? worker.shards.map((shard) => ({ ...shard, phase: "live" }));
  return told.map((shard) => ({
    position: `${shard.epoch}:${shard.event_id}`, ...shard, ...parts.get(shard.shard),
  }));
}
