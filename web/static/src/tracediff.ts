/**
 * The difference of two trace summaries, A and B. Sums are divided by the side's own steps with a batch, so that
 * traces of different length compare; where a side has none, or on request, whole traces are compared. A name that
 * only one side has counts as 0 on the other, unless that side recorded nothing of the kind at all.
 */

import { pattern } from "./fold";
import { median } from "./format";
import { d } from "./pairstrings";
import type { Collective, Kernel, Phase, Step, StepGpu, StepKind, Summary } from "./summary";

export type Side = "a" | "b";

/** "step": sums divided by the side's steps; "trace": sums as they are. */
export type Norm = "step" | "trace";

/** A figure of both sides. delta is B − A, rel the same in parts per million of A; null: cannot be told. */
export interface Pair {
  a: number | null;
  b: number | null;
  delta: number | null;
  rel: number | null;
}

/** A row of a difference table. */
export interface DiffRow {
  id: string;
  name: string;
  group: string;
  total: Pair;
  /** Phases: without what is nested inside. */
  self: Pair;
  /** How often, in the whole trace. */
  count: Pair;
  /** Of one slice or kernel. */
  mean: Pair;
  /** The only side that has it. */
  only: Side | null;
}

const none: Pair = { a: null, b: null, delta: null, rel: null };

/** The pair of two figures; a null one makes the difference null. */
export function pair(a: number | null, b: number | null): Pair {
  return { a, b, ...difference(a, b) };
}

function difference(a: number | null, b: number | null): { delta: number | null; rel: number | null } {
  if (a === null || b === null) return { delta: null, rel: null };
  const delta = b - a;
  return { delta, rel: a === 0 ? null : Math.round((delta / Math.abs(a)) * 1e6) };
}

/** Steps that ran a batch: what per-step figures are divided by. */
export function batches(s: Summary): number {
  return s.steps.filter((step) => step.kind !== "idle").length;
}

/**
 * What GPU sums are divided by: where the capture ended before the last step's GPU work ran, as it always does with
 * overlapped scheduling, there is work of one step less.
 */
export function gpuBatches(s: Summary): number {
  const cut = s.health?.warnings.some((w) => w.code === "last_step_cut") ?? false;
  return Math.max(0, batches(s) - (cut ? 1 : 0));
}

export interface Compared {
  a: Summary;
  b: Summary;
  norm: Norm;
  /** What sums are divided by. */
  by: { a: number; b: number };
  /** The same for GPU work. */
  byGPU: { a: number; b: number };
  /** Why whole traces are compared though steps were asked for: the sides without steps. */
  stepless: Side[];
  hasGPU: { a: boolean; b: boolean };
}

/** Settles how two summaries are compared. */
export function compared(a: Summary, b: Summary, wanted: Norm): Compared {
  const steps = { a: batches(a), b: batches(b) };
  const stepless = (["a", "b"] as const).filter((side) => steps[side] === 0);
  const norm = wanted === "trace" || stepless.length > 0 ? "trace" : "step";
  return {
    a,
    b,
    norm,
    by: norm === "step" ? steps : { a: 1, b: 1 },
    byGPU: norm === "step" ? { a: gpuBatches(a), b: gpuBatches(b) } : { a: 1, b: 1 },
    stepless: wanted === "step" ? stepless : [],
    hasGPU: { a: recordedGPU(a), b: recordedGPU(b) },
  };
}

/** Whether a trace has GPU work at all. */
export function recordedGPU(s: Summary): boolean {
  return s.devices.some((d) => d.kernels > 0 || d.busy_ns > 0);
}

/** One side's sums of one name. */
interface Sums {
  name: string;
  group: string;
  total: number;
  self: number | null;
  count: number;
}

