// Reasons of answers in words.

import { COLD, REASONS } from "./reason_texts.js";

/** A few words for a reason, what it means, and what to do about it; undefined if it is new. */
export function textOf(reason) {
  return REASONS[reason];
}

/** A few words for a reason. */
export function inShort(reason) {
  return REASONS[reason]?.short ?? reason;
}

/** A few words for why something is cold: `never_loaded`, or `doubt: renamed`. */
export function whyCold(detail) {
  const [cold, doubt] = detail.split(": ");
  return COLD[doubt ?? cold] ?? detail;
}
