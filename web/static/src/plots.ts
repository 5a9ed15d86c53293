/** A metric over time or steps: lines with their extremes, or a band over many engines, and what happened meanwhile. */

import type { EChartsCoreOption } from "echarts/core";
import { Chart, type Skeleton } from "./chartbase";
import { t } from "./fleetstrings";
import { sig3 } from "./format";
import { harmless } from "./names";
import { axisNumber, clipped, heights, largest, look, lookOf, near, nearest, placed, points, type Band, type Line, type Mark, type Point, type Series } from "./series";
import { bandName, valueText } from "./seriestext";

export interface Drawing {
  series: Series;
  marks: readonly Mark[];
  unit: string;
  /** What a line is called. */
  name: (line: Line) => string;
  byStep: boolean;
  /** The axis's ends: those of the time asked for, whatever came. */
  from: number;
  to: number;
  onBrush: (from: number, to: number) => void;
  /** Tells where the pointer is, so that all charts can show it; null: nowhere. */
  onCursor: (x: number | null) => void;
}

/** Shorter drags are clicks. */
const leastDrag = 5;
/** Tooltips with more lines than this would cover the page. */
const mostRows = 14;
/** Marks of values of which only a bound is known are this far apart, in pixels. */
const clipsApart = 14;
/** With more lines, extremes around each are faint, or they would hide the others. */
const spreadLines = 3;

type Option = Record<string, unknown>;

/** Events that last are areas, others lines; windows of captures are hatched: what is in them is perturbed. */
const lasting = new Set(["capture", "silence", "gap", "dropped"]);

export class LinePlot extends Chart {
  private drawing: Drawing | null = null;
  private highlighted: string | null = null;
  private dragFrom: number | null = null;
  private readonly brush: HTMLElement;
  private readonly cursor: HTMLElement;

  constructor(
    private readonly area: HTMLElement,
    skeleton: Skeleton,
  ) {
    super(area, skeleton);
    this.brush = overlay(area, "brush");
    this.cursor = overlay(area, "cursor");
    const zr = this.chart.getZr();
    zr.on("mousedown", (e) => this.press(e.offsetX, e.offsetY));
    zr.on("mousemove", (e) => this.move(e.offsetX, e.offsetY));
    zr.on("globalout", () => this.drawing?.onCursor(null));
    addEventListener("mouseup", (e) => this.release(e.clientX - area.getBoundingClientRect().left));
    addEventListener("keydown", (e) => {
      if (e.key === "Escape") this.cancel();
    });
  }

  set(drawing: Drawing): void {
    this.drawing = drawing;
    this.draw();
  }

  /** Sets one line off by its name; null: none. */
  highlight(name: string | null): void {
    if (name === this.highlighted) return;
    this.highlighted = name;
    this.draw();
  }

  /** Shows the place that the pointer has in another chart. */
  point(x: number | null): void {
    const at = x === null || this.drawing === null ? null : this.chart.convertToPixel({ xAxisIndex: 0 }, x);
    const box = this.box();
    const inside = at !== null && at >= box.left && at <= box.right;
    this.cursor.hidden = !inside;
    if (inside) this.cursor.style.transform = `translateX(${Math.round(at)}px)`;
  }

  private box(): { left: number; right: number } {
    const { left, right } = this.skeleton.grid as { left: number; right: number };
    return { left, right: this.area.clientWidth - right };
  }

  private press(x: number, y: number): void {
    if (this.drawing !== null && this.chart.containPixel({ gridIndex: 0 }, [x, y])) this.dragFrom = x;
  }

  private move(x: number, y: number): void {
    if (this.drawing === null) return;
    const inside = this.chart.containPixel({ gridIndex: 0 }, [x, y]);
    this.drawing.onCursor(inside ? this.at(x) : null);
    if (this.dragFrom === null) return;
    const [a, b] = this.dragged(x);
    this.brush.hidden = b - a < leastDrag;
    this.brush.style.left = `${a}px`;
    this.brush.style.width = `${b - a}px`;
  }

  private dragged(x: number): [number, number] {
    const { left, right } = this.box();
    const to = Math.min(right, Math.max(left, x));
    return [Math.min(this.dragFrom!, to), Math.max(this.dragFrom!, to)];
  }

  private release(x: number): void {
    if (this.dragFrom === null) return;
    const [a, b] = this.dragged(x);
    this.cancel();
    if (b - a >= leastDrag) this.drawing?.onBrush(this.at(a), this.at(b));
  }

  private cancel(): void {
    this.dragFrom = null;
    this.brush.hidden = true;
  }

  private at(pixel: number): number {
    return Number(this.chart.convertFromPixel({ xAxisIndex: 0 }, pixel));
  }

