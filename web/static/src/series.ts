/** The data of a chart as /api/series answers, and what is made of it without the page. */

export interface Line {
  metric: string;
  label: string;
  engine: string;
  /** "prompt" or "decode" where the metric describes the logging step alone, else "". */
  steps: string;
  samples: number;
  outlier: boolean;
  /** Cells with values; x of cell i is x0 + i·dx. null: the line is broken there. */
  i: number[];
  v: (number | null)[];
  lo?: (number | null)[];
  hi?: (number | null)[];
  /** Of a quantile: how many values it is of. */
  n?: number[];
  /** Of a quantile: −1 where it is at most v, 1 where it is more than v, and nothing else is known. */
  clip?: number[];
}

export interface Band {
  /** Of many engines' quantiles: which one. */
  label?: string;
  steps: string;
  i: number[];
  min: (number | null)[];
  p10: (number | null)[];
  p50: (number | null)[];
  p90: (number | null)[];
  max: (number | null)[];
}

export interface Series {
  x0: number;
  dx: number;
  cells: number;
  lines: Line[];
  /** One for each kind of steps, instead of a line for each of many engines. */
  bands: Band[];
  engines: number;
  /** Of readings of cards: how many; else 0. */
  cards: number;
  more: number;
  samples: number;
  outliers: { engine: string; off: number | null }[];
  /** Over steps: when each cell was, ms since 1970. */
  times?: ([from: number, to: number] | null)[];
}

export interface Mark {
  kind: string;
  from: number;
  to: number;
  engines: string[];
  count: number;
  n: number;
  detail: string;
}

export type Point = [x: number, y: number | null];

/** The middle of a cell on the x axis. */
export function xOf(s: Pick<Series, "x0" | "dx">, cell: number): number {
  return s.x0 + (cell + 0.5) * s.dx;
}

export function points(s: Series, cells: readonly number[], values: readonly (number | null)[]): Point[] {
  return cells.map((cell, k) => [xOf(s, cell), values[k] ?? null]);
}

/** Differences high − low, for areas that are stacked on low. */
export function heights(low: readonly (number | null)[], high: readonly (number | null)[]): (number | null)[] {
  return low.map((l, k) => {
    const h = high[k];
    return l === null || h === null || h === undefined ? null : h - l;
  });
}

/** The place in a line of the value nearest to x, no farther than reach; −1: none there. */
export function nearest(s: Series, line: Pick<Line, "i" | "v">, x: number, reach: number): number {
  let best = -1;
  let away = reach;
  line.i.forEach((cell, k) => {
    const d = Math.abs(xOf(s, cell) - x);
    if (typeof line.v[k] === "number" && d <= away) {
      away = d;
      best = k;
    }
  });
  return best;
}

/** That value; null: none there. */
export function near(s: Series, line: Pick<Line, "i" | "v">, x: number, reach: number): number | null {
  return line.v[nearest(s, line, x, reach)] ?? null;
}

/** "≤ " or "> " before value k of a line where only that is known of it. */
export function bound(line: Pick<Line, "clip">, k: number): string {
  return { [-1]: "≤ ", 1: "> " }[line.clip?.[k] ?? 0] ?? "";
}

/** The points of a line of which only a bound is known, no two of one kind nearer than so many cells. */
export function clipped(s: Series, line: Line, kind: -1 | 1, apart: number): Point[] {
  const out: Point[] = [];
  let next = -Infinity;
  line.i.forEach((cell, k) => {
    if (line.clip?.[k] !== kind || cell < next) return;
    out.push([xOf(s, cell), line.v[k] ?? null]);
    next = cell + apart;
  });
  return out;
}

/** The last value of a line that is one. */
export function last(line: Pick<Line, "v">): number | null {
  return line.v[lastAt(line)] ?? null;
}

/** Its place; −1: there is none. */
export function lastAt(line: Pick<Line, "v">): number {
  return line.v.findLastIndex((v) => typeof v === "number");
}

