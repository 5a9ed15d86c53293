import assert from "node:assert/strict";
import { test } from "node:test";
import type { Step, StepKind, Summary } from "./summary";
import { batches, classRows, collectiveRows, compared, gpuRows, kernelRows, kindRows, mainKind, measured, paced, pair, phaseRows, spread } from "./tracediff";

function step(over: Partial<Step> = {}): Step {
  return {
    index: 0, name: "s", kind: "decode", n: 4, b: 20, start_ns: 0, dur_ns: 100, names: ["s"], cpu_ns: 10, graph: null, kernels: 0,
    kernel_ns: 0, graph_kernels: 0, launches: 0, graph_launches: 0, graph_launch_ns: 0, gpu: null, ...over,
  };
}

function summary(over: object): Summary {
  return { steps: [], phases: [], kernels: [], collectives: [], devices: [], shapes: [], ...over } as unknown as Summary;
}

const steps = (n: number, kind: StepKind = "decode") => Array.from({ length: n }, () => step({ kind }));
const device = { id: "0", kernels: 1, sum_ns: 0, busy_ns: 1, idle_ns: 0, copy_ns: 0, compute_ns: 0, exposed_comm_ns: 0 };

test("a pair's difference is B − A, and relative to A", () => {
  assert.deepEqual(pair(400, 500), { a: 400, b: 500, delta: 100, rel: 250_000 }); // 100 / 400
  assert.deepEqual(pair(500, 400), { a: 500, b: 400, delta: -100, rel: -200_000 }); // −100 / 500
  assert.deepEqual(pair(0, 5), { a: 0, b: 5, delta: 5, rel: null });
  assert.deepEqual(pair(null, 5), { a: null, b: 5, delta: null, rel: null });
});

test("sums are divided by the side's own steps with a batch", () => {
  const kernel = (total_ns: number, count: number) => [{ name: "k", class: "gemm", total_ns, count, max_ns: 0, mean_ns: 0, graph_count: 0 }];
  const a = summary({ steps: [...steps(4), ...steps(1, "idle")], kernels: kernel(4000, 8), devices: [device] });
  const b = summary({ steps: steps(2), kernels: kernel(3000, 4), devices: [device] });
  assert.equal(batches(a), 4);
  const [row] = kernelRows(compared(a, b, "step"));
  // A: 4000 / 4 steps, B: 3000 / 2 steps; a kernel of A takes 4000 / 8, one of B 3000 / 4.
  assert.deepEqual(row!.total, { a: 1000, b: 1500, delta: 500, rel: 500_000 });
  assert.deepEqual(row!.mean, { a: 500, b: 750, delta: 250, rel: 500_000 });
  assert.deepEqual(row!.count, { a: 8, b: 4, delta: -4, rel: -500_000 });
  assert.deepEqual(kernelRows(compared(a, b, "trace"))[0]!.total, { a: 4000, b: 3000, delta: -1000, rel: -250_000 });
});

test("GPU work of a step that the file has not is not divided by", () => {
  const kernel = [{ name: "k", class: "gemm", total_ns: 7000, count: 7, max_ns: 0, mean_ns: 0, graph_count: 0 }];
  const phases = [{ name: "deepinfer:schedule", group: "scheduling", total_ns: 800, self_ns: 800, count: 8 }];
  const health = { warnings: [{ code: "last_step_cut", message: "", count: 1, offset: null }] };
  const whole = summary({ steps: steps(8), kernels: kernel, phases, devices: [{ ...device, busy_ns: 7000 }] });
  const c = compared(whole, { ...whole, health } as unknown as Summary, "step");
  // 7,000 ns are those of 7 steps where the eighth is not in the file; the CPU's 800 ns are of all 8.
  assert.deepEqual(kernelRows(c)[0]!.total, { a: 875, b: 1000, delta: 125, rel: 142_857 });
  assert.equal(gpuRows(c).find((r) => r.id === "busy_ns")!.total.b, 1000);
  assert.deepEqual(phaseRows(c)[0]!.total, { a: 100, b: 100, delta: 0, rel: 0 });
});