  protected filled(): EChartsCoreOption {
    const d = this.drawing;
    if (d === null) return { ...this.skeleton };
    const { series: s } = d;
    const shown: Option[] = [];
    for (const band of s.bands) shown.push(...bandSeries(s, band));
    const spread = s.bands.length > 0 ? 0 : s.lines.length <= spreadLines ? 0.16 : 0.07;
    s.lines.forEach((line, n) => shown.push(...this.lineSeries(d, line, n, spread)));
    const most = largest(s);
    shown.push(markSeries(d));
    const x = this.skeleton.xAxis[0]!;
    return {
      ...this.skeleton,
      useUTC: true,
      xAxis: [{ ...x, type: d.byStep ? "value" : "time", min: d.from, max: d.to, ...(d.byStep ? { name: (this.skeleton as unknown as Option)["stepName"], axisLabel: { alignMaxLabel: "right", alignMinLabel: "left" } } : { axisLabel: { formatter: clock(d.to - d.from) } }) }],
      yAxis: [{ ...this.skeleton.yAxis[0], name: d.unit, min: floor, max: d.unit.startsWith("%") ? ceiling : undefined, nameMoveOverlap: false, axisLabel: { formatter: (v: number) => axisNumber(v, most) }, splitNumber: 4 }],
      series: shown,
      tooltip: { ...this.skeleton.tooltip, formatter: (p: unknown) => this.tooltip(d, p) },
    };
  }

  private lineSeries(d: Drawing, line: Line, n: number, spread: number): Option[] {
    const { color, dash } = lookOf(d.series, n);
    const name = d.name(line);
    const faint = this.highlighted !== null && this.highlighted !== name;
    const data = points(d.series, line.i, line.v);
    const out: Option[] = [];
    if (spread > 0 && line.lo !== undefined && line.hi !== undefined) {
      const stack = `spread ${n}`;
      out.push(edge(stack, points(d.series, line.i, line.lo)), area(stack, points(d.series, line.i, heights(line.lo, line.hi)), color, spread));
    }
    out.push({
      type: "line",
      name,
      data,
      symbol: "circle",
      symbolSize: 4,
      showSymbol: data.length <= 24,
      showAllSymbol: true,
      connectNulls: false,
      color,
      lineStyle: { color, width: this.highlighted === name ? 2.5 : line.outlier ? 2 : 1.4, type: dash, opacity: faint ? 0.2 : 1 },
      itemStyle: { color, opacity: faint ? 0.2 : 1 },
      emphasis: { disabled: true },
    });
    for (const kind of [-1, 1] as const) {
      const data = clipped(d.series, line, kind, Math.ceil((clipsApart / Math.max(1, this.area.clientWidth)) * d.series.cells));
      if (data.length > 0) out.push({ ...quiet, data, symbol: "triangle", symbolRotate: kind < 0 ? 180 : 0, symbolSize: 7, showSymbol: true, showAllSymbol: true, lineStyle: { opacity: 0 }, itemStyle: { color, opacity: faint ? 0.2 : 1 } });
    }
    return out;
  }

  private tooltip(d: Drawing, shown: unknown): string {
    const x = Number((shown as { axisValue?: number }[])[0]?.axisValue);
    if (!Number.isFinite(x)) return "";
    const { series: s } = d;
    const reach = Math.max(s.dx * 1.5, (d.to - d.from) / 100);
    const rows = s.lines
      .map((line) => ({ line, k: nearest(s, line, x, reach) }))
      .filter(({ k }) => k >= 0)
      .sort((a, b) => b.line.v[b.k]! - a.line.v[a.k]!);
    const text = rows.slice(0, mostRows).map(({ line, k }) => `${clip(d.name(line))}  ${valueText(line, k)}`);
    if (rows.length > mostRows) text.push("…");
    text.unshift(...s.bands.flatMap((band) => bandText(s, band, x, reach)));
    const marks = placed(s, d.marks, d.byStep).filter((m) => m.from - s.dx <= x && x <= m.to + s.dx).slice(0, 3);
    text.push(...marks.map(({ mark: m }) => `${t.mark[m.kind] ?? m.kind}: ${m.engines.map(clip).join(", ")}${m.count > m.engines.length ? " …" : ""}`));
    const head = d.byStep ? `${t.plot.steps} ${Math.round(x).toLocaleString("en-US")}` : new Date(x).toISOString().slice(0, 19).replace("T", " ");
    return [`${head}   ${d.unit}`, ...text].join("\n");
  }
}

function overlay(area: HTMLElement, kind: string): HTMLElement {
  const el = document.createElement("div");
  el.className = `plot-${kind}`;
  el.hidden = true;
  area.append(el);
  return el;
}

function clip(name: string): string {
  const safe = harmless(name);
  return safe.length <= 40 ? safe : `${safe.slice(0, 24)}…${safe.slice(-14)}`;
}