/** Okabe and Ito's colours, those of little contrast last. */
export const palette = ["#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#7f7f7f"];

/** Colours of what a chart with bands shows besides: none of the bands' own. */
const besides = 2;

/** The place in the palette of line n, behind the bands' colours if there are bands. */
export function placeOf(s: Pick<Series, "bands">, n: number): number {
  return s.bands.length === 0 ? n : n + besides;
}

/** The largest value of a chart, for one unit on its whole axis. */
export function largest(s: Series): number {
  let most = 0;
  const see = (values: readonly (number | null)[] | undefined) => values?.forEach((v) => (most = Math.max(most, Math.abs(v ?? 0))));
  for (const line of s.lines) [line.hi, line.v].forEach(see);
  for (const band of s.bands) see(band.max);
  return most;
}

/** Numbers on an axis whose largest value is given: 12 k beside 9 k, so that axes stay narrow. */
export function axisNumber(v: number, most: number): string {
  const short = (x: number) => String(Number(x.toPrecision(4))).replace("-", "−");
  if (most >= 1e10) return `${short(v / 1e9)} G`;
  if (most >= 1e7) return `${short(v / 1e6)} M`;
  if (most >= 1e4) return `${short(v / 1e3)} k`;
  return short(v);
}

type Look = { color: string; dash: "solid" | "dashed" | "dotted" };

/** Colour and dash of line n: beyond the colours they come again, dashed. A kind of steps alone has its own everywhere. */
export function look(n: number, steps: string): Look {
  if (steps !== "" && n < 2) return { color: steps === "prompt" ? "#e69f00" : "#0072b2", dash: "solid" };
  const dashes = ["solid", "dashed", "dotted"] as const;
  return { color: palette[n % palette.length]!, dash: dashes[Math.floor(n / palette.length) % dashes.length]! };
}

/** How line n of a chart is drawn: where several engines have both kinds of steps, the colour is the engine's and prompt steps are dashed. */
export function lookOf(s: Pick<Series, "bands" | "lines">, n: number): Look {
  const line = s.lines[n]!;
  if (line.steps === "") return look(placeOf(s, n), "");
  const who = (l: Line) => `${l.metric}\n${l.label}\n${l.engine}`;
  const all = [...new Set(s.lines.map(who))];
  if (all.length === 1 && s.bands.length === 0) return look(0, line.steps);
  return { color: look(placeOf(s, all.indexOf(who(line))), "").color, dash: line.steps === "prompt" ? "dashed" : "solid" };
}

/** Where a mark lies on the axis. */
export interface Placed {
  mark: Mark;
  from: number;
  to: number;
}

/** A cell of steps that took this many times as long as most has a pause in it, or two of an engine's lives: it says nothing of when. */
const longCell = 4;

/** The marks on the axis of a chart; over steps at the cells whose steps ran then. */
export function placed(s: Series, marks: readonly Mark[], byStep: boolean): Placed[] {
  if (!byStep) return marks.map((mark) => ({ mark, from: mark.from, to: mark.to }));
  const spans = (s.times ?? []).flatMap((t, i) => (t === null ? [] : [{ i, from: t[0], to: t[1] }]));
  const lengths = spans.map((t) => t.to - t.from).sort((a, b) => a - b);
  const limit = longCell * (lengths[Math.floor(lengths.length / 2)] ?? 0);
  const told = spans.filter((t) => t.to - t.from <= limit);
  return marks.flatMap((mark) => {
    const hit = told.filter((t) => t.from <= mark.to && t.to >= mark.from).map((t) => t.i);
    if (hit.length === 0) return [];
    const [first, last] = [Math.min(...hit), Math.max(...hit)];
    return mark.to > mark.from
      ? [{ mark, from: s.x0 + first * s.dx, to: s.x0 + (last + 1) * s.dx }]
      : [{ mark, from: xOf(s, first), to: xOf(s, first) }];
  });
}
