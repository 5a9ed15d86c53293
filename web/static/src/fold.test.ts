import assert from "node:assert/strict";
import { test } from "node:test";
import { folded, pattern, plain } from "./fold";
import type { TreeNode } from "./summary";

const node = (name: string, depth: number, count: number, total: number, self: number, max: number, over: Partial<TreeNode> = {}): TreeNode => ({
  thread: 0, depth, name, prefix: "", group: "execution", count, total_ns: total, self_ns: self, mean_ns: Math.floor(total / count),
  p50_ns: max, p95_ns: max, p99_ns: max, max_ns: max, share_ppm: Math.floor((total * 1e6) / 1000), hist: { first: 4, counts: [count] }, ...over,
});

const tree: TreeNode[] = [
  node("forward_N1_B1", 0, 3, 100, 70, 50),
  node("reduce", 1, 6, 30, 30, 9, { group: "other", hist: { first: 2, counts: [5, 1] } }),
  node("prepare", 0, 2, 40, 40, 21),
  node("forward_N2_B12", 0, 4, 201, 180, 60, { hist: { first: 5, counts: [1, 3] } }),
  node("reduce", 1, 4, 20, 20, 7, { group: "other", hist: { first: 1, counts: [4] } }),
  node("gather", 1, 1, 1, 1, 1, { group: "other" }),
];
const isStep = (name: string) => name.startsWith("forward");
const fold = (open = false) => folded(tree, isStep, () => open, 1000);

test("names of steps differ in their numbers", () => {
  assert.equal(pattern("deepinfer:launch_forward_N71_B426"), "deepinfer:launch_forward_N…_B…");
  assert.equal(pattern("execute_1_context_1(sq5)_generation_0(0)"), pattern("execute_32_context_0(0)_generation_4(sq1_2)"));
  assert.notEqual(pattern("step[DECODE bs=32]"), pattern("step[EXTEND bs=15 toks=9]"));
});

test("a fold is the sum of its names, over the merged rows nested in them", () => {
  const rows = fold();
  assert.deepEqual(rows.map((r) => [r.depth, r.name, r.count, r.total_ns, r.self_ns, r.mean_ns, r.max_ns, r.rows]), [
    [0, "forward_N…_B…", 7, 301, 250, 43, 60, 2],
    [1, "reduce", 10, 50, 50, 5, 9, 2],
    [1, "gather", 1, 1, 1, 1, 1, 1],
    [0, "prepare", 2, 40, 40, 20, 21, 1],
  ]);
  const [all, reduce, gather] = rows;
  assert.deepEqual(all!.fold, { names: 2, open: false });
  assert.equal(all!.share_ppm, 301_000);
  assert.deepEqual([all!.p50_ns, all!.p95_ns, all!.p99_ns], [null, null, null]);
  assert.deepEqual(all!.hist, { first: 4, counts: [3 + 0, 1, 3] });
  assert.deepEqual(reduce!.hist, { first: 1, counts: [4, 5, 1] });
  assert.equal(reduce!.p50_ns, null);
  assert.equal(gather!.p50_ns, 1, "of one row, its own figures stay");
  assert.equal(reduce!.root, "execution");
});

test("an open fold shows its rows as they are", () => {
  const rows = fold(true);
  assert.deepEqual(rows.map((r) => `${r.depth} ${r.name}`), [
    "0 forward_N…_B…", "1 forward_N1_B1", "2 reduce", "1 forward_N2_B12", "2 reduce", "2 gather", "0 prepare",
  ]);
  assert.deepEqual(rows.slice(1).map((r) => r.id), ["0", "1", "3", "4", "5", "2"]);
});

test("of names that ran once each the percentiles are known", () => {
  const steps = [40, 10, 30, 20].map((ns, i) => node(`forward_${i}`, 0, 1, ns, ns, ns));
  const [all] = folded(steps, isStep, () => false, 1000);
  assert.deepEqual([all!.p50_ns, all!.p95_ns, all!.p99_ns], [20, 40, 40]);
});

test("one name alone is not folded, nor are threads mixed", () => {
  const alone = tree.map((n, i) => (i < 2 ? { ...n, thread: 1 } : n));
  const rows = folded(alone, isStep, () => false, 1000);
  assert.deepEqual(rows.map((r) => r.name), plain(alone).map((r) => r.name));
});

test("shares stay exact beyond what a double holds", () => {
  const whole = 9_000_000_000_000_000;
  const long = [node("forward_1", 0, 1, 3_000_000_000_000_001, 1, 1), node("forward_2", 0, 1, 5_999_999_999_999_998, 1, 1)];
  assert.equal(folded(long, isStep, () => false, whole)[0]!.share_ppm, 999_999);
});