/** Joins both sides by id. has: whether a side recorded such things at all; by: what sums are divided by. */
function join(a: Map<string, Sums>, b: Map<string, Sums>, has: { a: boolean; b: boolean }, by: { a: number; b: number }): DiffRow[] {
  const both = has.a && has.b;
  const rows: DiffRow[] = [];
  for (const id of new Set([...a.keys(), ...b.keys()])) {
    const x = a.get(id);
    const y = b.get(id);
    const figure = (of: (s: Sums) => number | null, parts: { a: number; b: number }): Pair => {
      const va = x === undefined ? null : over(of(x), parts.a);
      const vb = y === undefined ? null : over(of(y), parts.b);
      // Absent beside recorded ones is none of it, so all of the other side's is the difference.
      return { a: va, b: vb, ...(both ? difference(x === undefined ? 0 : va, y === undefined ? 0 : vb) : { delta: null, rel: null }) };
    };
    const { name, group } = (x ?? y)!;
    const mean = pair(x === undefined ? null : over(x.total, x.count), y === undefined ? null : over(y.total, y.count));
    rows.push({
      id,
      name,
      group,
      total: figure((s) => s.total, by),
      self: figure((s) => s.self, by),
      count: figure((s) => s.count, { a: 1, b: 1 }),
      mean,
      only: x === undefined ? "b" : y === undefined ? "a" : null,
    });
  }
  return rows;
}

function over(sum: number | null, by: number): number | null {
  return sum === null || by === 0 ? null : Math.round(sum / by);
}

function byID<T>(items: readonly T[], id: (item: T) => string, sums: (item: T) => Sums): Map<string, Sums> {
  const all = new Map<string, Sums>();
  for (const item of items) {
    const key = id(item);
    const more = sums(item);
    const have = all.get(key);
    if (have === undefined) all.set(key, more);
    else {
      have.total += more.total;
      have.count += more.count;
      have.self = have.self === null || more.self === null ? null : have.self + more.self;
    }
  }
  return all;
}

/**
 * CPU annotations by full name; groups say what of another engine does the same. Names of steps carry their batch
 * sizes, which two traces hardly share: those that differ in numbers only are one row.
 */
export function phaseRows(c: Compared): DiffRow[] {
  const of = (s: Summary) => {
    const stepNames = new Set([...s.shapes.map((x) => x.name), ...s.steps.flatMap((x) => [x.name, ...x.names])]);
    const name = (p: Phase) => (stepNames.has(p.name) ? pattern(p.name) : p.name);
    return byID<Phase>(s.phases, name, (p) => ({ name: name(p), group: p.group, total: p.total_ns, self: p.self_ns, count: p.count }));
  };
  return join(of(c.a), of(c.b), { a: c.a.phases.length > 0, b: c.b.phases.length > 0 }, c.by);
}

/** Kernels by name, grouped by class: names differ between engines and builds, what they do does not. */
export function kernelRows(c: Compared): DiffRow[] {
  const of = (s: Summary) =>
    byID<Kernel>(s.kernels, (k) => k.name, (k) => ({ name: k.name, group: k.class, total: k.total_ns, self: null, count: k.count }));
  return join(of(c.a), of(c.b), c.hasGPU, c.byGPU);
}

/** Kernels summed by class. */
export function classRows(c: Compared): DiffRow[] {
  const of = (s: Summary) =>
    byID<Kernel>(s.kernels, (k) => k.class, (k) => ({ name: k.class, group: "", total: k.total_ns, self: null, count: k.count }));
  return join(of(c.a), of(c.b), c.hasGPU, c.byGPU);
}

/** Phases summed by group, own time, which adds up. */
export function groupRows(c: Compared): DiffRow[] {
  const of = (s: Summary) =>
    byID<Phase>(s.phases, (p) => p.group, (p) => ({ name: p.group, group: "", total: p.self_ns, self: p.self_ns, count: p.count }));
  return join(of(c.a), of(c.b), { a: c.a.phases.length > 0, b: c.b.phases.length > 0 }, c.by);
}

