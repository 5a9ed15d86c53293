/** The curves of one row of a comparison: a plot for each column, side by side on one scale, A's curve faint behind the others. */

import type { EChartsCoreOption } from "echarts/core";
import { Chart, type Skeleton } from "./chartbase";
import { sig3 } from "./format";
import { harmless } from "./names";
import { axisNumber } from "./series";
import { clockText, layoutOf, nearest, niceScale, placeText, runs, scaleOf, tickText, type Axis, type PlaceWords, type Point, type Serie, type TrailColumn } from "./trails";

export interface Trail {
  columns: readonly TrailColumn[];
  series: readonly Serie[];
  axis: Axis;
  /** What values are multiplied by: 100 for shares. */
  by: number;
  unit: string;
  /** Of the columns. */
  names: readonly string[];
  words: PlaceWords;
  /** Tells where the pointer is, so that all rows can show it; null: nowhere. */
  onCursor: (x: number | null) => void;
}

type Option = Record<string, unknown>;

/** Of one row of plots, px: with the names above and the labels below. */
export const rowHeight = 124;

export class TrailPlot extends Chart {
  private trail: Trail | null = null;
  private all: Point[][][] = [];
  private readonly cursors: HTMLElement[] = [];

  constructor(
    private readonly area: HTMLElement,
    skeleton: Skeleton,
  ) {
    super(area, skeleton);
    const zr = this.chart.getZr();
    zr.on("mousemove", (e) => this.trail?.onCursor(this.at(e.offsetX, e.offsetY)));
    zr.on("globalout", () => this.trail?.onCursor(null));
  }

  set(trail: Trail): void {
    this.trail = trail;
    this.all = trail.series.map((s, i) => runs(s, trail.columns[i]!, trail.axis.align).map((run) => run.map((p) => ({ x: p.x, y: p.y * trail.by }))));
    this.draw();
  }

  protected override resized(): void {
    super.resized();
    if (this.trail !== null) this.draw(); // how many plots stand beside each other follows the width
  }

  /** Shows the place that the pointer has in another row, and gives the values there in words. */
  point(x: number | null): string {
    const { trail } = this;
    if (trail === null) return "";
    const grids = this.grids();
    grids.forEach((g, i) => {
      const line = (this.cursors[i] ??= this.overlay());
      line.hidden = x === null || x < trail.axis.from || x > trail.axis.to;
      if (line.hidden || x === null) return;
      line.style.top = `${g.top}px`;
      line.style.height = `${g.height}px`;
      line.style.transform = `translateX(${Math.round(g.left + ((x - trail.axis.from) / (trail.axis.to - trail.axis.from)) * g.width)}px)`;
    });
    return x === null ? "" : this.values(x).map((v, i) => `${letter(i)} ${v === null ? "–" : sig3(v.y)}`).join(" · ");
  }

  /** The picture alone, without what lies over it. */
  image(): { url: string; width: number; height: number } {
    const background = getComputedStyle(document.documentElement).getPropertyValue("--bg").trim();
    return { url: this.chart.getDataURL({ type: "png", pixelRatio: 2, backgroundColor: background }), width: this.chart.getWidth(), height: this.chart.getHeight() };
  }

  private overlay(): HTMLElement {
    const el = document.createElement("div");
    el.className = "trail-cursor";
    this.area.append(el);
    return el;
  }

  private pad(): { left: number; right: number; top: number; bottom: number } {
    return this.skeleton.grid as { left: number; right: number; top: number; bottom: number };
  }

  private grids(): { left: number; top: number; width: number; height: number }[] {
    const pad = this.pad();
    const n = this.trail?.series.length ?? 0;
    const l = layoutOf(this.chart.getWidth(), n, pad);
    return Array.from({ length: n }, (_, i) => ({
      left: pad.left + (i % l.perRow) * (l.width + pad.right),
      top: Math.floor(i / l.perRow) * rowHeight + pad.top,
      width: l.width,
      height: rowHeight - pad.top - pad.bottom,
    }));
  }

  private at(px: number, py: number): number | null {
    const { trail } = this;
    if (trail === null) return null;
    const g = this.grids().find((r) => px >= r.left && px <= r.left + r.width && py >= r.top && py <= r.top + r.height);
    return g === undefined ? null : trail.axis.from + ((px - g.left) / g.width) * (trail.axis.to - trail.axis.from);
  }

  private values(x: number): (Point | null)[] {
    const { axis } = this.trail!;
    return this.all.map((curve) => nearest(curve, x, (axis.to - axis.from) / 40));
  }

