/** What all charts share: their element's size, the page's theme, its colours. */

import { init, type EChartsCoreOption, type EChartsType } from "echarts/core";

/** The part of an option skeleton (rendered into the page) that is filled here. */
export interface Skeleton {
  xAxis: Record<string, unknown>[];
  yAxis: Record<string, unknown>[];
  series: (Record<string, unknown> & { id: string; name: string })[];
  legend: Record<string, unknown>;
  tooltip: Record<string, unknown>;
  grid: Record<string, unknown>;
}

/** A chart in an element: follows its size and the page's theme. */
export abstract class Chart {
  protected readonly chart: EChartsType;

  constructor(
    private readonly place: HTMLElement,
    protected readonly skeleton: Skeleton,
  ) {
    this.chart = init(place, null, { renderer: "canvas" });
    new ResizeObserver(() => this.chart.resize()).observe(place);
    new MutationObserver(() => this.draw()).observe(document.documentElement, { attributeFilter: ["data-theme"] });
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => this.draw());
  }

  protected abstract filled(): EChartsCoreOption;

  protected draw(): void {
    this.chart.setOption(themed(this.filled(), this.place), { notMerge: true });
  }
}

/** The option in the colours that the page's style sheet has for charts. */
export function themed(option: EChartsCoreOption, place: HTMLElement): EChartsCoreOption {
  const style = getComputedStyle(place);
  const color = (name: string) => style.getPropertyValue(name).trim();
  const [ink, muted, rule, ground] = ["--chart-ink", "--chart-muted", "--chart-rule", "--chart-bg"].map(color) as [string, string, string, string];
  const font = { color: muted, fontFamily: style.fontFamily, fontSize: 12 };
  const axis = (a: Record<string, unknown>) => ({
    ...a,
    axisLabel: { hideOverlap: true, ...(a["axisLabel"] as object), ...font },
    nameTextStyle: font,
    axisLine: { show: true, lineStyle: { color: rule } },
    axisTick: { lineStyle: { color: rule } },
    splitLine: { show: a["type"] === "value", lineStyle: { color: rule } },
  });
  const o = option as unknown as Skeleton & { dataZoom?: Record<string, unknown>[] };
  return {
    ...option,
    textStyle: font,
    xAxis: o.xAxis.map(axis),
    yAxis: o.yAxis.map(axis),
    legend: { ...o.legend, textStyle: { ...font, color: ink }, inactiveColor: rule },
    tooltip: {
      ...o.tooltip,
      // Rich text is drawn on the canvas: names from traces never become markup.
      renderMode: "richText",
      confine: true,
      backgroundColor: ground,
      borderColor: rule,
      textStyle: { ...font, color: ink },
    },
    ...(o.dataZoom === undefined
      ? {}
      : { dataZoom: o.dataZoom.map((z) => ({ ...z, borderColor: rule, textStyle: font, fillerColor: "rgba(128,128,128,.2)" })) }),
  };
}
