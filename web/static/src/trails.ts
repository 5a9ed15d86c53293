/** The curves of a comparison: on which axis each point lies, and where lines break. No page in here. */

export interface Serie {
  /** ms since 1970, rising. */
  t: number[];
  v: number[];
}

export interface TrailColumn {
  /** ms since 1970. */
  from: number;
  to: number;
  /** Time in ms and the engine's step then, rising. */
  steps: [number, number][];
}

export interface Trails {
  columns: TrailColumn[];
  rows: Record<string, Serie[]>;
}

export type Align = "time" | "elapsed" | "step";

export interface Point {
  x: number;
  y: number;
}

/** An axis that all curves share: from…to, in ms since 1970, ms since the column's start, or steps. */
export interface Axis {
  align: Align;
  from: number;
  to: number;
}

/** When each column was, one line a column, in UTC: a picture is looked at without the page that says it. */
export function spanLines(columns: readonly TrailColumn[], names: readonly string[]): string[] {
  return columns.map((c, i) => {
    const [from, to] = [c.from, c.to].map((ms) => new Date(ms).toISOString().replace("T", " ").slice(0, 19));
    const end = from!.slice(0, 10) === to!.slice(0, 10) ? to!.slice(11) : to!;
    return `${String.fromCharCode(65 + i)} ${names[i] ?? ""}: ${from!} – ${end} UTC`;
  });
}

/** A gap of so many usual distances between two points is one in the data. */
const gapFactor = 3;

/** The place of a time of one column on the axis; null: it has none. */
export function place(column: TrailColumn, align: Align, t: number): number | null {
  if (align === "time") return t;
  if (align === "elapsed") return t - column.from;
  return stepAt(column.steps, t);
}

/** The step at a time, between the marks in proportion; before the first and after the last mark: none. */
export function stepAt(marks: readonly [number, number][], t: number): number | null {
  if (marks.length === 0 || t < marks[0]![0] || t > marks.at(-1)![0]) return null;
  let low = 0;
  let high = marks.length - 1;
  while (high - low > 1) {
    const mid = (low + high) >> 1;
    if (marks[mid]![0] <= t) low = mid;
    else high = mid;
  }
  const [t0, s0] = marks[low]!;
  const [t1, s1] = marks[high]!;
  return t1 === t0 ? s0 : s0 + ((t - t0) / (t1 - t0)) * (s1 - s0);
}

/** The axis over all columns; null where no column has a place on it. */
export function axisOf(columns: readonly TrailColumn[], align: Align): Axis | null {
  let from = Infinity;
  let to = -Infinity;
  for (const c of columns) {
    const ends = align === "step" ? [c.steps[0]?.[1], c.steps.at(-1)?.[1]] : [place(c, align, c.from), place(c, align, c.to)];
    for (const end of ends) {
      if (end === undefined || end === null) continue;
      from = Math.min(from, end);
      to = Math.max(to, end);
    }
  }
  return from < to ? { align, from, to } : null;
}

/** The runs of points between which a line is drawn: a gap in the data is one in the picture. */
export function runs(serie: Serie, column: TrailColumn, align: Align): Point[][] {
  const usual = typical(serie.t);
  const out: Point[][] = [];
  let before: number | null = null;
  serie.t.forEach((t, i) => {
    const x = place(column, align, t);
    const y = serie.v[i];
    if (x === null || y === undefined || !Number.isFinite(y)) {
      before = null;
      return;
    }
    if (before === null || t - before > gapFactor * usual) out.push([]);
    out.at(-1)!.push({ x, y });
    before = t;
  });
  return out;
}

/** The median distance of two points. */
function typical(times: readonly number[]): number {
  const distances = times.slice(1).map((t, i) => t - times[i]!).sort((a, b) => a - b);
  return distances[distances.length >> 1] ?? Infinity;
}