  protected filled(): EChartsCoreOption {
    const { trail, skeleton } = this;
    const scale = trail === null ? null : scaleOf(trail.series.map((s) => ({ t: s.t, v: s.v.map((v) => v * trail.by) })));
    if (trail === null || scale === null) return { ...skeleton };
    const { axis } = trail;
    const span = axis.to - axis.from;
    const y = niceScale(scale.low, scale.high);
    const most = Math.max(Math.abs(y.low), Math.abs(y.high));
    const grids = this.grids();
    const style = getComputedStyle(this.area);
    const color = (name: string) => style.getPropertyValue(name).trim();
    const series: Option[] = [];
    this.all.forEach((curve, i) => {
      if (i > 0) series.push(line(i, this.all[0]!, span, color("--chart-muted"), 1, 0.55));
      series.push(line(i, curve, span, color(`--letter-${letter(i).toLowerCase()}`), 1.5, 1));
    });
    const first = (i: number) => i === 0 || grids[i]!.top > grids[i - 1]!.top;
    return {
      ...skeleton,
      useUTC: true,
      grid: grids.map((g) => ({ ...skeleton.grid, ...g, right: undefined, bottom: undefined })),
      xAxis: grids.map((_, i) => ({
        ...skeleton.xAxis[0],
        gridIndex: i,
        type: axis.align === "step" ? "value" : "time",
        min: axis.from,
        max: axis.to,
        axisLabel: {
          formatter: (x: number) => (axis.align === "step" ? axisNumber(x, axis.to) : tickText(axis.align, x, span)),
          ...(axis.align === "step" ? { showMinLabel: false, showMaxLabel: false } : {}),
        },
      })),
      yAxis: grids.map((g, i) => ({
        ...skeleton.yAxis[0],
        gridIndex: i,
        min: y.low,
        max: y.high,
        interval: y.step,
        name: `${letter(i)}  ${harmless(trail.names[i] ?? "")}`,
        nameTextStyle: { align: "left", fontWeight: 600, color: color("--chart-ink") },
        nameTruncate: { maxWidth: g.width },
        axisLabel: { show: first(i), formatter: (v: number) => axisNumber(v, most) },
      })),
      series,
      tooltip: { ...skeleton.tooltip, padding: [4, 8], textStyle: { lineHeight: 16 }, formatter: (shown: unknown) => this.tooltip(shown) },
    };
  }

  private tooltip(shown: unknown): string {
    const x = Number((shown as { axisValue?: number }[])[0]?.axisValue);
    const { trail } = this;
    if (trail === null || !Number.isFinite(x)) return "";
    const rows = this.values(x).map((p, i) => {
      if (p === null) return `${letter(i)}  –`;
      const when = trail.axis.align === "time" ? "" : `   ${momentOf(trail, i, p.x)}`;
      return `${letter(i)}  ${sig3(p.y)}${when}`;
    });
    return [`${placeText(trail.axis.align, x, trail.words)}   ${trail.unit}`, ...rows].join("\n");
  }
}

/** The time of a column's point that lies at x of another axis: that of the nearest of its points. */
function momentOf(trail: Trail, i: number, x: number): string {
  const column = trail.columns[i]!;
  if (trail.axis.align === "elapsed") return clockText(column.from + x);
  let best = Infinity;
  let at = 0;
  for (const [time, step] of column.steps) {
    if (Math.abs(step - x) < best) [best, at] = [Math.abs(step - x), time];
  }
  return clockText(at);
}

function letter(i: number): string {
  return String.fromCharCode(65 + i);
}

/** A curve; where it is broken, nothing is drawn, and a point alone is a short stroke. */
function line(grid: number, curve: readonly Point[][], span: number, color: string, width: number, opacity: number): Option {
  const data: [number, number | null][] = [];
  for (const run of curve) {
    for (const p of run) data.push([p.x, p.y]);
    const end = run.at(-1)!;
    if (run.length === 1) data.push([end.x + span / 300, end.y]);
    data.push([end.x + span / 300, null]);
  }
  return {
    type: "line",
    xAxisIndex: grid,
    yAxisIndex: grid,
    data,
    symbol: "circle",
    symbolSize: 5,
    showSymbol: false,
    connectNulls: false,
    color,
    lineStyle: { color, width, opacity },
    itemStyle: { color, opacity },
    emphasis: { disabled: true },
    silent: opacity < 1,
    ...(opacity < 1 ? { tooltip: { show: false } } : {}),
  };
}