/** Communication by operation, group size and library: an engine's own all-reduce is not NCCL's. */
export function collectiveRows(c: Compared): DiffRow[] {
  const of = (s: Summary) =>
    byID<Collective>(
      s.collectives,
      (x) => `${x.name} ${x.group_size ?? ""} ${x.library}`,
      (x) => ({ name: `${x.name}${x.group_size === null ? "" : ` × ${x.group_size}`}${x.library === "custom" ? ` ${d.custom}` : ""}`, group: "", total: x.total_ns, self: null, count: x.count }),
    );
  return join(of(c.a), of(c.b), c.hasGPU, c.byGPU);
}

/** The GPU's time over all of a trace's devices. */
export const gpuFigures = ["busy_ns", "compute_ns", "exposed_comm_ns", "copy_ns", "idle_ns", "sum_ns"] as const;

export function gpuRows(c: Compared): DiffRow[] {
  return gpuFigures.map((key) => {
    const of = (s: Summary, side: Side) =>
      c.hasGPU[side] ? over(s.devices.reduce((sum, d) => sum + (d[key] ?? 0), 0), c.byGPU[side]) : null;
    return { id: key, name: key, group: "", total: pair(of(c.a, "a"), of(c.b, "b")), self: none, count: none, mean: none, only: null };
  });
}

/** The figures of a step that kinds of steps are compared by. */
export const stepFigures = [
  "cycle_ns", "cpu_ns", "launches", "graph_kernels", "graph_launch_ns", "span_ns", "busy_ns", "idle_ns", "gap_ns", "kernel_ns", "kernels",
  "compute_ns", "exposed_comm_ns",
] as const;

export type StepFigure = (typeof stepFigures)[number];

/** What single steps say of one figure. */
export interface Spread {
  n: number;
  median: number;
  mean: number;
  min: number;
  max: number;
}

export interface KindSide {
  steps: number;
  /** Median sequences and query tokens; null where names do not say. */
  n: number | null;
  b: number | null;
  figures: Record<StepFigure, Spread | null>;
  /** What the cycle of the step with the median cycle is made of; null where cycles are not the GPU's. */
  typical: Parts | null;
}

export interface KindRow {
  kind: StepKind;
  a: KindSide | null;
  b: KindSide | null;
}

/** Kinds in the order in which they matter; a kind that neither side has is left out. */
export function kindRows(a: Summary, b: Summary): KindRow[] {
  const order: StepKind[] = ["decode", "prefill", "mixed", "unknown"];
  const byGPU = paced(a) && paced(b); // one figure for both sides
  const x = measured(a, byGPU);
  const y = measured(b, byGPU);
  return order
    .map((kind) => ({ kind, a: kindSide(x, kind), b: kindSide(y, kind) }))
    .filter((row) => row.a !== null || row.b !== null);
}

/** What a cycle told by the GPU is made of: these add up to it. */
export const cycleParts = ["gap_ns", "inside_ns", "compute_ns", "exposed_comm_ns", "copy_ns"] as const;

export type Parts = Record<(typeof cycleParts)[number], number>;

interface Measured {
  step: Step;
  values: Record<StepFigure, number | null>;
  parts: Parts | null;
}

/**
 * Whether the GPU tells a trace's cycles: steps follow each other, not of several threads beside each other, and most
 * of those with a batch have GPU work.
 */
export function paced(s: Summary): boolean {
  const beside = s.steps.some((step, i) => i > 0 && step.start_ns < s.steps[i - 1]!.start_ns + s.steps[i - 1]!.dur_ns);
  const worked = s.steps.filter((step) => step.gpu !== null).length;
  return !beside && worked >= 2 && 2 * worked > batches(s);
}

