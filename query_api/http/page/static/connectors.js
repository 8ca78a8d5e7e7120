// The connectors, as the workers hear them.

import { el, keyed, say } from "./dom.js";
import { Rates } from "./series.js";
import { many, rate, seconds } from "./units.js";

const TONES = { green: "good", amber: "warn", red: "bad" };
const URGENCY = ["green", "amber", "red"];

/** The most urgent health that a worker reports, and each connector as it was last heard by any. */
export function healthOf(workers) {
  const healths = workers.map(({ status }) => status?.health).filter(Boolean);
  const heard = new Map();
  for (const connector of healths.flatMap((health) => health.connectors)) {
    const key = `${connector.name}@${connector.host}`;
    const other = heard.get(key);
    if (!other || connector.silent_s < other.silent_s) heard.set(key, connector);
  }
  const urgency = Math.max(0, ...healths.map((health) => URGENCY.indexOf(health.level)));
  const worst = healths.find((health) => health.level === URGENCY[urgency]);
  return {
    tone: TONES[URGENCY[urgency]],
    problem: worst?.problems[0] ?? null,
    missing: Math.max(0, ...healths.map((health) => health.missing_events ?? 0)),
    ageS: healths.length ? Math.max(0, ...healths.map((health) => health.missing_age_s ?? 0)) : null,
    isHeard: healths.length > 0,
    connectors: [...heard].sort(([a], [b]) => (a < b ? -1 : 1)).map(([, connector]) => connector),
  };
}

export class Connectors {
  #rates = new Rates();

  constructor() {
    this.list = el("ul", { class: "workers-list" });
    this.empty = el("p", { class: "hint" });
    this.node = el("div", {}, this.list, this.empty);
  }

  update({ connectors, isHeard }, now) {
    const loaded = new Map(connectors.map((one) => [keyOf(one), one.partitions_loaded]));
    const rates = this.#rates.next(now, loaded);
    keyed(this.list, connectors, keyOf, make,
      (node, one) => fill(node, one, rates?.get(keyOf(one)) ?? 0));
    this.empty.hidden = connectors.length > 0;
    say(this.empty, isHeard ? "No connector is heard: nothing new comes into the cache."
      : "Connectors aren't watched here.");
  }
}

function keyOf(connector) {
  return `${connector.name}@${connector.host}`;
}

function make() {
  return el("li", {}, el("p", { class: "who" }, el("b"), " ", el("span", { class: "hint" })));
}

function fill(node, connector, partitionsPerS) {
  node.dataset.tone = TONES[connector.level];
  say(node.querySelector("b"), `${connector.name} on ${connector.host}`);
  const parts = [
    connector.level === "green" ? "publishes" : connector.silent_s * 2 > connector.quiet_s
      ? `silent for ${seconds(connector.silent_s)}`
      : `hasn't read the log for ${seconds(connector.quiet_s)}`,
    connector.address, `at ${connector.epoch}:${connector.position}`,
    `answers requests of ${connector.leads} of ${many(connector.partitions, "partition")}`,
  ];
  if (connector.loads_running) {
    parts.push(`${many(connector.loads_running, "load")} in progress (${rate(partitionsPerS)} partitions)`);
  }
  if (connector.loads_waiting) parts.push(`${many(connector.loads_waiting, "load")} waiting`);
  if (connector.fault) parts.push(connector.fault);
  say(node.querySelector(".hint"), parts.join(", "));
}