test("a side without steps makes whole traces compare, and is named", () => {
  const c = compared(summary({ steps: steps(3) }), summary({}), "step");
  assert.deepEqual([c.norm, c.by, c.stepless], ["trace", { a: 1, b: 1 }, ["b"]]);
  assert.deepEqual(compared(summary({}), summary({}), "trace").stepless, []);
});

test("what only one side has is all difference; what a side never recorded is none", () => {
  const k = (name: string, total_ns: number) => ({ name, class: "gemm", total_ns, count: 1, max_ns: 0, mean_ns: 0, graph_count: 0 });
  const a = summary({ steps: steps(1), kernels: [k("x", 10)], devices: [device] });
  const b = summary({ steps: steps(1), kernels: [k("y", 30)], devices: [device] });
  const rows = kernelRows(compared(a, b, "step"));
  assert.deepEqual(rows.map((r) => [r.name, r.only, r.total]), [
    ["x", "a", { a: 10, b: null, delta: -10, rel: -1_000_000 }],
    ["y", "b", { a: null, b: 30, delta: 30, rel: null }],
  ]);
  assert.deepEqual(classRows(compared(a, b, "step"))[0]!.total, { a: 10, b: 30, delta: 20, rel: 2_000_000 });
  const blind = compared(a, summary({ steps: steps(1) }), "step");
  assert.deepEqual(blind.hasGPU, { a: true, b: false });
  assert.deepEqual(kernelRows(blind)[0]!.total, { a: 10, b: null, delta: null, rel: null });
  assert.deepEqual(gpuRows(blind)[0]!.total, { a: 1, b: null, delta: null, rel: null });
});

test("phases have total and own time; the same name twice adds up", () => {
  const p = (name: string, total_ns: number, self_ns: number) => ({ name, group: "scheduling", total_ns, self_ns, count: 2 });
  const a = summary({ steps: steps(2), phases: [p("schedule", 100, 40)] });
  const b = summary({ steps: steps(2), phases: [p("schedule", 140, 60), p("schedule", 20, 20)] });
  const [row] = phaseRows(compared(a, b, "step"));
  assert.deepEqual(row!.total, { a: 50, b: 80, delta: 30, rel: 600_000 }); // 100/2, 160/2
  assert.deepEqual(row!.self, { a: 20, b: 40, delta: 20, rel: 1_000_000 }); // 40/2, 80/2
});

test("collectives are told apart by group size and library", () => {
  const x = (group_size: number | null, total_ns: number, library = "nccl") => ({ name: "allreduce", library, group_size, total_ns, count: 1, max_ns: 0, ranks_partial: false });
  const c = compared(summary({ steps: steps(1), collectives: [x(8, 5)], devices: [device] }), summary({ steps: steps(1), collectives: [x(8, 9), x(null, 3), x(null, 2, "custom")], devices: [device] }), "step");
  assert.deepEqual(collectiveRows(c).map((r) => [r.name, r.total.delta]), [["allreduce × 8", 4], ["allreduce", 3], ["allreduce (custom kernel)", 2]]);
});

const gpu = (first_ns: number, last_ns: number, idle_ns = 2) => {
  const busy_ns = last_ns - first_ns - idle_ns;
  return { compute_ns: busy_ns - 3, exposed_comm_ns: 2, copy_ns: 1, idle_ns, busy_ns, span_ns: last_ns - first_ns, first_ns, last_ns };
};

test("steps beside each other: a cycle is the way to the next start; the gap is the blank before the GPU work", () => {
  const s = summary({ steps: [
    step({ start_ns: 0, dur_ns: 80, gpu: gpu(10, 90) }), // vLLM: the slice ends before the next begins
    step({ start_ns: 100, dur_ns: 100, gpu: gpu(120, 150), graph_launches: 1, graph_launch_ns: 6 }),
    step({ start_ns: 150, dur_ns: 100, gpu: gpu(140, 190) }), // of another thread
    step({ start_ns: 260, dur_ns: 10 }),
  ] });
  assert.equal(paced(s), false);
  const m = measured(s, false);
  assert.deepEqual(m.map((x) => x.values.cycle_ns), [100, 100, 110, null]); // 100−0; overlap: its own 100; 260−150; last
  assert.deepEqual(m.map((x) => x.values.gap_ns), [null, 30, 0, null]); // 120−90; begins before 150 ends
  assert.deepEqual(m.map((x) => x.values.graph_launch_ns), [null, 6, null, null]);
  assert.deepEqual(m.map((x) => x.values.kernels), [0, 0, 0, null]);
  assert.deepEqual(m.map((x) => x.parts), [null, null, null, null]);
});

