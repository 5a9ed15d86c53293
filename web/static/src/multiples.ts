/** Small multiples: one chart for each row, made when it comes into sight and given back when it is far from it. */

import type * as Charts from "./charts";
import { scriptJSON } from "./dom";
import { sig3 } from "./format";
import { axisOf, layoutOf, spanLines, type Align, type PlaceWords, type Trails } from "./trails";

/** Texts that the charts need. */
export interface MultiplesText extends PlaceWords {
  none: string;
  failed: string;
  noAxis: string;
}

/** What the page says about them. */
export interface MultiplesConfig {
  trails: string;
  charts: string;
  names: readonly string[];
}

/** How far out of sight charts are made, and given back. */
const margin = "600px";

export class Multiples {
  private trails: Promise<Trails> | null = null;
  private charts: Promise<typeof Charts> | null = null;
  private readonly plots = new Map<HTMLElement, Charts.TrailPlot>();
  private readonly seen = new Set<HTMLElement>();
  private readonly figures: HTMLElement[];

  constructor(
    root: HTMLElement,
    private readonly config: MultiplesConfig,
    private align: Align,
    private readonly text: MultiplesText,
  ) {
    this.figures = [...root.querySelectorAll<HTMLElement>("figure")];
    const watch = new IntersectionObserver((entries) => {
      for (const e of entries) this.sight(e.target as HTMLElement, e.isIntersecting);
    }, { rootMargin: margin });
    // Their height is known before they are drawn, so that nothing below them moves.
    new ResizeObserver(() => requestAnimationFrame(() => this.reserve())).observe(root);
    this.reserve();
    for (const figure of this.figures) watch.observe(figure);
  }

  set(align: Align): void {
    this.align = align;
    for (const figure of this.seen) void this.draw(figure);
  }

  /** A row's picture, with its title, when its columns were, and the colours of the page; null: it is not drawn. */
  async png(figure: HTMLElement, title: string): Promise<Blob | null> {
    const plot = this.plots.get(figure);
    if (plot === undefined || this.trails === null) return null;
    const lines = spanLines((await this.trails).columns, this.config.names);
    const { url, width, height } = plot.image();
    const picture = new Image();
    picture.src = url;
    await picture.decode();
    const line = 16;
    const head = 28 + line * lines.length;
    const ratio = picture.naturalWidth / width;
    const canvas = document.createElement("canvas");
    canvas.width = width * ratio;
    canvas.height = (head + height) * ratio;
    const g = canvas.getContext("2d");
    if (g === null) return null;
    const style = getComputedStyle(document.documentElement);
    g.scale(ratio, ratio);
    g.fillStyle = style.getPropertyValue("--bg").trim();
    g.fillRect(0, 0, width, head + height);
    g.fillStyle = style.getPropertyValue("--ink").trim();
    g.font = `600 14px ${style.fontFamily}`;
    g.fillText(title, 8, 19, width - 16);
    g.font = `11px ${style.fontFamily}`;
    g.fillStyle = style.getPropertyValue("--muted").trim();
    for (const [i, text] of lines.entries()) g.fillText(text, 8, 19 + line * (i + 1), width - 16);
    g.drawImage(picture, 0, head, width, height);
    return new Promise((resolve) => canvas.toBlob(resolve, "image/png"));
  }

  private reserve(): void {
    for (const figure of this.figures) {
      const area = areaOf(figure);
      const { rows } = layoutOf(area.clientWidth, this.config.names.length, { left: 0, right: 0 });
      area.style.setProperty("--rows", String(rows));
    }
  }

  private sight(figure: HTMLElement, visible: boolean): void {
    if (visible) {
      this.seen.add(figure);
      void this.draw(figure);
      return;
    }
    this.seen.delete(figure);
    this.plots.get(figure)?.dispose();
    this.plots.delete(figure);
  }

  private async draw(figure: HTMLElement): Promise<void> {
    const area = areaOf(figure);
    try {
      const [charts, trails] = await Promise.all([this.bundle(), this.load()]);
      if (!this.seen.has(figure)) return;
      const series = trails.rows[figure.dataset["row"]!];
      const axis = axisOf(trails.columns, this.align);
      const none = axis === null ? this.text.noAxis : series === undefined || series.every((s) => s.t.length < 2) ? this.text.none : "";
      if (none !== "" || axis === null || series === undefined) return this.say(figure, none);
      let plot = this.plots.get(figure);
      if (plot === undefined) {
        area.replaceChildren();
        plot = new charts.TrailPlot(area, scriptJSON<Charts.Skeleton>("chart-multiples-option"));
        this.plots.set(figure, plot);
      }
      const by = Number(figure.dataset["scale"] ?? 1);
      plot.set({
        columns: trails.columns, series, axis, by, unit: figure.dataset["unit"] ?? "", names: this.config.names, words: this.text,
        onCursor: (x) => this.cursor(x),
      });
      figure.dataset["axis"] = axis.align; // which is drawn by now
      area.setAttribute("aria-label", `${figure.dataset["title"] ?? ""}: ${series.map((s, i) => `${String.fromCharCode(65 + i)} ${extent(s.v, by)}`).join("; ")}`);
    } catch {
      this.say(figure, this.text.failed); // the table stands without them; the next time in sight tries again
    }
  }

  private say(figure: HTMLElement, text: string): void {
    this.plots.get(figure)?.dispose();
    this.plots.delete(figure);
    areaOf(figure).textContent = text;
  }

  /** The cursor stands in all rows at once. */
  private cursor(x: number | null): void {
    for (const [figure, plot] of this.plots) {
      const said = figure.querySelector("[data-role=at]");
      const text = plot.point(x);
      if (said !== null) said.textContent = text;
    }
  }

  private load(): Promise<Trails> {
    this.trails ??= fetch(this.config.trails, { mode: "same-origin" })
      .then(async (r) => {
        if (!r.ok) throw new Error(String(r.status));
        return (await r.json()) as Trails;
      })
      .catch((err: unknown) => {
        this.trails = null;
        throw err;
      });
    return this.trails;
  }

  private bundle(): Promise<typeof Charts> {
    this.charts ??= (import(this.config.charts) as Promise<typeof Charts>).catch((err: unknown) => {
      this.charts = null;
      throw err;
    });
    return this.charts;
  }
}

function areaOf(figure: HTMLElement): HTMLElement {
  return figure.querySelector<HTMLElement>(".trails")!;
}

/** The smallest and largest value of a curve. */
function extent(values: readonly number[], by: number): string {
  let low = Infinity;
  let high = -Infinity;
  for (const v of values) {
    if (!Number.isFinite(v)) continue;
    low = Math.min(low, v * by);
    high = Math.max(high, v * by);
  }
  return low > high ? "–" : `${sig3(low)} – ${sig3(high)}`;
}
