/** One chart's figure on the page: asks for its data when it comes into sight, and draws it. */

import type * as Charts from "./charts";
import { role } from "./dom";
import { t } from "./fleetstrings";
import { integer, sig3 } from "./format";
import { harmless } from "./names";
import { refusal } from "./refusal";
import { bound, lastAt, look, lookOf, type Line, type Mark, type Series } from "./series";
import { bandName } from "./seriestext";

/** What all charts of the page have in common. */
export interface Asked {
  deployment: string;
  from: number;
  to: number;
  /** "live", "15m" …, or "own". */
  key: string;
  byStep: boolean;
  only: string;
  joined: boolean;
}

export interface Host {
  asked(): Asked;
  marks(): readonly Mark[];
  charts(): Promise<typeof Charts>;
  skeleton(): Charts.Skeleton;
  brushed(card: PlotCard, from: number, to: number): void;
  cursor(x: number | null): void;
}

export class PlotCard {
  visible = false;
  private plot: Charts.LinePlot | null = null;
  private series: Series | null = null;
  private turn = 0;
  private stale = true;
  private loading = false;
  private abort: AbortController | null = null;
  private readonly area: HTMLElement;
  private readonly note: HTMLElement;
  private readonly legend: HTMLElement;
  private readonly heading: HTMLElement;
  private readonly names: readonly string[];
  private readonly metrics: readonly string[];

  constructor(
    readonly figure: HTMLElement,
    private readonly host: Host,
  ) {
    this.area = figure.querySelector<HTMLElement>(".plot-area")!;
    this.note = role(figure, "note");
    this.legend = role(figure, "legend");
    this.heading = figure.querySelector<HTMLElement>("h3 .unit")!;
    this.names = (figure.dataset["names"] ?? "").split("\n");
    this.metrics = new URLSearchParams(figure.dataset["query"]).getAll("metric");
  }

  /** Its data is no longer what the page shows; it is asked for at once if the chart is in sight. */
  invalidate(): void {
    this.stale = true;
    this.abort?.abort();
    if (this.visible) void this.load();
  }

  /** Newer data may be there; what is being loaded is new enough for now. */
  renew(): void {
    this.stale = true;
    if (this.visible && !this.loading) void this.load();
  }

  seen(visible: boolean): void {
    this.visible = visible;
    if (visible && this.stale && !this.loading) void this.load();
  }

  point(x: number | null): void {
    if (this.visible) this.plot?.point(x);
  }

  /** The cell's time as the server says it, for a brush over steps. */
  get data(): Series | null {
    return this.series;
  }

  async load(): Promise<void> {
    const turn = ++this.turn;
    this.stale = false;
    this.loading = true;
    this.abort?.abort();
    const abort = new AbortController();
    this.abort = abort;
    const asked = this.host.asked();
    if (this.series === null) this.say(t.plot.loading);
    try {
      const response = await fetch(this.address(asked), { mode: "same-origin", signal: abort.signal });
      if (!response.ok) throw new Error((await refusal(response)).message);
      const answer = (await response.json()) as Series;
      if (turn === this.turn) await this.draw(answer, asked);
    } catch (err) {
      if (turn !== this.turn || abort.signal.aborted) return;
      this.stale = true;
      this.say(t.plot.failed(err instanceof Error ? err.message : String(err)));
    } finally {
      if (turn === this.turn) this.loading = false;
    }
  }

  private address(asked: Asked): string {
    const q = new URLSearchParams(this.figure.dataset["query"]);
    q.set("deployment", asked.deployment);
    if (asked.key === "own") {
      q.set("from", String(Math.floor(asked.from)));
      q.set("to", String(Math.ceil(asked.to)));
    } else q.set("range", asked.key);
    // Each point has its extremes beside it, so half as many points as pixels fill the width.
    q.set("points", String(Math.max(40, Math.round(this.area.clientWidth / 2))));
    if (asked.only !== "all") q.set("only", asked.only);
    if (asked.joined) q.set("agg", "1");
    if (asked.byStep) q.set("x", "step");
    return `/api/series?${q}`;
  }