test("overlapped scheduling: a cycle is filled by the step's own GPU work, and its parts add up to it", () => {
  // Schedules 10 apart while the GPU runs 40 (prefill) and 20 (decode): the distance of schedules is that of the step before.
  const s = summary({ steps: [
    step({ start_ns: 0, dur_ns: 10, gpu: gpu(8, 28) }),
    step({ start_ns: 10, dur_ns: 20, kind: "prefill", gpu: gpu(28, 68) }),
    step({ start_ns: 30, dur_ns: 40, gpu: gpu(70, 90) }),
    step({ start_ns: 70, dur_ns: 20, gpu: gpu(86, 110, 6) }), // a copy of it came in before the one before had ended
    step({ start_ns: 90, dur_ns: 100, kind: "idle" }),
    step({ start_ns: 190, dur_ns: 30, gpu: gpu(198, 218) }),
    step({ start_ns: 220, dur_ns: 5 }), // its GPU work is not in the file
  ] });
  assert.equal(paced(s), true);
  const m = measured(s, true);
  // none before; 68−28; 90−68; 110−90; idle; 218−190, as idle steps are no part of it; not in the file
  assert.deepEqual(m.map((x) => x.values.cycle_ns), [null, 40, 22, 20, null, 28, null]);
  assert.deepEqual(m.map((x) => x.values.gap_ns), [null, 0, 2, 0, null, 8, null]); // 28−28; 70−68; overlaps; 198−190
  assert.deepEqual(m.map((x) => x.parts), [
    null,
    { gap_ns: 0, inside_ns: 2, compute_ns: 35, exposed_comm_ns: 2, copy_ns: 1 }, // 40 − 2 idle = 38 busy, less 3
    { gap_ns: 2, inside_ns: 2, compute_ns: 15, exposed_comm_ns: 2, copy_ns: 1 },
    { gap_ns: 0, inside_ns: 2, compute_ns: 15, exposed_comm_ns: 2, copy_ns: 1 }, // 18 busy in a cycle of 20: of 6 idle, 4 were beside
    null,
    { gap_ns: 8, inside_ns: 2, compute_ns: 15, exposed_comm_ns: 2, copy_ns: 1 },
    null,
  ]);
  for (const { parts, values } of m) if (parts !== null) assert.equal(Object.values(parts).reduce((x, y) => x + y), values.cycle_ns);
  const [decode, prefill] = kindRows(s, s);
  assert.deepEqual(prefill!.a!.figures.cycle_ns, { n: 1, median: 40, mean: 40, min: 40, max: 40 }); // not the 20 to the next schedule
  assert.deepEqual(decode!.a!.figures.cycle_ns, { n: 3, median: 22, mean: 23, min: 20, max: 28 }); // 70 ÷ 3
  assert.deepEqual(decode!.a!.typical, m[2]!.parts);
  assert.deepEqual(kindRows(s, { ...s, steps: s.steps.map((x) => ({ ...x, gpu: null })) })[0]!.a!.figures.cycle_ns!.median, 20); // by schedules: 10, 20, 30, 40
});

test("kinds: decode first, idle never; the main kind is one both have", () => {
  const a = summary({ steps: [...steps(2, "prefill"), ...steps(1, "idle"), ...steps(3)] });
  const b = summary({ steps: steps(2, "prefill") });
  const rows = kindRows(a, b);
  assert.deepEqual(rows.map((r) => [r.kind, r.a?.steps, r.b?.steps]), [["decode", 3, undefined], ["prefill", 2, 2]]);
  assert.equal(mainKind(rows)!.kind, "prefill");
  assert.equal(rows[0]!.a!.n, 4);
  assert.equal(mainKind(kindRows(summary({}), b)), null);
});

test("a spread has the nearest-rank median of what is known", () => {
  assert.deepEqual(spread([4, null, 1, 10]), { n: 3, median: 4, mean: 5, min: 1, max: 10 });
  assert.equal(spread([null]), null);
});
