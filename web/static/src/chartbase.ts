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
  /** Ends what the chart listens to. */
  protected readonly over = new AbortController();

  constructor(
    private readonly place: HTMLElement,
    protected readonly skeleton: Skeleton,
  ) {
    this.chart = init(place, null, { renderer: "canvas" });
    const size = new ResizeObserver(() => this.resized());
    size.observe(place);
    const theme = new MutationObserver(() => this.draw());
    theme.observe(document.documentElement, { attributeFilter: ["data-theme"] });
    const { signal } = this.over;
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => this.draw(), { signal });
    signal.addEventListener("abort", () => {
      size.disconnect();
      theme.disconnect();
    });
  }

  /** Gives the chart's memory back; its element is empty afterwards. */
  dispose(): void {
    this.over.abort();
    this.chart.dispose();
    this.place.replaceChildren();
  }

  protected resized(): void {
    this.chart.resize();
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
    nameTextStyle: { ...font, ...(a["nameTextStyle"] as object) },
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
      textStyle: { ...(o.tooltip["textStyle"] as object), ...font, color: ink },
    },
    ...(o.dataZoom === undefined
      ? {}
      : { dataZoom: o.dataZoom.map((z) => ({ ...z, borderColor: rule, textStyle: font, fillerColor: "rgba(128,128,128,.2)" })) }),
  };
}
