/** The table of batch shapes and its scatter of GPU span over B. */

import type { ChartSet } from "./charting";
import { t } from "./strings";
import type { Graph, PreviewShape, Shape, Summary } from "./summary";
import { DataTable } from "./table";

type Row = Partial<Shape> & PreviewShape;

export class ShapesView {
  private readonly table: DataTable<Row>;
  private selected: string | null = null;

  /** open shows the steps of a shape. */
  constructor(private readonly charts: ChartSet, open: (name: string) => void) {
    this.table = new DataTable<Row>("shapes", {
      value: shapeValue,
      id: (r) => r.name,
      text: (r) => `${r.name} ${r.kind ?? ""} ${r.graph ?? ""}`,
      reason: (_, key) => reason(key),
      samples: (r, key) => (["name", "kind", "n", "b", "b_per_n", "count", "graph"].includes(key) ? "" : t.samples.steps(r.count)),
      open: (r) => open(r.name),
      decorate: (tr, r) => {
        tr.classList.toggle("dim", this.selected !== null && r.name !== this.selected);
        tr.classList.toggle("selected", r.name === this.selected);
      },
    });
  }

  preview(shapes: readonly PreviewShape[]): void {
    this.table.set(shapes, true);
    this.charts.hide("shapes");
  }

  show(summary: Summary, name: string): void {
    this.table.traceName = name;
    this.table.set(summary.shapes);
    const points = scatterPoints(summary.shapes);
    // A single point or bar says nothing that the row does not.
    const count = points.reduce((sum, p) => sum + p.data.length, 0);
    if (count < 2) this.charts.hide("shapes");
    else this.charts.shapes(points, t.chart.shapes(count));
  }

  /** Narrows to the shape of a step: the others are set back. */
  narrow(name: string | null): void {
    this.selected = name;
    this.table.render();
  }
}

function shapeValue(r: Row, key: string): number | string | null | undefined {
  switch (key) {
    case "b_per_n":
      return perSequence(r);
    case "kernels_mean":
      return r.kernels_mean_milli;
    default:
      return r[key as Exclude<keyof Row, "gpu_spans_ns">];
  }
}

function perSequence(r: Row): number | null | undefined {
  return r.n === null || r.b === null ? null : r.n > 0 ? Math.round((r.b / r.n) * 1000) : null;
}

function reason(key: string): string {
  if (key === "n" || key === "b" || key === "b_per_n") return t.absent.noSize;
  if (key.startsWith("gpu_")) return t.absent.noGPU;
  if (key === "graph") return t.absent.noGraph;
  return t.absent.none;
}

/** A launch in the scatter: B, GPU span in ms, N, name. */
export type ShapePoint = [number, number, number | null, string];

/** The launches of each graph status. */
export function scatterPoints(shapes: readonly Shape[]): { id: Graph; data: ShapePoint[] }[] {
  const order: Graph[] = ["replay", "miss", "partial", "none"];
  return order.map((id) => ({
    id,
    data: shapes
      .filter((s) => (s.graph ?? "none") === id)
      .flatMap((s) => (s.b === null ? [] : s.gpu_spans_ns.map((ns): ShapePoint => [s.b!, ns / 1e6, s.n, s.name]))),
  }));
}
