// What several parts of the page know.

/** Where the cache is, as the last overview said. */
export const position = { now: "0:0" };

/** The number of shards that are paused. */
export function pausedShards(overview) {
  return overview.workers.flatMap((worker) => worker.shards).filter((shard) => shard.paused).length;
}
