/** Amounts, times and durations as people write them. */

import { lang, listed, words } from "./words.js";

const MINUTE = 60_000;
const BINARY = ["", "Ki", "Mi", "Gi", "Ti", "Pi"];

/** An amount of a resource, from the core's units: thousandths of cpu, bytes, whole units of all else. */
export function amount(resource, value) {
  if (resource === "cpu") return number(value / 1000);
  if (isBytes(resource)) return bytes(value);
  return number(value);
}

/** Whether a resource is counted in bytes. */
export function isBytes(resource) {
  return resource === "memory" || resource === "ephemeral-storage" || resource.startsWith("hugepages-");
}

function bytes(value) {
  let scaled = value;
  let unit = 0;
  while (Math.abs(scaled) >= 1024 && unit < BINARY.length - 1) {
    scaled /= 1024;
    unit += 1;
  }
  return `${number(scaled)}${unit ? ` ${BINARY[unit]}` : ""}`;
}

/** A number with at most two digits after the point, grouped. */
export function number(value) {
  return new Intl.NumberFormat(lang(), { maximumFractionDigits: 2 }).format(value);
}

export function percent(value) {
  return new Intl.NumberFormat(lang(), { style: "percent", maximumFractionDigits: 0 }).format(value);
}

/** Amounts of several resources in one line. */
export function amounts(byResource) {
  const parts = Object.entries(byResource ?? {}).map(([resource, value]) => `${amount(resource, value)} ${short(resource)}`);
  return listed(parts);
}

/** A resource without the vendor's domain: `gpu` of `nvidia.com/gpu`. */
export function short(resource) {
  return resource.slice(resource.lastIndexOf("/") + 1);
}

/** The time of day; with the date where it is not today. */
export function clock(at, now = Date.now()) {
  if (!at) return "";
  const day = (ms) => new Date(ms).toDateString();
  const time = { hour: "2-digit", minute: "2-digit", hourCycle: "h23" };
  const date = day(at) === day(now) ? {} : { month: "short", day: "numeric" };
  return new Intl.DateTimeFormat(lang(), { ...date, ...time }).format(at);
}

/** A moment in full, to the second. */
export function moment(at) {
  const parts = { year: "numeric", month: "short", day: "numeric", hour: "2-digit", minute: "2-digit", second: "2-digit" };
  return at ? new Intl.DateTimeFormat(lang(), { ...parts, hourCycle: "h23" }).format(at) : "";
}

/** A duration in its two largest units. */
export function duration(ms) {
  const unit = words().units;
  const seconds = Math.round(Math.abs(ms) / 1000);
  const steps = [[86400, unit.day], [3600, unit.hour], [60, unit.minute], [1, unit.second]];
  const first = steps.findIndex(([size]) => seconds >= size);
  if (first < 0) return `0 ${unit.second}`;
  const [size, name] = steps[first];
  const whole = `${Math.floor(seconds / size)} ${name}`;
  const next = steps[first + 1];
  const rest = next && Math.floor((seconds % size) / next[0]);
  return rest ? `${whole} ${rest} ${next[1]}` : whole;
}

/** How long an answer took: milliseconds below a second. */
export function took(ms) {
  return ms < 1000 ? `${number(ms)} ms` : duration(ms);
}

/** The time of day to the second; in full where the moment before is on another day. */
export function second(at, before) {
  if (!before || new Date(at).toDateString() !== new Date(before).toDateString()) return moment(at);
  return new Intl.DateTimeFormat(lang(), { timeStyle: "medium", hourCycle: "h23" }).format(at);
}

/** When something is expected, seen from now: `14:30, in 59 min`. */
export function ahead(at, now) {
  if (!at) return words().unknown;
  if (at <= now) return words().anyMoment;
  return words().inTime(rough(at - now), clock(at, now));
}

/** A duration to the minute, as nobody expects anything to the second; below a minute to the second. */
function rough(ms) {
  return duration(ms < MINUTE ? ms : Math.round(ms / MINUTE) * MINUTE);
}
