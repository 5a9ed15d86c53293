/**
 * Batch shapes of two traces side by side. Those of the same kind, N and B meet. Where a kind has none that both sides
 * ran, as with speculation, whose B hardly repeats, its shapes meet by size class instead.
 */

import type { Graph, Shape, StepKind, Summary } from "./summary";
import { pair, type Pair } from "./tracediff";

/** What one side ran of a shape, or of a class of shapes. */
export interface ShapeSide {
  /** Of the most frequent shape. */
  name: string;
  n: number | null;
  b: number | null;
  count: number;
  /** Different shapes in it. */
  shapes: number;
  graph: Graph | null;
  /** Means of one launch. */
  cpu: number | null;
  span: number | null;
  busy: number | null;
  /** Kernels a launch, in thousandths. */
  kernels: number | null;
}

/** A shape, or a class of them, on both sides. */
export interface ShapeRow {
  id: string;
  /** The class where there is one: its kind and the smallest and largest N in it. */
  bucket: { kind: StepKind; from: number; to: number } | null;
  a: ShapeSide | null;
  b: ShapeSide | null;
  cpu: Pair;
  span: Pair;
  busy: Pair;
  kernels: Pair;
}

/** Shapes by kind and size, so that engines that name them differently meet; without sizes by name. */
export function shapeRows(a: Summary, b: Summary): ShapeRow[] {
  const x = exact(a);
  const y = exact(b);
  const classed = classedKinds(x, y);
  const sides = [x, y].map((of) => grouped([...of.values()], classed)) as [Map<string, Shape[]>, Map<string, Shape[]>];
  return [...new Set([...sides[0].keys(), ...sides[1].keys()])].map((key) => {
    const [sa, sb] = [sides[0].get(key), sides[1].get(key)];
    const first = (sa ?? sb)![0]!;
    const [ja, jb] = [joined(sa), joined(sb)];
    const both = (f: (s: ShapeSide) => number | null) => pair(ja === null ? null : f(ja), jb === null ? null : f(jb));
    return {
      id: key,
      bucket: isClassed(first, classed) ? { kind: first.kind!, ...bucket(first.n!) } : null,
      a: ja,
      b: jb,
      cpu: both((s) => s.cpu),
      span: both((s) => s.span),
      busy: both((s) => s.busy),
      kernels: both((s) => s.kernels),
    };
  });
}

function exactID(s: Shape): string {
  return s.n === null && s.b === null ? s.name : `${s.kind ?? ""} ${s.n ?? ""}/${s.b ?? ""}`;
}

/** The most frequent of several with one size stands for it: means of different names don't add up. */
function exact(s: Summary): Map<string, Shape> {
  const all = new Map<string, Shape>();
  for (const shape of s.shapes) {
    const have = all.get(exactID(shape));
    if (have === undefined || shape.count > have.count) all.set(exactID(shape), shape);
  }
  return all;
}

/** Kinds that both sides ran, but in no size that both ran. */
function classedKinds(x: Map<string, Shape>, y: Map<string, Shape>): Set<StepKind> {
  const kinds = (of: Map<string, Shape>) => new Set([...of.values()].filter((s) => s.n !== null).map((s) => s.kind));
  const [kx, ky] = [kinds(x), kinds(y)];
  const met = new Set([...x].filter(([id, s]) => s.n !== null && y.has(id)).map(([, s]) => s.kind));
  return new Set([...kx].filter((k) => k !== null && ky.has(k) && !met.has(k)) as StepKind[]);
}

function isClassed(s: Shape, classed: ReadonlySet<StepKind>): boolean {
  return s.n !== null && s.kind !== null && classed.has(s.kind);
}

/** The size class of N: from a power of two to before the next. */
export function bucket(n: number): { from: number; to: number } {
  if (n < 1) return { from: 0, to: 0 };
  const from = 2 ** Math.floor(Math.log2(n));
  return { from, to: 2 * from - 1 };
}

function grouped(shapes: readonly Shape[], classed: ReadonlySet<StepKind>): Map<string, Shape[]> {
  const all = new Map<string, Shape[]>();
  for (const s of shapes) {
    const id = isClassed(s, classed) ? `${s.kind} N ${bucket(s.n!).from}` : exactID(s);
    const have = all.get(id);
    if (have === undefined) all.set(id, [s]);
    else have.push(s);
  }
  return all;
}

/** One side's shapes of a row as one: means are weighted by launches. */
function joined(shapes: readonly Shape[] | undefined): ShapeSide | null {
  if (shapes === undefined) return null;
  const most = shapes.reduce((best, s) => (s.count > best.count ? s : best));
  const graphs = new Set(shapes.map((s) => s.graph));
  const mean = (of: (s: Shape) => number | null) => {
    const known = shapes.filter((s) => of(s) !== null);
    const launches = known.reduce((sum, s) => sum + s.count, 0);
    return launches === 0 ? null : Math.round(known.reduce((sum, s) => sum + of(s)! * s.count, 0) / launches);
  };
  const one = shapes.length === 1;
  return {
    name: most.name,
    n: one ? most.n : null,
    b: one ? most.b : null,
    count: shapes.reduce((sum, s) => sum + s.count, 0),
    shapes: shapes.length,
    graph: graphs.size === 1 ? most.graph : graphs.has(null) ? null : "partial",
    cpu: mean((s) => s.cpu_mean_ns),
    span: mean((s) => s.gpu_span_mean_ns),
    busy: mean((s) => s.gpu_busy_mean_ns),
    kernels: mean((s) => s.kernels_mean_milli),
  };
}
