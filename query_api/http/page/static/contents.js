// What is in a table: columns, partitions, statistics, properties.

import { ask, inWords } from "./api.js";
import { el, put, say, table } from "./dom.js";
import { Pages } from "./pages.js";
import { count, many } from "./units.js";

const PARTITIONS = 50;

export function columnsOf(found) {
  const kinds = [...(found.sd?.cols ?? []).map((one) => [one, ""]),
    ...(found.partitionKeys ?? []).map((one) => [one, "partition key"])];
  if (!kinds.length) return part("Columns", el("p", { class: "empty" }, "It has no columns."));
  return part(`Columns`, table("Columns", ["Name", "Type", "Comment"], kinds.map(([one, kind]) => [
    el("th", { scope: "row" }, one.name), el("code", {}, one.type),
    [kind, one.comment].filter(Boolean).join(", "),
  ])));
}

/** Lists the names of partitions; a filter narrows them down. */
export async function partitionsOf(at, query, found) {
  if (!found.partitionKeys?.length) {
    return part("Partitions", el("p", { class: "empty" }, "This table isn't partitioned."));
  }
  const status = el("p", { class: "hint", role: "status" });
  const list = el("ul", { class: "partitions", "aria-label": "Partitions" });
  const key = found.partitionKeys[0].name;
  const filter = el("input", { id: "partition-filter", autocomplete: "off", spellcheck: "false",
    placeholder: `${key} >= '2026-01-01'` });
  let where = "";
  let all = 0;
  const pages = new Pages("partitions", {
    read: async (after) => {
      if (!after) {
        where = filter.value.trim() ? `&filter=${encodeURIComponent(filter.value.trim())}` : "";
        all = (await ask(`${at}/partition-count?${query}&consistency=any${where}`)).data.count;
      }
      const { data } = await ask(`${at}/partition-names?${query}&consistency=any&limit=${PARTITIONS}${where}`
        + `&after=${encodeURIComponent(after)}`);
      return { items: data.names, next: data.next };
    },
    show: (names) => {
      put(list, names.map((name) => el("li", {}, name)));
      say(status, `${many(all, "partition")}${where ? " found" : ""}`
        + `${pages.isWhole ? "" : `, ${pages.range} shown`}`);
    },
    fail: (text) => {
      put(list);
      say(status, text);
    },
  });
  await pages.begin();
  return part("Partitions", el("form", { onsubmit: (event) => {
    event.preventDefault();
    pages.begin();
  } }, el("label", { for: "partition-filter" }, "Filter as Hive does"), filter,
  el("button", { type: "submit" }, "Apply")), status, list, pages.node);
}

export async function statisticsOf(at, query) {
  let found;
  try {
    found = (await ask(`${at}/statistics?${query}&consistency=any`)).data.tableStats;
  } catch (error) {
    return part("Statistics", el("p", { class: "empty" }, inWords(error)));
  }
  if (!found.length) {
    return part("Statistics", el("p", { class: "empty" },
      "None of the table's own; ANALYZE TABLE … COMPUTE STATISTICS FOR COLUMNS makes them. Those of partitions are kept with these."));
  }
  const rows = found.map((one) => {
    const [figures] = Object.values(one.statsData ?? {}).filter(Boolean);
    const get = (...names) => names.map((name) => figures?.[name]).find((value) => value !== undefined && value !== null);
    return [el("th", { scope: "row" }, one.colName), el("code", {}, one.colType),
      shown(get("numNulls")), shown(get("numDVs")), shown(get("lowValue", "avgColLen")),
      shown(get("highValue", "maxColLen"))];
  });
  return part("Statistics", table("Statistics",
    ["Column", "Type", "Nulls", "Distinct", "Least, or mean length", "Greatest, or length"], rows));
}

export function propertiesOf(found) {
  const rows = [["location", found.sd?.location], ["input format", found.sd?.inputFormat],
    ["serde", found.sd?.serdeInfo?.serializationLib], ["id", found.id], ["write id", found.writeId],
    ...Object.entries(found.parameters ?? {}).sort()];
  return part("Properties", el("details", {}, el("summary", {}, "Location, format and parameters"),
    table("Properties", ["Name", "Value"], rows.filter(([, value]) => value !== undefined && value !== null && value !== "")
      .map(([name, value]) => [el("th", { scope: "row" }, name), el("code", {}, String(value))]))));
}

function part(title, ...children) {
  return el("section", { class: "part" }, el("h3", {}, title), ...children);
}

function shown(value) {
  if (value === undefined) return "–";
  if (typeof value === "number") return count(value) === "0" && value ? String(value) : count(value);
  return typeof value === "object" ? JSON.stringify(value) : String(value);
}
