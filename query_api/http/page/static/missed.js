// The tables that reads missed most often.

import { textOf } from "./reasons.js";
import { count } from "./units.js";

const MISSED_MAX = 10;

/** The tables that all workers together missed most often. */
export function missedOf(workers) {
  const tables = new Map();
  for (const { table, misses, reasons } of workers.flatMap((worker) => worker.missed ?? [])) {
    const sum = tables.get(table) ?? { misses: 0, reasons: new Map() };
    sum.misses += misses;
    for (const [reason, number] of Object.entries(reasons)) {
      sum.reasons.set(reason, (sum.reasons.get(reason) ?? 0) + number);
    }
    tables.set(table, sum);
  }
  return [...tables].sort(([a, m], [b, n]) => n.misses - m.misses || (a < b ? -1 : 1))
    .slice(0, MISSED_MAX).map(([table, { misses, reasons }]) => {
      const [[most]] = [...reasons].sort(([, m], [, n]) => n - m);
      return { key: table, label: table, number: misses, text: textOf(most),
        more: [...reasons].map(([reason, number]) => `${reason} ${count(number)}`).join(", ") };
    });
}