function bandText(s: Series, b: Band, x: number, reach: number): string[] {
  const at = (v: (number | null)[]) => near(s, { i: b.i, v }, x, reach);
  const [min, p10, p50, p90, max] = [at(b.min), at(b.p10), at(b.p50), at(b.p90), at(b.max)];
  if (min === null || p10 === null || p50 === null || p90 === null || max === null) return [];
  return [`${bandName(b)}  ${sig3(p50)}`, `${t.plot.spread}  ${sig3(p10)} – ${sig3(p90)}`, `${t.plot.extremes}  ${sig3(min)} – ${sig3(max)}`];
}

const quiet = { type: "line", symbol: "none", silent: true, connectNulls: false, emphasis: { disabled: true }, tooltip: { show: false } };

/** The lower edge that an area is stacked on. */
function edge(stack: string, data: Point[]): Option {
  return { ...quiet, stack, stackStrategy: "all", data, lineStyle: { opacity: 0 } };
}

function area(stack: string, data: Point[], color: string, opacity: number): Option {
  return { ...quiet, stack, stackStrategy: "all", data, lineStyle: { opacity: 0 }, areaStyle: { color, opacity } };
}

function bandSeries(s: Series, b: Band): Option[] {
  const { color } = look(0, b.steps);
  const stack = `band ${b.steps}`;
  const at = (v: (number | null)[]) => points(s, b.i, v);
  return [
    edge(stack, at(b.min)),
    area(stack, at(heights(b.min, b.p10)), color, 0.1),
    area(stack, at(heights(b.p10, b.p90)), color, 0.25),
    area(stack, at(heights(b.p90, b.max)), color, 0.1),
    { type: "line", name: bandName(b), data: at(b.p50), showSymbol: b.i.length <= 24, symbolSize: 4, symbol: "circle", connectNulls: false, color, lineStyle: { color, width: 1.6 }, emphasis: { disabled: true } },
  ];
}

/** A line of its own without points carries the marks. */
function markSeries(d: Drawing): Option {
  const style = getComputedStyle(document.documentElement);
  const muted = style.getPropertyValue("--muted").trim();
  const marks = placed(d.series, d.marks, d.byStep);
  const areas = marks.filter((m) => lasting.has(m.mark.kind) && m.to > m.from);
  const moments = marks.filter((m) => !areas.includes(m));
  return {
    ...quiet,
    data: [],
    markArea: {
      silent: true,
      label: { show: false },
      data: areas.map((m) => [{ xAxis: m.from, itemStyle: areaStyle(m.mark.kind, muted) }, { xAxis: m.to }]),
    },
    markLine: {
      silent: true,
      symbol: "none",
      animation: false,
      label: { show: false },
      data: moments.map((m) => ({ xAxis: m.from, lineStyle: { color: m.mark.kind === "restart" || m.mark.kind === "counter_reset" ? "#d55e00" : muted, type: "dashed", width: 1 } })),
    },
  };
}

let hatching: HTMLCanvasElement | null = null;

function areaStyle(kind: string, muted: string): Option {
  if (kind !== "capture") return { color: muted, opacity: 0.16 };
  hatching ??= hatch("#cc79a7");
  return { color: { image: hatching, repeat: "repeat" }, opacity: 0.7 };
}

/** Diagonal strokes, seen also without colour. */
function hatch(color: string): HTMLCanvasElement {
  const tile = document.createElement("canvas");
  tile.width = tile.height = 6;
  const g = tile.getContext("2d");
  if (g !== null) {
    g.strokeStyle = color;
    g.lineWidth = 1;
    for (const shift of [-6, 0, 6]) {
      g.moveTo(shift, 6);
      g.lineTo(shift + 6, 0);
    }
    g.stroke();
  }
  return tile;
}

/** An axis begins at 0 where 0 is near, so that small things look small; never below for what can't be negative. */
function floor(extent: { min: number; max: number }): number | undefined {
  return extent.min >= 0 && (extent.min < 0.4 * extent.max || extent.min === extent.max) ? 0 : undefined;
}

/** Shares end at 100 %, unless they are far below or beyond it. */
function ceiling(extent: { min: number; max: number }): number | undefined {
  return extent.max <= 100 && (extent.max > 80 || extent.max === extent.min) ? 100 : undefined;
}

/** UTC like all times on the pages; echarts' own labels would be in the browser's zone. */
function clock(span: number): (ms: number) => string {
  return (ms) => {
    const iso = new Date(ms).toISOString();
    if (span > 3 * 86_400_000) return iso.slice(5, 10);
    if (span > 86_400_000) return `${iso.slice(5, 10)}\n${iso.slice(11, 16)}`;
    return span > 10 * 60_000 ? iso.slice(11, 16) : iso.slice(11, 19);
  };
}

