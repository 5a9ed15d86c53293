/** The page's side of the charts: loads their bundle when there is something to draw. */

import type * as Charts from "./charts";
import { byID, scriptJSON } from "./dom";
import type { ShapePoint } from "./shapes";
import { t } from "./strings";
import type { Step } from "./summary";

type Kind = "steps" | "shapes";

export class ChartSet {
  private loaded: Promise<typeof Charts> | null = null;
  private stepsChart: Charts.StepsChart | null = null;
  private shapesChart: Charts.ShapesChart | null = null;
  private marked: number | null = null;
  /** Counts what was asked for, so that a slow load does not draw what is no longer wanted. */
  private readonly turn: Record<Kind, number> = { steps: 0, shapes: 0 };

  constructor(private readonly url: string) {}

  hide(kind: Kind): void {
    this.turn[kind]++;
    byID(`chart-${kind}`).hidden = true;
  }

  steps(steps: readonly Step[], label: string, onSelect: (index: number) => void): void {
    this.draw("steps", label, (charts, place) => {
      this.stepsChart ??= new charts.StepsChart(place, scriptJSON<Charts.Skeleton>("chart-steps-option"));
      this.stepsChart.set(steps, onSelect);
      this.stepsChart.mark(this.marked);
    });
  }

  shapes(points: readonly { id: string; data: ShapePoint[] }[], label: string): void {
    this.draw("shapes", label, (charts, place) => {
      this.shapesChart ??= new charts.ShapesChart(place, scriptJSON<Charts.Skeleton>("chart-shapes-option"));
      this.shapesChart.set(points);
    });
  }

  /** Sets off one step, by its position; null: none. */
  mark(position: number | null): void {
    this.marked = position;
    this.stepsChart?.mark(position);
  }

  private draw(kind: Kind, label: string, with_: (charts: typeof Charts, place: HTMLElement) => void): void {
    const turn = ++this.turn[kind];
    const place = byID(`chart-${kind}`);
    place.hidden = false;
    place.setAttribute("aria-label", label);
    this.load().then(
      (charts) => {
        if (turn === this.turn[kind]) with_(charts, place);
      },
      () => {
        place.textContent = t.chart.failed;
      },
    );
  }

  private load(): Promise<typeof Charts> {
    this.loaded ??= (import(this.url) as Promise<typeof Charts>).catch((err: unknown) => {
      this.loaded = null; // the next chart tries again
      throw err;
    });
    return this.loaded;
  }
}
