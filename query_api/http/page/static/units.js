// Figures as people read them, each with its unit.

const WHOLE = new Intl.NumberFormat("en", { maximumFractionDigits: 0 });
const ONE = new Intl.NumberFormat("en", { maximumFractionDigits: 1 });
const FINE = new Intl.NumberFormat("en", { maximumSignificantDigits: 2 });
const UNITS = ["B", "KiB", "MiB", "GiB", "TiB", "PiB"];

export function count(number) {
  return WHOLE.format(number);
}

/** `2 tables`, `1 table`. */
export function many(number, noun) {
  return `${count(number)} ${noun}${number === 1 ? "" : "s"}`;
}

/** A clause as a sentence. */
export function sentence(text) {
  const capitalized = text.charAt(0).toUpperCase() + text.slice(1);
  return /[.!?…]$/.test(capitalized) ? capitalized : `${capitalized}.`;
}

export function rate(perSecond) {
  return `${perSecond >= 100 ? WHOLE.format(perSecond) : ONE.format(perSecond)}/s`;
}

export function percent(share) {
  // A share below 1 must not be rounded to 100 %.
  const shown = share < 1 ? Math.min(99.9, share * 100) : 100;
  return `${ONE.format(shown)} %`;
}

export function milliseconds(ms) {
  if (ms < 1_000) return `${WHOLE.format(ms)} ms`;
  return seconds(ms / 1_000);
}

/** A time that may be shorter than a millisecond. */
export function fineTime(s) {
  return s < 0.01 ? `${FINE.format(s * 1_000)} ms` : milliseconds(s * 1_000);
}

export function seconds(s) {
  if (s < 10) return `${ONE.format(s)} s`;
  if (s < 120) return `${WHOLE.format(s)} s`;
  if (s < 7_200) return `${WHOLE.format(s / 60)} min`;
  if (s < 172_800) return `${WHOLE.format(s / 3_600)} h`;
  return `${WHOLE.format(s / 86_400)} days`;
}

export function ago(unixSeconds) {
  const s = Date.now() / 1_000 - unixSeconds;
  return s < 1.5 ? "now" : `${seconds(s)} ago`;
}

export function bytes(number) {
  let unit = 0;
  let value = number;
  while (value >= 1_024 && unit < UNITS.length - 1) {
    value /= 1_024;
    unit += 1;
  }
  return `${value >= 10 || unit === 0 ? WHOLE.format(value) : ONE.format(value)} ${UNITS[unit]}`;
}

export function day(unixSeconds) {
  return new Date(unixSeconds * 1_000).toISOString().slice(0, 16).replace("T", " ") + " UTC";
}

/** The event id in a position such as `0:12345678`. */
export function eventOf(position) {
  return Number(position.split(":")[1]);
}
