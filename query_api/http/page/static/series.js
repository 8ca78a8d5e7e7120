// What the charts show: figures of the last hour, of which the page keeps those that come.

const KEPT_S = 3_600;
const LEAST_S = 120;

/** Points in time, the oldest first. */
export class Series {
  constructor() {
    this.points = [];
  }

  add(time, values) {
    this.points.push({ time, values });
    while (this.points[0].time < time - KEPT_S) this.points.shift();
  }

  /** The time that a chart shows: all that is kept, and some minutes at least. */
  spanS(now) {
    return Math.max(LEAST_S, now - (this.points[0]?.time ?? now));
  }

  get last() {
    return this.points.at(-1);
  }
}

/** Turns counters of workers into rates. A restarted worker counts from 0 again. */
export class Rates {
  constructor() {
    this.before = null;
  }

  /** `counters` has numbers by key. Gives the rates by key, or null the first time. */
  next(time, counters) {
    const before = this.before;
    this.before = { time, counters };
    if (before === null || time <= before.time) return null;
    const found = new Map();
    for (const [key, number] of counters) {
      const grown = number - (before.counters.get(key) ?? 0);
      found.set(key, (grown < 0 ? number : grown) / (time - before.time));
    }
    return found;
  }
}
