import assert from "node:assert/strict";
import { test } from "node:test";
import { bucketFloor } from "./cells";
import { healthText } from "./health";
import { threadLabel } from "./phases";
import { Rate } from "./rate";
import { scatterPoints } from "./shapes";
import type { Health, Shape } from "./summary";

test("buckets are half octaves", () => {
  assert.deepEqual([0, 1, 2, 3, 20, 21].map(bucketFloor), [1, 1.5, 2, 3, 1024, 1536]);
});

test("threads are told by name and number, the number once", () => {
  const thread = (tid: string, name: string) => ({ id: 0, pid: "1", tid, process: "python", name });
  assert.equal(threadLabel(thread("8113", "thread 8113 (python3)")), "thread 8113 (python3)");
  assert.equal(threadLabel(thread("7", "worker")), "worker 7");
  assert.equal(threadLabel(thread("7", "")), "7");
  assert.equal(threadLabel(undefined), "");
});

test("the scatter has a point a launch, by graph status; shapes without B have none", () => {
  const shape = (over: Partial<Shape>): Shape => ({ name: "s", n: 4, b: 20, graph: "replay", gpu_spans_ns: [], ...over }) as Shape;
  const points = scatterPoints([
    shape({ gpu_spans_ns: [1_500_000, 2_000_000] }),
    shape({ name: "m", graph: "miss", n: null, gpu_spans_ns: [3_000_000] }),
    shape({ b: null, gpu_spans_ns: [1] }),
    shape({ graph: null, gpu_spans_ns: [500_000] }),
  ]);
  assert.deepEqual(points, [
    { id: "replay", data: [[20, 1.5, 4, "s"], [20, 2, 4, "s"]] },
    { id: "miss", data: [[20, 3, null, "m"]] },
    { id: "partial", data: [] },
    { id: "none", data: [[20, 0.5, 4, "s"]] },
  ]);
});

test("the health strip names counts, then the first warnings", () => {
  const none: Health = {
    verdict: "ok", truncated: false, truncated_at: null, events: 9, slices: 9, skipped: 0, repaired: 0,
    clipped: 0, unfinished: 0, unresolved: 0, warnings: [],
  };
  assert.equal(healthText(none), "All 9 events read, nothing repaired.");
  const warning = (code: string, message: string, count = 1) => ({ code, message, count, offset: null });
  assert.equal(
    healthText({
      ...none,
      truncated: true,
      truncated_at: 40_100,
      skipped: 2,
      warnings: [
        warning("truncated", "the file ends in the middle: …"),
        warning("skipped", "…", 2),
        warning("no_steps", "no step names found: figures are missing"),
        warning("comment", "comments stand in the file", 3),
        warning("a", "a"),
        warning("b", "b"),
      ],
    }),
    "the file ends early, at byte 40,100 · 2 skipped · no step names found · comments stand in the file (3) · a · 1 more",
  );
});

test("the rate is that of the last seconds", () => {
  const rate = new Rate();
  assert.equal(rate.perSecond(), null);
  rate.add(0, 0);
  rate.add(100, 1000);
  assert.equal(rate.perSecond(), 100);
  assert.equal(rate.secondsLeft(300), 2);
  for (let s = 2; s <= 10; s++) rate.add(100 + (s - 1) * 50, s * 1000);
  assert.equal(rate.perSecond(), 50);
});
