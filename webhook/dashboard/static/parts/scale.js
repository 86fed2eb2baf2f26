/** Where a plot's scale ends: at the next round number of the unit that people read. */

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;
const TIMES = [1, 2, 4, 10, 20, 30].map((n) => n * MINUTE)
  .concat([1, 2, 4, 8, 12, 24].map((n) => n * HOUR), [2, 4, 6, 10, 20, 40].map((n) => n * DAY));

/** The next even number of a power of ten, so that the half of it is as round. */
export function numberTop(value) {
  const power = 10 ** Math.floor(Math.log10(value));
  return [1, 2, 4, 6, 8, 10].map((step) => step * power).find((step) => step >= value);
}

/** The next round duration, in milliseconds. */
export function durationTop(value) {
  return TIMES.find((time) => time >= value) ?? numberTop(value / DAY) * DAY;
}

/** The next round amount of a resource, in the core's units. */
export function amountTop(resource, isBytes) {
  if (resource === "cpu") return (value) => numberTop(value / 1000) * 1000;
  if (!isBytes) return numberTop;
  return (value) => {
    const unit = 1024 ** Math.floor(Math.log2(Math.max(1, value)) / 10);
    return numberTop(value / unit) * unit;
  };
}
