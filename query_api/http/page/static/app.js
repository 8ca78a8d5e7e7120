// Starts the page: polls the overview, shows the view that the address names.

import { ask, inWords, token } from "./api.js";
import { say } from "./dom.js";
import { Health } from "./health.js";
import { notices } from "./notices.js";
import { orders } from "./orders.js";
import { Tables } from "./tables.js";
import { askForToken, showTokenButton } from "./dialogs.js";
import { position } from "./shared.js";

const EVERY_MS = 1_000;
const state = document.getElementById("state");
const asked = document.getElementById("asked");
const views = {
  health: new Health(document.getElementById("health")),
  tables: new Tables(document.getElementById("tables")),
};
let isUnknown = false;
let isFilled = false;

/** Shows the view that the address begins with; the view gets the rest of it. */
function show() {
  const [name, ...rest] = location.hash.replace(/^#\/?/, "").split("/");
  if (name === "main") return;
  const shown = name in views ? name : "health";
  for (const [one, view] of Object.entries(views)) view.node.hidden = one !== shown;
  for (const link of document.querySelectorAll("nav a")) {
    if (link.dataset.view === shown) link.setAttribute("aria-current", "page");
    else link.removeAttribute("aria-current");
  }
  const title = shown === "health" ? "Health" : "Tables";
  document.title = `Metatide: ${title}`;
  say(document.getElementById("title"), title);
  views[shown].show(rest.map(unescaped));
}

/** A part of the address; one that nothing was escaped to, as `a%`, is taken as it is. */
function unescaped(part) {
  try {
    return decodeURIComponent(part);
  } catch {
    return part;
  }
}

async function poll() {
  try {
    const { data } = await ask("/v1/overview");
    isUnknown = false;
    position.now = data.position;
    notices.clear("server");
    views.health.update(data);
    const { tone, text } = views.health.verdict(data);
    state.dataset.tone = tone;
    say(state, text);
    say(asked, `Asked at ${new Date().toLocaleTimeString("en-GB")}`);
  } catch (error) {
    await explain(error);
  }
}

async function explain(error) {
  state.dataset.tone = "bad";
  if (error.status === 401) {
    say(state, "A token is needed");
    if (!isUnknown) askForToken(inWords(error), start);
    else if (token.get()) notices.set("server", "bad", "This token is not valid here.");
    isUnknown = true;
    return;
  }
  if (error.status === 404) {
    await wait();
    return;
  }
  say(state, "No answer");
  notices.set("server", "bad", `${inWords(error)} The page goes on asking.`);
}

/** Without a worker, this server only knows what the stack is waiting for. */
async function wait() {
  say(state, "Not ready");
  try {
    const response = await fetch("./readyz", { cache: "no-store" });
    const { ready, checks } = await response.json();
    if (ready) location.reload();
    const words = checks.filter((one) => !one.ok).map((one) => `${one.name}: ${one.detail}`);
    notices.set("server", "warn", `Not all is ready yet. ${words.join("; ")}`);
  } catch {
    notices.set("server", "bad", "This server doesn't answer. The page keeps trying.");
  }
}

async function start() {
  await orders.look();
  showTokenButton(orders.refused !== "", start);
  show();
  await remember();
  await poll();
}

/** Fills the charts with the last hour; without it they begin now. */
async function remember() {
  if (isFilled) return;
  try {
    views.health.begin((await ask("/v1/history")).data);
    isFilled = true;
  } catch {
    // The overview is asked next, and says what is wrong.
  }
}

async function keepPolling() {
  for (;;) {
    await new Promise((done) => setTimeout(done, EVERY_MS));
    if (!document.hidden) await poll();
  }
}

document.querySelector(".skip").addEventListener("click", (event) => {
  event.preventDefault();
  document.getElementById("main").focus();
});
addEventListener("hashchange", () => {
  show();
  scrollTo(0, 0);
});
await start();
keepPolling();
