import assert from "node:assert/strict";
import { test } from "node:test";
import { setLanguage } from "./strings";
import type { Device, Phase, Shape, Step, StepKind, Summary } from "./summary";
import { parseSummary } from "./summary";
import { verdict } from "./verdict";

const ms = 1e6;

const step = (index: number, kind: StepKind, n: number | null, dur: number): Step => ({
  index,
  name: `deepinfer:launch_forward_N${n}_B${n}`,
  kind,
  n,
  b: n,
  start_ns: index * 40 * ms,
  dur_ns: dur,
  names: [],
  cpu_ns: ms,
  graph: "replay",
  kernels: 100,
  kernel_ns: 0,
  graph_kernels: 0,
  launches: 0,
  graph_launches: 0,
  graph_launch_ns: 0,
  gpu: null,
});

const device = (busy: number, idle: number, exposed: number): Device => ({
  id: "0",
  kernels: 1,
  sum_ns: busy,
  busy_ns: busy,
  idle_ns: idle,
  copy_ns: 0,
  comm_ns: exposed,
  streams: 1,
  compute_ns: busy,
  custom_comm_ns: 0,
  exposed_comm_ns: exposed,
  first_ns: 0,
  last_ns: busy + idle,
  graph_kernels: 0,
  stream_list: [],
});

const phase = (name: string, total: number, self = total): Phase => ({
  name,
  prefix: "deepinfer:",
  group: "other",
  count: 20,
  total_ns: total,
  self_ns: self,
  mean_ns: 0,
  min_ns: 0,
  p50_ns: 0,
  p95_ns: 0,
  p99_ns: 0,
  max_ns: 0,
  share_ppm: null,
  threads: 1,
  hist: { first: 0, counts: [] },
});

const shape = (n: number, replays: number, misses: number): Shape => ({
  name: `launch_forward_N${n}_B${n}`,
  n,
  b: n,
  count: replays + misses,
  cpu_total_ns: ms,
  kernels: 1,
  graph: misses > 0 ? "miss" : "replay",
  source: "deepinfer",
  kind: "decode",
  cpu_mean_ns: ms,
  cpu_max_ns: ms,
  kernels_mean_milli: 1000,
  gpu_span_mean_ns: null,
  gpu_busy_mean_ns: null,
  replays,
  misses,
  partials: 0,
  gpu_spans_ns: [],
});

const links = (launches: number): Summary["links"] => ({
  launches,
  graph_launches: 0,
  linked_kernels: 0,
  linked_device_events: 0,
  unlinked_kernels: 0,
  unlinked_launches: launches,
  latency: null,
});

function summary(over: Partial<Summary>): Summary {
  return {
    schema: "stepscope.trace/1",
    file: { name: "a.json", bytes: 1, json_bytes: 1, compression: "none" },
    health: {
      verdict: "ok", truncated: false, truncated_at: null, events: 9, slices: 9, skipped: 0, repaired: 0,
      clipped: 0, unfinished: 0, unresolved: 0, warnings: [],
    },
    facts: {
      producer: "deepinfer", rank: null, world_size: null, backend: null, gpu_names: [], gpu_count: 0,
      versions: {}, trace_name: null, host: null, processes: [], threads: 1,
    },
    start_ns: null, span_ns: null, categories: {}, category_ns: {}, devices: [], phases: [], tree: [], threads: [],
    shapes: [], steps: [], kernels: [], links: links(0), graph: { launches: 0, kernels: 0, kernel_ns: 0, kernel_total_ns: 0 }, collectives: [], overhead: { count: 0, total_ns: 0 }, counters: 0,
    events_by_phase: {},
    ...over,
  };
}

const say = (over: Partial<Summary>) => verdict(summary(over)).map((p) => p.text).join("");

test("a whole DeepInfer trace in a sentence", () => {
  const steps = [
    ...Array.from({ length: 18 }, (_, i) => step(i, "decode", 64, 41 * ms)),
    step(18, "prefill", 4, 90 * ms),
    step(19, "idle", null, 1 * ms),
  ];
  const text = say({
    steps,
    devices: [device(810 * ms, 190 * ms, 100 * ms)],
    shapes: [shape(64, 17, 0), shape(72, 0, 1), { ...shape(4, 0, 1), kind: "prefill" }],
    phases: [phase("deepinfer:schedule", 80 * ms), phase("deepinfer:worker.post_process.sync", 36.1 * ms)],
  });
  assert.equal(
    text,
    "20 steps, 18 decode at N≈64, 1 prefill, 1 idle; a decode step takes 41.0 ms (median); " +
      "GPU busy 81.0 %, including 10.0 % waiting for communication; the graph missed for N=72; " +
      "deepinfer:worker.post_process.sync waits 1.90 ms a step.",
  );
});

