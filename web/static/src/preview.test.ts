import assert from "node:assert/strict";
import { test } from "node:test";
import { mergePreviews } from "./preview";
import type { Preview } from "./summary";

const preview = (json_bytes: number, phases: Preview["phases"], shapes: Preview["shapes"] = []): Preview => ({
  events: 10,
  slices: 8,
  json_bytes,
  phases,
  shapes,
});

test("previews of several readers add up by name", () => {
  const a = preview(100, [{ name: "schedule", count: 2, total_ns: 30, max_ns: 20 }], [{ name: "N1_B1", n: 1, b: 1, count: 1, cpu_total_ns: 4 }]);
  const b = preview(
    50,
    [
      { name: "sync", count: 1, total_ns: 90, max_ns: 90 },
      { name: "schedule", count: 3, total_ns: 40, max_ns: 15 },
    ],
    [{ name: "N1_B1", n: 1, b: 1, count: 2, cpu_total_ns: 5 }],
  );
  const sum = mergePreviews([a, b]);
  assert.equal(sum.json_bytes, 150);
  assert.equal(sum.events, 20);
  assert.deepEqual(sum.phases, [
    { name: "sync", count: 1, total_ns: 90, max_ns: 90 },
    { name: "schedule", count: 5, total_ns: 70, max_ns: 20 },
  ]);
  assert.deepEqual(sum.shapes, [{ name: "N1_B1", n: 1, b: 1, count: 3, cpu_total_ns: 9 }]);
  assert.equal(a.phases[0]!.count, 2, "the readers' own rows stay as they were");
});
