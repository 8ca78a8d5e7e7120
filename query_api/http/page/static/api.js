// Asks the server that the page came from, and no other. A gateway may have it below a path of its own.

import { sentence } from "./units.js";

const KEY = "metatide-token";
const PATIENCE_MS = 20_000;

/** What went wrong, in words; `status` is 0 if there was no answer. */
export class Problem extends Error {
  constructor(status, text) {
    super(text);
    this.status = status;
  }
}

export const token = {
  get: () => sessionStorage.getItem(KEY) ?? "",
  set: (text) => (text ? sessionStorage.setItem(KEY, text) : sessionStorage.removeItem(KEY)),
};

/** Sends a GET, or a POST if there is a body; gives the answer's JSON and headers. */
export async function ask(path, body) {
  const headers = {};
  if (token.get()) headers.authorization = `Bearer ${token.get()}`;
  const options = { headers, cache: "no-store", signal: AbortSignal.timeout(PATIENCE_MS) };
  if (body !== undefined) {
    headers["content-type"] = "application/json";
    Object.assign(options, { method: "POST", body: JSON.stringify(body) });
  }
  let response;
  try {
    response = await fetch(`.${path}`, options);
  } catch (error) {
    throw new Problem(0, error.name === "TimeoutError"
      ? `No answer within ${PATIENCE_MS / 1_000} s.`
      : "This worker doesn't answer. It may be restarting.");
  }
  if (!response.ok) throw new Problem(response.status, await detailOf(response));
  return { data: await response.json(), headers: response.headers };
}

/** A path with encoded names, which may contain any characters. */
export function path(strings, ...names) {
  return String.raw({ raw: strings }, ...names.map(encodeURIComponent));
}

/** A problem as a sentence. */
export function inWords(error) {
  return sentence(error.message);
}

async function detailOf(response) {
  try {
    return (await response.json()).detail ?? `the server answered ${response.status}`;
  } catch {
    return `the server answered ${response.status}`;
  }
}
