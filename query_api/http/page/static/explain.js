// Reads a table with a chosen consistency, and explains in words who answered and why.

import { ask, inWords } from "./api.js";
import { el, prose, put, say } from "./dom.js";
import { inShort, textOf, whyCold } from "./reasons.js";
import { position } from "./shared.js";
import { milliseconds, sentence } from "./units.js";

const READS = [
  ["", "the table"], ["/partition-count", "its partitions"],
  ["/statistics", "its statistics"], ["/constraints", "its constraints"],
];
const CONSISTENCIES = [
  ["latest", "latest", "all that was committed before"],
  ["within", "within", "as of some milliseconds ago at most"],
  ["any", "any", "whatever the cache has"],
  ["at_least", "at least", "as new as a position"],
  ["write_ids", "write ids", "exactly the commits of a list"],
];

export class Explain {
  constructor(at, query, name) {
    this.at = at;
    this.query = query;
    this.name = name;
    this.what = el("select", { id: "explain-read" },
      ...READS.map(([value, text]) => el("option", { value }, text)));
    this.extra = el("div", { class: "extra" });
    this.answer = el("div", { class: "answer", "aria-live": "polite" });
    this.node = el("section", { class: "explain", "aria-labelledby": "explain-title" },
      el("h3", { id: "explain-title" }, "Explain this read"),
      this.answer, this.#form());
  }

  /** Reads the table as most readers do; gives the table, or null after a failure. */
  async read() {
    return this.#ask("", "consistency=latest");
  }

  #form() {
    const choice = ([value, label, hint], i) => el("label", { class: "choice", title: hint },
      el("input", { type: "radio", name: "consistency", value, checked: i === 0,
        onchange: () => this.#choose(value) }), el("span", {}, label));
    return el("form", { onsubmit: async (event) => {
      event.preventDefault();
      const chosen = event.target.elements.consistency.value;
      await this.#ask(this.what.value, this.#parameters(chosen));
    } },
    el("label", { for: "explain-read" }, "Read"), this.what,
    el("fieldset", {}, el("legend", {}, "with"), ...CONSISTENCIES.map(choice)),
    this.extra,
    el("button", { type: "submit", class: "main" }, "Explain"));
  }

  /** Shows the fields that a consistency needs, filled with current values. */
  async #choose(consistency) {
    if (consistency === "at_least") {
      put(this.extra, ...field("min-position", "Position", position.now));
    } else if (consistency === "within") {
      put(this.extra, ...field("max-age-ms", "Age in ms", "100"));
    } else if (consistency === "write_ids") {
      put(this.extra, ...field("write-ids", "Write-id list", ""), ...field("table-id", "Table id", ""));
      try {
        const { data } = await ask(`/v1/write-ids?table=${encodeURIComponent(this.name)}`);
        const [ids] = data.tables;
        this.extra.querySelector("#write-ids").value = ids.validWriteIdList;
        this.extra.querySelector("#table-id").value = ids.id ?? "";
      } catch {
        // The user must fill in the fields.
      }
    } else {
      put(this.extra);
    }
  }

  #parameters(consistency) {
    const given = new URLSearchParams({ consistency });
    for (const input of this.extra.querySelectorAll("input")) {
      given.set(input.id.replaceAll("-", "_"), input.value.trim());
    }
    return given.toString();
  }

  async #ask(what, parameters) {
    const began = performance.now();
    try {
      const { data, headers } = await ask(`${this.at}${what}?${this.query}&${parameters}`);
      this.#show(headers, performance.now() - began);
      return data;
    } catch (error) {
      put(this.answer, el("p", { class: "verdict", "data-tone": "bad" }, inWords(error)));
      return null;
    }
  }

  #show(headers, ms) {
    const get = (name) => headers.get(`metatide-${name}`) ?? "";
    const [source, reason, detail] = ["source", "reason", "detail"].map(get);
    const isHit = source === "cache";
    const short = inShort(reason);
    const why = reason === "cold" && detail ? `${short}: ${whyCold(detail)}` : short;
    const text = textOf(reason);
    put(this.answer,
      el("p", { class: "verdict", "data-tone": isHit ? "good" : "cold", "data-reason": reason },
        el("b", {}, isHit ? "Answered from the cache" : "Answered by the database"),
        el("span", {}, `, ${why}`)),
      el("dl", {},
        el("dt", {}, "Reason"),
        el("dd", {}, el("code", {}, reason), " ", text ? prose(sentence(text.meaning)) : null),
        ...(text ? [el("dt", {}, "What to do"), el("dd", {}, prose(sentence(text.remedy)))] : []),
        el("dt", {}, "Complete up to"), el("dd", {}, el("code", {}, get("position")),
          `, in ${milliseconds(Math.max(1, ms))} seen from here`)));
  }
}

function field(id, label, value) {
  return [el("label", { for: id }, label),
    el("input", { id, value, autocomplete: "off", spellcheck: "false", required: true })];
}
