import assert from "node:assert/strict";
import { test } from "node:test";
import { change, mix, notes, pairVerdict, relative } from "./pairverdict";
import type { Step, StepKind, Summary } from "./summary";
import { compared } from "./tracediff";

const ms = 1e6;

/** A step of some kind: start and GPU work in ms. */
function step(kind: StepKind, n: number, at: number, length: number, busy: number): Step {
  const gpu = { compute_ns: busy * ms, exposed_comm_ns: 0, copy_ns: 0, idle_ns: 0, busy_ns: busy * ms, span_ns: busy * ms, first_ns: at * ms, last_ns: (at + busy) * ms };
  return {
    index: 0, name: `${kind} ${n}`, kind, n, b: n, start_ns: at * ms, dur_ns: length * ms, names: [], cpu_ns: ms, graph: "replay", kernels: 1,
    kernel_ns: busy * ms, graph_kernels: 1, launches: 0, graph_launches: 1, graph_launch_ns: 1000, gpu,
  };
}

function summary(steps: Step[], over: object = {}): Summary {
  const health = { verdict: "ok", truncated: false, truncated_at: null, events: 1, slices: 1, skipped: 0, repaired: 0, clipped: 0, unfinished: 0, unresolved: 0, warnings: [] };
  return {
    steps, phases: [], kernels: [], collectives: [], shapes: [], health, devices: [{ id: "0", kernels: 5, busy_ns: 1 }], links: { launches: 7 }, facts: { gpu_names: ["H200"] }, ...over,
  } as unknown as Summary;
}

/** Decode steps one behind the other. */
const decode = (count: number, n: number, length: number, busy: number) => Array.from({ length: count }, (_, i) => step("decode", n, i * length, length, busy));

const titles = (a: Summary, b: Summary) => notes(compared(a, b, "step")).map((note) => note.title);

test("two alike traces have no conditions", () => {
  assert.deepEqual(titles(summary(decode(5, 64, 10, 6)), summary(decode(5, 64, 11, 6))), []);
});

test("a side without GPU events is named first, with what to do", () => {
  const blind = notes(compared(summary(decode(5, 64, 10, 6)), summary(decode(5, 64, 10, 6), { devices: [] }), "step"));
  assert.equal(blind[0]!.title, "B has no GPU events");
  assert.match(blind[0]!.text, /^7 launches and no kernel were recorded\. .*Capture again with GPU/);
});

test("another load, another mix, few steps, other GPUs are told", () => {
  const a = summary(decode(5, 64, 10, 6));
  assert.deepEqual(titles(a, summary(decode(5, 72, 10, 6))), ["Not the same load"]); // 72 is 12.5 % more than 64
  assert.deepEqual(titles(a, summary(decode(5, 70, 10, 6))), []); // 9.4 %
  assert.deepEqual(titles(a, summary([...decode(4, 64, 10, 6), step("prefill", 1, 40, 20, 15)])), ["Not the same mix of steps"]);
  assert.deepEqual(titles(a, summary(decode(2, 64, 10, 6), { facts: { gpu_names: ["H100"] } })), ["Few steps", "Not the same GPUs"]);
});

test("the verdict tells the cycle and what makes the difference", () => {
  const text = (a: Summary, b: Summary) => pairVerdict(compared(a, b, "step")).map((p) => p.text).join("");
  // Cycle 10 → 12 ms; busy 6 → 7; the blank between steps 4 → 5.
  assert.equal(text(summary(decode(5, 64, 10, 6)), summary(decode(5, 64, 12, 7))),
    "Decode cycle 12.0 ms in B against 10.0 ms in A: +2.00 ms (+20.0 %); of that, in the steps with the median cycle: blank between steps +1.00 ms; GPU computing +1.00 ms.");
  // 10 → 8: the blank 4 → 1, computing 6 → 7: −3 + 1 = −2.
  assert.match(text(summary(decode(5, 64, 10, 6)), summary(decode(5, 64, 8, 7))),
    /: −2\.00 ms \(−20\.0 %\); of that, .*: blank between steps −3\.00 ms; partly offset by GPU computing \+1\.00 ms\.$/);
  assert.match(text(summary(decode(3, 1, 10, 6)), summary([])), /^No kind of step that both traces have/);
  assert.match(text(summary(decode(3, 1, 10, 6)), summary(decode(3, 1, 10, 6))), /: no difference\.$/);
});

test("the verdict says where one side misses the graphs that the other replays", () => {
  const shape = (replays: number, misses: number, cpu: number) => ({
    name: "x", n: 64, b: 64, count: replays + misses, kind: "decode", graph: replays > misses ? "replay" : "miss", source: "deepinfer", replays, misses,
    cpu_total_ns: (replays + misses) * cpu * ms,
  });
  const text = (a: object, b: object) =>
    pairVerdict(compared(summary(decode(5, 64, 10, 6), { shapes: [a] }), summary(decode(5, 64, 12, 7), { shapes: [b] }), "step")).map((p) => p.text).join("");
  assert.match(text(shape(15, 1, 0.5), shape(0, 18, 10)),
    /\. Graphs were replayed in 15 of 16 decode launches in A, 0 of 18 in B \(launching: 500 µs and 10\.0 ms of CPU time each\)\.$/);
  assert.doesNotMatch(text(shape(15, 1, 0.5), shape(16, 0, 0.5)), /[Gg]raphs/); // 93.8 % and 100 %: 6.3 points
  assert.doesNotMatch(text(shape(15, 1, 0.5), { ...shape(0, 18, 10), graph: null }), /[Gg]raphs/); // B doesn't tell
});

test("signs and mixes", () => {
  assert.deepEqual([change(1_500_000), change(-2000), change(0)], ["+1.50 ms", "−2.00 µs", "±0"]);
  assert.deepEqual([relative(-35_000), relative(0)], ["−3.50 %", "±0 %"]);
  assert.equal(mix(summary([...decode(2, 1, 1, 1), step("prefill", 1, 5, 1, 1)])), "2 decode, 1 prefill");
});