/** The scale that a row's curves share, with a little room; a flat one is given some height. 0 is in it when it is near. */
export function scaleOf(series: readonly Serie[]): { low: number; high: number } | null {
  let low = Infinity;
  let high = -Infinity;
  for (const s of series) {
    for (const v of s.v) {
      if (!Number.isFinite(v)) continue;
      low = Math.min(low, v);
      high = Math.max(high, v);
    }
  }
  if (low > high) return null;
  if (low > 0 && low < (high - low) * 0.5) low = 0;
  if (high < 0 && -high < (high - low) * 0.5) high = 0;
  if (low === high) {
    const room = Math.abs(low) * 0.05 || 1;
    return { low: low - room, high: high + room };
  }
  const room = (high - low) * 0.05;
  return { low: low === 0 ? 0 : low - room, high: high === 0 ? 0 : high + room };
}

/** The point nearest to a place on the axis; null where none is within the given distance. */
export function nearest(all: readonly Point[][], x: number, within: number): Point | null {
  let best: Point | null = null;
  for (const run of all) {
    for (const p of run) {
      if (Math.abs(p.x - x) <= within && (best === null || Math.abs(p.x - x) < Math.abs(best.x - x))) best = p;
    }
  }
  return best;
}

/** A scale's ends moved out to round numbers, with two to four equal parts between them. */
export function niceScale(low: number, high: number): { low: number; high: number; step: number } {
  const raw = (high - low) / 3;
  const power = 10 ** Math.floor(Math.log10(raw));
  const step = power * ([1, 2, 2.5, 5].find((m) => m * power >= raw) ?? 10);
  return { low: Math.floor(low / step + 1e-9) * step, high: Math.ceil(high / step - 1e-9) * step, step };
}

/** Where the plots of n columns lie in a given width: in equal rows, none narrower than is readable. */
export interface Layout {
  perRow: number;
  rows: number;
  /** Of one plot without its axes, px. */
  width: number;
}

const narrowest = 170;

export function layoutOf(width: number, n: number, pad: { left: number; right: number }): Layout {
  const fit = Math.max(1, Math.min(n, Math.floor(width / narrowest)));
  const rows = Math.ceil(n / fit);
  const perRow = Math.ceil(n / rows);
  return { perRow, rows, width: Math.max(1, (width - pad.left - perRow * pad.right) / perRow) };
}

/** How places are written. */
export interface PlaceWords {
  step(n: string): string;
  seconds(s: number): string;
  minutes(m: number, s: number): string;
  hours(h: number, m: number): string;
}

/** A place on the axis in words: 14:03:20 UTC, +12 min 5 s, step 8,120. */
export function placeText(align: Align, x: number, words: PlaceWords): string {
  if (align === "step") return words.step(Math.round(x).toLocaleString("en-US"));
  if (align === "time") return clockText(x);
  const s = Math.round(x / 1000);
  if (s < 120) return words.seconds(s);
  if (s < 7200) return words.minutes(Math.floor(s / 60), s % 60);
  return words.hours(Math.floor(s / 3600), Math.floor((s % 3600) / 60));
}

/** A moment as all pages write it. */
export function clockText(ms: number): string {
  return `${new Date(ms).toISOString().slice(0, 19).replace("T", " ")} UTC`;
}

/** The label of a place on the axis: as short as the span allows. */
export function tickText(align: Align, x: number, span: number): string {
  const iso = new Date(x).toISOString();
  if (align === "time") {
    if (span > 3 * 86_400_000) return iso.slice(5, 10);
    if (span > 86_400_000) return `${iso.slice(8, 10)}. ${iso.slice(11, 16)}`;
    return span > 10 * 60_000 ? iso.slice(11, 16) : iso.slice(11, 19);
  }
  const s = Math.round(x / 1000);
  if (span > 3 * 86_400_000) return `+${Math.round(s / 86_400)} d`;
  if (span > 3 * 3_600_000) return `+${Number((s / 3600).toFixed(1))} h`;
  if (span > 5 * 60_000) return `+${Number((s / 60).toFixed(1))} min`;
  return `+${s} s`;
}