/** Every step's figures, also those that need its neighbours. byGPU: cycles are told by the GPU, see cycle. */
export function measured(s: Summary, byGPU: boolean): Measured[] {
  let last: number | null = null; // where the GPU work of the steps before ends
  return s.steps.map((step, i) => {
    const { gpu } = step;
    // Behind idle steps nothing waits for the GPU: the time before this step's own start is not its.
    const from: number | null = last !== null && i > 0 && s.steps[i - 1]!.kind === "idle" ? Math.max(last, step.start_ns) : last;
    const gap = gpu === null || from === null ? null : Math.max(0, gpu.first_ns - from);
    const cycle_ns = !byGPU ? cycle(step, s.steps[i + 1]) : gpu === null || from === null || gpu.last_ns <= from ? null : gpu.last_ns - from;
    if (gpu !== null) last = Math.max(last ?? gpu.last_ns, gpu.last_ns);
    const gpuOr = (v: number) => (gpu === null ? null : v);
    return {
      step,
      parts: byGPU && gpu !== null && cycle_ns !== null && gap !== null ? parts(cycle_ns, gap, gpu) : null,
      values: {
        cycle_ns,
        cpu_ns: step.cpu_ns,
        launches: step.launches,
        graph_kernels: gpuOr(step.graph_kernels),
        graph_launch_ns: step.graph_launches === 0 ? null : step.graph_launch_ns,
        span_ns: gpu?.span_ns ?? null,
        busy_ns: gpu?.busy_ns ?? null,
        idle_ns: gpu?.idle_ns ?? null,
        gap_ns: gap,
        kernel_ns: gpuOr(step.kernel_ns),
        kernels: gpuOr(step.kernels),
        compute_ns: gpu?.compute_ns ?? null,
        exposed_comm_ns: gpu?.exposed_comm_ns ?? null,
      },
    };
  });
}

/**
 * A cycle's parts: the blank before the step's work, computing, communication and copies as in its span, and as "idle
 * inside" the rest. Work that began beside that of the step before (a copy in) shortens the rest, not the cycle.
 */
function parts(cycle: number, gap: number, gpu: StepGpu): Parts | null {
  const inside = cycle - gap - gpu.busy_ns;
  if (inside < 0) return null; // more work than cycle: it ran beside that of the step before
  return { gap_ns: gap, inside_ns: inside, compute_ns: gpu.compute_ns, exposed_comm_ns: gpu.exposed_comm_ns, copy_ns: gpu.copy_ns };
}

/**
 * The cycle where the GPU does not tell it: from a step's start to the next one's; the last step has none. Steps that
 * overlap are of several threads: then the step's own length is all that is known. The GPU tells it better: with
 * zero-overhead scheduling the time from one schedule to the next is that of the GPU work of the step before, so a
 * cycle is from the end of that work to the end of the step's own.
 */
function cycle(step: Step, next: Step | undefined): number | null {
  if (next === undefined) return null;
  return next.start_ns < step.start_ns + step.dur_ns ? step.dur_ns : next.start_ns - step.start_ns;
}

function kindSide(all: readonly Measured[], kind: StepKind): KindSide | null {
  const of = all.filter((m) => m.step.kind === kind);
  if (of.length === 0) return null;
  const figures = {} as Record<StepFigure, Spread | null>;
  for (const key of stepFigures) figures[key] = spread(of.map((m) => m.values[key]));
  const middle = (f: (s: Step) => number | null) => {
    const known = of.map((m) => f(m.step)).filter((v) => v !== null);
    return known.length === 0 ? null : median(known);
  };
  const typical = of.find((m) => m.values.cycle_ns !== null && m.values.cycle_ns === figures.cycle_ns?.median)?.parts ?? null;
  return { steps: of.length, n: middle((s) => s.n), b: middle((s) => s.b), figures, typical };
}

export function spread(values: readonly (number | null)[]): Spread | null {
  const known = values.filter((v) => v !== null);
  if (known.length === 0) return null;
  return {
    n: known.length,
    median: median(known),
    mean: Math.round(known.reduce((sum, v) => sum + v, 0) / known.length),
    min: known.reduce((x, y) => Math.min(x, y)),
    max: known.reduce((x, y) => Math.max(x, y)),
  };
}

/** The kind that the comparison is told by: one that both sides have, decode first. */
export function mainKind(rows: readonly KindRow[]): KindRow | null {
  return rows.find((r) => r.a !== null && r.b !== null) ?? null;
}
