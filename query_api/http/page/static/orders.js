// Orders of administrators: to tables, and to the whole cache.

import { ask, inWords } from "./api.js";

const WATCH_MS = 300;
const WATCHED_MS = 60_000;

class Orders {
  /** Why this caller may not give orders; empty if that is allowed. */
  refused = "";

  async look() {
    try {
      await ask("/v1/admin");
      this.refused = "";
    } catch (error) {
      this.refused = inWords(error);
    }
  }

  async pause() {
    await ask("/v1/admin/pause", {});
  }

  async resume() {
    await ask("/v1/admin/resume", {});
  }

  /** `what`: warm, refresh or drop. */
  async give(what, table) {
    await ask(`/v1/admin/${what}`, { tables: [table] });
  }
}

export const orders = new Orders();

/** What the cache holds of tables, without reading them. */
export async function cacheStates(tables) {
  return (await ask("/v1/cache-states", { tables })).data.tables;
}

/** Polls until `isSo` holds; gives whether it did in time. `seen` is called each time. */
export async function until(table, isSo, seen) {
  const end = Date.now() + WATCHED_MS;
  while (Date.now() < end) {
    const [state] = await cacheStates([table]);
    seen(state);
    if (isSo(state)) return true;
    await new Promise((done) => setTimeout(done, WATCH_MS));
  }
  return false;
}
