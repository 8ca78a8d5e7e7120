// The sums and extremes of an overview.

import { healthOf } from "./connectors.js";
import { eventOf } from "./units.js";

const SERVING = new Set(["fresh", "newer"]);

export function summarize(overview) {
  const answered = overview.workers.flatMap((worker) => worker.answered);
  const misses = new Map();
  let hits = 0;
  for (const { source, reason, count } of answered) {
    if (source === "cache" && SERVING.has(reason)) hits += count;
    else misses.set(reason, (misses.get(reason) ?? 0) + count);
  }
  const shards = overview.workers.flatMap((worker) => worker.shards);
  const told = overview.workers.flatMap((worker) => worker.status?.shards ?? []);
  const cold = new Map();
  let warm = 0;
  let named = 0;
  for (const { tables } of shards) {
    if (tables === null) continue;
    warm += tables.warm;
    named += tables.named;
    for (const [why, number] of Object.entries(tables.cold)) {
      cold.set(why, (cold.get(why) ?? 0) + number);
    }
  }
  const events = shards.map((shard) => eventOf(shard.position));
  const applied = events.length ? Math.min(...events) : 0;
  const held = new Set([...shards, ...told].map(({ shard }) => shard));
  return {
    hits,
    missed: total(misses),
    misses: descending(misses),
    cold: descending(cold),
    coldTables: total(cold),
    warm,
    named,
    isCounted: shards.every((shard) => shard.tables !== null),
    applied,
    event: overview.event,
    unowned: [...Array(overview.shard_count).keys()].filter((number) => !held.has(number)),
    faults: faultsOf(overview.workers),
    health: healthOf(overview.workers),
  };
}

function faultsOf(workers) {
  const found = [];
  for (const { url, fault, status } of workers) {
    const name = status?.name ?? url;
    if (fault) found.push(`${name} ${fault}`);
    if (status?.fault) found.push(`${name}: ${status.fault}`);
    for (const shard of status?.shards ?? []) {
      if (shard.fault) found.push(`shard ${shard.shard}: ${shard.fault}`);
    }
  }
  return found;
}

function total(numbers) {
  return [...numbers.values()].reduce((a, b) => a + b, 0);
}

function descending(numbers) {
  return [...numbers].filter(([, number]) => number).sort(([a, m], [b, n]) => n - m || (a < b ? -1 : 1));
}