test("decode launches that all missed the graph are told, with what they cost", () => {
  const slow = (n: number, misses: number): Shape => ({ ...shape(n, 0, misses), cpu_total_ns: misses * 10 * ms });
  const over = { steps: [step(0, "decode", 64, 41 * ms)], devices: [device(81 * ms, 19 * ms, 0)] };
  assert.match(say({ ...over, shapes: [slow(64, 3), slow(72, 2)] }), /; all 5 decode launches missed the graph, 10\.0 ms of CPU time each\.$/);
  // Where a shape is the whole step, its CPU time is not that of launching.
  assert.match(say({ ...over, shapes: [{ ...slow(64, 1), source: "vllm" }] }), /; the decode launch missed the graph\.$/);
  // Prompt steps miss nothing, and work that was only partly of a graph is no miss.
  for (const sh of [{ ...slow(64, 1), kind: "prefill" as const }, { ...slow(64, 1), misses: 0, partials: 1, graph: "partial" as const }]) {
    assert.doesNotMatch(say({ ...over, shapes: [sh] }), /graph/);
  }
});

test("a trace without steps or GPU says so", () => {
  assert.equal(say({}), "No step names in this trace; no GPU activity recorded.");
  assert.equal(say({ links: links(2) }), "No step names in this trace; no GPU activity recorded (2 launches).");
});

test("without a waiting phase the one with most of the time is named", () => {
  const text = say({ phases: [phase("a", 100, 25), phase("b", 75, 75)] });
  assert.match(text, /; b takes most of the annotated CPU time, 75\.0 % of it\.$/);
});

test("where no phase says anything the class with the most kernel time is named", () => {
  const kernel = (name: string, cls: string, total_ns: number) => ({ name, class: cls, count: 1, total_ns, max_ns: total_ns, mean_ns: total_ns, graph_count: 0 });
  const kernels = [kernel("a", "gemm", 30), kernel("b", "gemm", 10), kernel("c", "norm", 35)];
  assert.match(say({ kernels }), /; gemm kernels are 53\.3 % of kernel time\.$/); // 40 ÷ 75
  assert.doesNotMatch(say({ kernels: [kernel("a", "other", 9)] }), /kernel time/);
});

test("an idle GPU whose kernels start at once waits for the CPU", () => {
  const latency = { count: 200, negative: 0, min_ns: 5000, p50_ns: 10_000, p95_ns: 20_000, p99_ns: 20_000, max_ns: 20_000 };
  const over = (n: number, p50_ns: number, busy: number) => ({ links: { ...links(n), latency: { ...latency, p50_ns } }, devices: [device(busy * ms, 50 * ms, 0)] });
  assert.match(say(over(200, 10_000, 10)), /; the GPU waits for the CPU: half of the kernels start within 10\.0 µs of their launch\.$/);
  for (const other of [over(20, 10_000, 10), over(200, 2 * ms, 10), over(200, 10_000, 60)]) assert.doesNotMatch(say(other), /waits for/);
});

test("steps of one kind; GPU work that goes on behind them; another accelerator's", () => {
  const gpu = { compute_ns: 30 * ms, exposed_comm_ns: 0, copy_ns: 0, idle_ns: 0, busy_ns: 30 * ms, span_ns: 30 * ms, first_ns: 0, last_ns: 30 * ms };
  const prefill = (span: number) => [{ ...step(0, "prefill", 4, 20 * ms), gpu: { ...gpu, span_ns: span * ms } }];
  assert.match(say({ steps: prefill(30) }), /^1 prefill step; it takes 20\.0 ms, its GPU work spans 30\.0 ms; /);
  assert.match(say({ steps: prefill(22) }), /^1 prefill step; it takes 20\.0 ms; /); // a tenth more
  assert.match(say({ steps: [0, 1, 2].map((i) => step(i, "decode", 64, 41 * ms)) }), /^3 decode steps at N≈64; a decode step takes 41\.0 ms \(median\); /);
  assert.match(say({ links: { ...links(0), linked_device_events: 730 } }), /; no GPU kernels, but 730 pieces of another accelerator's work, which are not summed\.$/);
});

test("an empty trace and a truncated one", () => {
  const health = summary({}).health;
  assert.equal(say({ health: { ...health, slices: 0 } }), "An empty trace: no slice in it.");
  assert.match(say({ health: { ...health, truncated: true, truncated_at: 401 } }), /the file ends early: figures cover what is there\.$/);
});

test("the same in Chinese", () => {
  setLanguage("zh");
  try {
    assert.equal(
      say({ steps: [step(0, "decode", 64, 41 * ms)], devices: [device(81 * ms, 19 * ms, 0)] }),
      "1 步，解码 1（N≈64）；解码步用时 41.0 ms；GPU 忙 81.0 %。",
    );
  } finally {
    setLanguage("en");
  }
});

test("the absolute start is exact", () => {
  const text = JSON.stringify({ ...summary({}), start_ns: 0 }).replace('"start_ns":0', '"start_ns":1712345678000250513');
  assert.equal(parseSummary(text).start, 1712345678000250513n);
  assert.equal(parseSummary(JSON.stringify(summary({}))).start, null);
  assert.throws(() => parseSummary('{"schema":"other"}'), /unknown summary schema "other"/);
});

test("two steps are both named, since a median of two is one of them", () => {
  setLanguage("en");
  const s = summary({ steps: [step(0, "unknown", null, 9.29 * ms), step(1, "unknown", null, 0.0491 * ms)] });
  const text = verdict(s).map((part) => part.text).join("");
  assert.match(text, /the two steps take 49\.1 µs and 9\.29 ms/);
  assert.doesNotMatch(text, /median/);
});
