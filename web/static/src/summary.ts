/**
 * The trace summary ("stepscope.trace/1") as the reader writes it; see docs/trace-summary.md.
 * Times are integer nanoseconds, shares are parts per million, a figure that does not exist is null.
 */

export type Verdict = "ok" | "warn" | "unusable";
export type Group = "scheduling" | "execution" | "post-processing" | "other";
export type StepKind = "prefill" | "decode" | "mixed" | "idle" | "unknown";
export type Graph = "replay" | "miss" | "partial" | "none";

export interface Warning {
  code: string;
  message: string;
  count: number;
  offset: number | null;
}

export interface Health {
  verdict: Verdict;
  truncated: boolean;
  truncated_at: number | null;
  events: number;
  slices: number;
  skipped: number;
  repaired: number;
  clipped: number;
  unfinished: number;
  unresolved: number;
  warnings: Warning[];
}

export interface Facts {
  producer: string;
  rank: number | null;
  world_size: number | null;
  backend: string | null;
  gpu_names: string[];
  gpu_count: number;
  versions: Record<string, string>;
  trace_name: string | null;
  host: string | null;
  processes: { pid: string; name: string; labels: string }[];
  threads: number;
}

export interface Stream {
  stream: number;
  kernels: number;
  copies: number;
  sum_ns: number;
  busy_ns: number;
}

export interface Device {
  id: string;
  kernels: number;
  sum_ns: number;
  busy_ns: number;
  idle_ns: number;
  copy_ns: number;
  /** NCCL's kernels only; see custom_comm_ns. */
  comm_ns: number;
  streams: number;
  compute_ns: number;
  custom_comm_ns: number;
  exposed_comm_ns: number;
  first_ns: number;
  last_ns: number;
  graph_kernels: number;
  stream_list: Stream[];
}

/** Durations in buckets of half an octave; counts[0] is bucket `first`. */
export interface Histogram {
  first: number;
  counts: number[];
}

export interface Times {
  name: string;
  prefix: string;
  count: number;
  total_ns: number;
  self_ns: number;
  mean_ns: number;
  p50_ns: number;
  p95_ns: number;
  p99_ns: number;
  max_ns: number;
  share_ppm: number | null;
  group: Group;
  hist: Histogram;
}

export interface Phase extends Times {
  min_ns: number;
  threads: number;
}

export interface TreeNode extends Times {
  thread: number;
  depth: number;
}

export interface Thread {
  id: number;
  pid: string;
  tid: string;
  process: string;
  name: string;
}

export interface Shape {
  name: string;
  n: number | null;
  b: number | null;
  count: number;
  cpu_total_ns: number;
  kernels: number;
  graph: Graph | null;
  source: string;
  kind: StepKind | null;
  cpu_mean_ns: number;
  cpu_max_ns: number;
  /** Kernels a launch, in thousandths. */
  kernels_mean_milli: number;
  gpu_span_mean_ns: number | null;
  gpu_busy_mean_ns: number | null;
  replays: number;
  misses: number;
  partials: number;
  /** GPU spans of single launches, as many as the reader keeps. */
  gpu_spans_ns: number[];
}

export interface StepGpu {
  compute_ns: number;
  exposed_comm_ns: number;
  copy_ns: number;
  idle_ns: number;
  busy_ns: number;
  span_ns: number;
  first_ns: number;
  last_ns: number;
}

export interface Step {
  index: number;
  name: string;
  kind: StepKind;
  n: number | null;
  b: number | null;
  start_ns: number;
  dur_ns: number;
  names: string[];
  cpu_ns: number;
  graph: Graph | null;
  kernels: number;
  kernel_ns: number;
  graph_kernels: number;
  /** Launches other than graph launches. */
  launches: number;
  graph_launches: number;
  graph_launch_ns: number;
  gpu: StepGpu | null;
}

export interface Kernel {
  name: string;
  count: number;
  total_ns: number;
  max_ns: number;
  class: string;
  mean_ns: number;
  graph_count: number;
}

export interface Collective {
  name: string;
  library: "nccl" | "custom";
  count: number;
  total_ns: number;
  max_ns: number;
  group_size: number | null;
  ranks_partial: boolean;
}

export interface Links {
  launches: number;
  graph_launches: number;
  linked_kernels: number;
  linked_device_events: number;
  unlinked_kernels: number;
  unlinked_launches: number;
  latency: {
    count: number;
    negative: number;
    p50_ns: number | null;
    p95_ns: number | null;
    p99_ns: number | null;
    max_ns: number | null;
  } | null;
}

export interface Summary {
  schema: string;
  file: { name: string; bytes: number; json_bytes: number; compression: "none" | "gzip" | "zstd" };
  health: Health;
  facts: Facts;
  start_ns: number | null;
  span_ns: number | null;
  categories: Record<string, number>;
  category_ns: Record<string, number>;
  devices: Device[];
  phases: Phase[];
  tree: TreeNode[];
  threads: Thread[];
  shapes: Shape[];
  steps: Step[];
  kernels: Kernel[];
  links: Links;
  graph: { launches: number; kernels: number; kernel_ns: number; kernel_total_ns: number };
  collectives: Collective[];
  overhead: { count: number; total_ns: number };
  counters: number;
  events_by_phase: Record<string, number>;
}

/** The single slices behind a row: the longest of them, of all that were kept. */
export interface Slices {
  name: string;
  count: number;
  longest: readonly SingleSlice[];
}

export interface SingleSlice {
  /** From the trace's start. */
  start_ns: number;
  dur_ns: number;
  /** Of annotations. */
  pid?: string;
  tid?: string;
  /** Of GPU work. */
  device?: string;
  stream?: number;
}

/** How many slices are kept in columns, beside the sums that cover all of them. */
export interface Columns {
  kept: number;
  total: number;
  capped: boolean;
}

/** What a reader has seen so far, shown while the file is still being read. */
export interface Preview {
  events: number;
  slices: number;
  json_bytes: number;
  phases: PreviewPhase[];
  shapes: PreviewShape[];
}

export interface PreviewPhase {
  name: string;
  count: number;
  total_ns: number;
  max_ns: number;
}

export interface PreviewShape {
  name: string;
  n: number | null;
  b: number | null;
  count: number;
  cpu_total_ns: number;
}

/** A parsed summary with its text and the one figure that a double cannot hold. */
export interface ReadSummary {
  summary: Summary;
  text: string;
  /** Absolute start in ns since 1970, exact. */
  start: bigint | null;
}

/**
 * Parses the reader's output. start_ns (about 1.7·10^18) is taken from the text, since JSON.parse
 * would round it by up to 128 ns; step offsets are shorter than 17 digits, so the pattern cannot meet them.
 */
export function parseSummary(text: string): ReadSummary {
  const summary = JSON.parse(text) as Summary;
  if (summary.schema !== "stepscope.trace/1") {
    throw new Error(`unknown summary schema ${JSON.stringify(summary.schema)}`);
  }
  let start: bigint | null = null;
  if (summary.start_ns !== null && summary.start_ns !== undefined) {
    const exact = /[{,]\s*"start_ns":\s*(-?\d{17,})/.exec(text);
    start = BigInt(exact?.[1] ?? Math.trunc(summary.start_ns));
  }
  return { summary, text, start };
}