  private async draw(series: Series, asked: Asked): Promise<void> {
    const charts = await this.host.charts().catch(() => null);
    if (charts === null) return this.say(t.plot.noChart);
    this.series = series;
    this.plot ??= new charts.LinePlot(this.area, this.host.skeleton());
    const end = series.x0 + series.cells * series.dx;
    // A counter's increase is told per minute or per 1,000 steps.
    const unit = this.figure.dataset[asked.byStep ? "stepUnit" : "unit"] ?? "";
    this.heading.textContent = unit;
    this.plot.set({
      series,
      marks: this.host.marks(),
      unit,
      name: (line) => this.name(line),
      byStep: asked.byStep,
      from: asked.byStep || asked.key !== "own" ? series.x0 : asked.from,
      to: asked.byStep || asked.key !== "own" ? end : asked.to,
      onBrush: (from, to) => this.host.brushed(this, from, to),
      onCursor: (x) => this.host.cursor(x),
    });
    this.figure.dataset["axis"] = asked.byStep ? "step" : "time"; // which of the two is drawn by now
    this.drawLegend(series);
    this.say(this.summary(series, asked));
  }

  private name(line: Line): string {
    const parts: string[] = [];
    if (this.names.length > 1) parts.push(this.names[this.metrics.indexOf(line.metric)] ?? line.metric);
    else if (line.label !== "" && !this.fixedLabel) parts.push(line.label);
    if (line.engine !== "") parts.push(line.engine);
    if (line.steps !== "") parts.push(t.steps[line.steps] ?? line.steps);
    return harmless(parts.length > 0 ? parts.join(" · ") : t.together);
  }

  private get fixedLabel(): boolean {
    return new URLSearchParams(this.figure.dataset["query"]).has("label");
  }

  private summary(series: Series, asked: Asked): string {
    if (series.samples === 0) return t.plot.none;
    const parts: string[] = [];
    const members = series.cards > 0 ? t.plot.cards(series.cards) : t.plot.engines(series.engines);
    const joined = series.lines.length > 0 && series.lines.every((l) => l.engine === "");
    if (series.bands.length > 0) parts.push(t.plot.band(members));
    else if (joined && Math.max(series.engines, series.cards) > 1) parts.push(t.plot.joined(members, this.figure.dataset["rule"] ?? ""));
    else parts.push(members);
    if (joined && !asked.joined && series.engines > 1) parts.push(t.plot.tooMany);
    const counted = this.figure.dataset["counted"] ?? "";
    parts.push(counted === "" ? t.plot.samples(integer(series.samples)) : t.plot.counted(integer(series.samples), counted));
    const clipped = series.lines.reduce((n, l) => n + (l.clip ?? []).filter((c) => c !== 0).length, 0);
    if (clipped > 0) parts.push(t.plot.clipped(clipped));
    if (series.more > 0) parts.push(t.plot.more(series.more));
    const far = series.outliers.map((o) => `${harmless(o.engine)}${o.off === null ? "" : ` ${o.off > 0 ? "+" : "−"}${sig3(Math.abs(o.off) * 100)} %`}`);
    if (far.length > 0) parts.push(`${t.plot.outliers} ${far.join(", ")}`);
    return parts.join(" · ");
  }

  private say(text: string): void {
    this.note.textContent = text;
  }

  /** The legend as text beside the chart: it can be read aloud, and points at its line. */
  private drawLegend(series: Series): void {
    const lines = series.lines.length > 1 || series.bands.length > 0 || series.lines[0]?.steps !== "" ? series.lines : [];
    const kinds = series.bands.filter((band) => band.steps !== "" || band.label).map((band) => {
      const item = document.createElement("li");
      const mark = document.createElement("i");
      mark.style.borderTop = `2px solid ${look(0, band.steps).color}`;
      item.append(mark, bandName(band));
      return item;
    });
    this.legend.replaceChildren(
      ...kinds,
      ...lines.map((line, n) => {
        const item = document.createElement("li");
        const mark = document.createElement("i");
        const { color, dash } = lookOf(series, n);
        mark.style.borderTop = `2px ${dash} ${color}`;
        const name = this.name(line);
        const k = lastAt(line);
        item.append(mark, name.length > 44 ? `${name.slice(0, 28)}…${name.slice(-14)}` : name, " ", k < 0 ? "–" : `${bound(line, k)}${sig3(line.v[k]!)}`);
        item.title = name;
        if (line.outlier) item.className = "outlier";
        item.addEventListener("mouseenter", () => this.plot?.highlight(name));
        item.addEventListener("mouseleave", () => this.plot?.highlight(null));
        return item;
      }),
    );
  }
}
