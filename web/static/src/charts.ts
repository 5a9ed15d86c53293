/** The charts, a bundle of its own that is loaded when there is something to draw. */

import { BarChart, LineChart, ScatterChart } from "echarts/charts";
import { DataZoomComponent, GridComponent, LegendComponent, MarkAreaComponent, MarkLineComponent, TooltipComponent } from "echarts/components";
import { use, type EChartsCoreOption } from "echarts/core";
import { CanvasRenderer } from "echarts/renderers";
import { Chart, type Skeleton } from "./chartbase";
import { sig3 } from "./format";
import { harmless } from "./names";
import type { ShapePoint } from "./shapes";
import { t } from "./strings";
import type { Step } from "./summary";

use([BarChart, LineChart, ScatterChart, GridComponent, TooltipComponent, LegendComponent, DataZoomComponent, MarkAreaComponent, MarkLineComponent, CanvasRenderer]);

export type { Skeleton } from "./chartbase";
export { LinePlot } from "./plots";
export { TrailPlot } from "./trailplot";

/** More bars than this get a slider to zoom. */
const zoomFrom = 120;

/** Stacked GPU time per step. A click anywhere in a step's column selects it. */
export class StepsChart extends Chart {
  private steps: readonly Step[] = [];
  private marked: number | null = null;
  private onSelect: (index: number) => void = () => undefined;

  constructor(place: HTMLElement, skeleton: Skeleton) {
    super(place, skeleton);
    this.chart.getZr().on("click", (event) => {
      const at = [event.offsetX, event.offsetY];
      if (!this.chart.containPixel({ gridIndex: 0 }, at)) return;
      const column = this.chart.convertFromPixel({ seriesIndex: 0 }, at)[0];
      const step = this.steps[column ?? -1];
      if (step !== undefined) this.onSelect(step.index);
    });
  }

  set(steps: readonly Step[], onSelect: (index: number) => void): void {
    this.steps = steps;
    this.onSelect = onSelect;
    this.draw();
  }

  /** Sets all bars but one back; null: none. */
  mark(position: number | null): void {
    if (position === this.marked) return;
    this.marked = position;
    this.draw();
  }

  protected filled(): EChartsCoreOption {
    const { skeleton, steps, marked } = this;
    const value = (step: Step, id: string): number | null => {
      if (step.gpu === null) return null;
      const ns = { compute: step.gpu.compute_ns, comm: step.gpu.exposed_comm_ns, copy: step.gpu.copy_ns, idle: step.gpu.idle_ns }[id];
      return ns === undefined ? null : ns / 1e6;
    };
    const zoom = steps.length > zoomFrom;
    return {
      ...skeleton,
      xAxis: [{ ...skeleton.xAxis[0], data: steps.map((s) => String(s.index)) }],
      series: skeleton.series.map((s) => ({
        ...s,
        barMaxWidth: 48,
        data: steps.map((step, i) => {
          const faint = marked === null ? step.kind === "idle" : i !== marked;
          const v = value(step, s.id);
          return faint ? { value: v, itemStyle: { opacity: 0.35 } } : v;
        }),
      })),
      tooltip: {
        ...skeleton.tooltip,
        formatter: (shown: unknown) => this.tooltip((shown as { dataIndex: number }[])[0]?.dataIndex ?? -1, value),
      },
      ...(zoom
        ? {
            dataZoom: [{ type: "slider", height: 18, bottom: 4, brushSelect: false, showDataShadow: false }, { type: "inside", zoomOnMouseWheel: "ctrl" }],
            grid: { ...skeleton.grid, bottom: 54 },
          }
        : {}),
    };
  }

  private tooltip(at: number, value: (step: Step, id: string) => number | null): string {
    const step = this.steps[at];
    if (step === undefined) return "";
    const lines = this.skeleton.series.map((s) => {
      const v = value(step, s.id);
      return v === null ? null : `${s.name}  ${sig3(v)} ms`;
    });
    const known = lines.filter((l) => l !== null);
    return [t.chart.tooltipStep(String(step.index), short(step.name)), ...(known.length > 0 ? known : [t.chart.noGPU])].join("\n");
  }
}

/** GPU span over B, one point a launch. */
export class ShapesChart extends Chart {
  private points: readonly { id: string; data: ShapePoint[] }[] = [];

  set(points: readonly { id: string; data: ShapePoint[] }[]): void {
    this.points = points;
    this.draw();
  }

  protected filled(): EChartsCoreOption {
    const { skeleton, points } = this;
    const drawn = skeleton.series
      .map((s) => ({ ...s, data: points.find((p) => p.id === s.id)?.data ?? [] }))
      .filter((s) => s.data.length > 0);
    return {
      ...skeleton,
      series: drawn,
      tooltip: {
        ...skeleton.tooltip,
        formatter: (p: unknown) => {
          const { data, seriesName } = p as { data: ShapePoint; seriesName: string };
          const [b, ms, n, name] = data;
          return `${t.chart.tooltipShape(short(name), n === null ? "–" : String(n), String(b))}\n${seriesName}  ${sig3(ms)} ms`;
        },
      },
    };
  }
}

function short(name: string): string {
  return harmless(name.length <= 60 ? name : `${name.slice(0, 36)}…${name.slice(-20)}`);
}
