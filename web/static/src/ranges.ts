/** The time a page is about, as its address has it: a range that ends now, or an own one. */

export interface Range {
  /** "live", "15m" … or "own". */
  key: string;
  /** ms since 1970 */
  from: number;
  to: number;
}

const minute = 60_000;

export const lengths: Readonly<Record<string, number>> = {
  live: 5 * minute,
  "15m": 15 * minute,
  "1h": 60 * minute,
  "6h": 360 * minute,
  "24h": 1440 * minute,
  "7d": 7 * 1440 * minute,
};

const shortest = 1000;
const longest = 366 * 1440 * minute;

export function isLive(r: Range): boolean {
  return r.key !== "own";
}

/** The range of an address, now being ms since 1970; the address's own default when it names none. */
export function readRange(params: URLSearchParams, now: number, fallback: string): Range {
  const from = moment(params.get("from"));
  const to = moment(params.get("to"));
  if (from !== null && to !== null && to > from) return { key: "own", from, to };
  const asked = params.get("range") ?? "";
  const key = Object.hasOwn(lengths, asked) ? asked : fallback;
  return { key, from: now - lengths[key]!, to: now };
}

function moment(text: string | null): number | null {
  if (text === null || text === "") return null;
  if (/^\d+$/.test(text)) return Number(text);
  // A form's local time is UTC here.
  const ms = Date.parse(/[zZ]|[+-]\d\d:\d\d$/.test(text) ? text : `${text}Z`);
  return Number.isNaN(ms) ? null : ms;
}

/** Puts a range into an address's parameters. */
export function writeRange(params: URLSearchParams, r: Range): void {
  for (const key of ["from", "to", "range"]) params.delete(key);
  if (r.key !== "own") {
    params.set("range", r.key);
    return;
  }
  params.set("from", new Date(Math.round(r.from)).toISOString());
  params.set("to", new Date(Math.round(r.to)).toISOString());
}

/** The range moved by a share of its length and stretched around its middle; never beyond now. */
export function moved(r: Range, by: number, stretch: number, now: number): Range {
  const length = Math.min(longest, Math.max(shortest, (r.to - r.from) * stretch));
  const middle = (r.from + r.to) / 2 + by * (r.to - r.from);
  const to = Math.min(now, middle + length / 2);
  return { key: "own", from: Math.max(0, to - length), to };
}
