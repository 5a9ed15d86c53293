/** Numbers as the pages show them: three significant figures, one unit per column, exact on focus. */

export interface Unit {
  name: string;
  /** How many base units (ns, bytes) one of this unit is. */
  scale: number;
}

const timeUnits: readonly Unit[] = [
  { name: "ns", scale: 1 },
  { name: "µs", scale: 1e3 },
  { name: "ms", scale: 1e6 },
  { name: "s", scale: 1e9 },
];

const byteUnits: readonly Unit[] = [
  { name: "B", scale: 1 },
  { name: "kB", scale: 1e3 },
  { name: "MB", scale: 1e6 },
  { name: "GB", scale: 1e9 },
];

function unitOf(units: readonly Unit[], value: number): Unit {
  let found = units[0]!;
  for (const u of units) {
    if (Math.abs(value) >= u.scale) found = u;
  }
  return found;
}

/** The unit for a single time of ns nanoseconds. */
export function timeUnit(ns: number): Unit {
  return unitOf(timeUnits, ns);
}

/**
 * The one unit of a column: that of its largest value, so that no cell needs more than three digits before
 * the point; one finer where a single large value would leave most of the others below a hundredth.
 */
export function columnUnit(values: Iterable<number | null | undefined>): Unit {
  const sizes: number[] = [];
  for (const v of values) {
    if (v !== null && v !== undefined && v !== 0) sizes.push(Math.abs(v));
  }
  const unit = unitOf(timeUnits, sizes.reduce((a, b) => Math.max(a, b), 0));
  const finer = timeUnits[timeUnits.indexOf(unit) - 1];
  return finer !== undefined && median(sizes) < unit.scale / 100 ? finer : unit;
}

/** An integer with its thousands grouped: 12,345. */
export function integer(n: number | bigint): string {
  return n.toLocaleString("en-US", { maximumFractionDigits: 0 });
}

/**
 * x with three significant figures but never more than three decimals, so that a column stays
 * readable; what is not zero but would print as zero is "<0.001".
 */
export function sig3(x: number): string {
  const a = Math.abs(x);
  if (a === 0) return "0";
  if (a < 0.0005) return x < 0 ? ">−0.001" : "<0.001";
  let digits = 3;
  if (a >= 99.95) digits = 0;
  else if (a >= 9.995) digits = 1;
  else if (a >= 0.9995) digits = 2;
  const s = a.toLocaleString("en-US", { minimumFractionDigits: digits, maximumFractionDigits: digits });
  return x < 0 ? "−" + s : s;
}

/** ns in the given unit, without the unit's name (that stands in the column's header). */
export function inUnit(ns: number, unit: Unit): string {
  return unit.scale === 1 ? integer(ns).replace("-", "−") : sig3(ns / unit.scale);
}

/** A single time with its unit: 1.84 ms. */
export function time(ns: number): string {
  const u = timeUnit(ns);
  return `${inUnit(ns, u)} ${u.name}`;
}

/** The exact value behind a rounded one. */
export function exactNs(ns: number): string {
  return `${integer(ns)} ns`;
}

/** A size in powers of ten: 48.1 MB. */
export function bytes(n: number): string {
  const u = unitOf(byteUnits, n);
  return u.scale === 1 ? `${integer(n)} B` : `${sig3(n / u.scale)} ${u.name}`;
}

/** Parts per million as a percentage: 812345 → 81.2. Three figures, two decimals at most. */
export function percentNumber(ppm: number): string {
  const p = ppm / 1e4;
  if (p !== 0 && Math.abs(p) < 0.005) return "<0.01";
  return p === 0 ? "0" : p.toLocaleString("en-US", decimals(Math.abs(p) >= 99.95 ? 0 : Math.abs(p) >= 9.995 ? 1 : 2));
}

export function percent(ppm: number): string {
  return `${percentNumber(ppm)} %`;
}

/** part / whole in parts per million; null where there is no whole. */
export function ppm(part: number | null, whole: number | null): number | null {
  return part === null || whole === null || whole <= 0 ? null : Math.round((part / whole) * 1e6);
}

/** The middle value by nearest rank, as the reader computes its percentiles; 0 of nothing. */
export function median(values: readonly number[]): number {
  const sorted = [...values].sort((a, b) => a - b);
  return sorted[Math.ceil(sorted.length / 2) - 1] ?? 0;
}

/** Seconds for people who wait: "8 s", "2 min 5 s". */
export function duration(seconds: number): string {
  const s = Math.max(0, Math.ceil(seconds));
  return s < 60 ? `${s} s` : `${Math.floor(s / 60)} min ${s % 60} s`;
}

/** Wall time of ns since 1970 in UTC, to the ms; the exact ns are for the title. */
export function wallTime(ns: bigint): string {
  return new Date(Number(ns / 1_000_000n)).toISOString().replace("T", " ").replace("Z", " UTC");
}

function decimals(n: number): Intl.NumberFormatOptions {
  return { minimumFractionDigits: n, maximumFractionDigits: n };
}
