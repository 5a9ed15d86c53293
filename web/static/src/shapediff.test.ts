import assert from "node:assert/strict";
import { test } from "node:test";
import { bucket, shapeRows } from "./shapediff";
import type { Graph, Summary } from "./summary";

const shape = (name: string, n: number | null, b: number | null, count: number, span: number | null, kind = "decode", graph: Graph = "replay") =>
  ({ name, n, b, count, kind, graph, cpu_mean_ns: 7, gpu_span_mean_ns: span, gpu_busy_mean_ns: null, kernels_mean_milli: 2000 });

const trace = (...shapes: object[]) => ({ shapes }) as unknown as Summary;

test("shapes of engines with other names meet by kind and size", () => {
  const rows = shapeRows(
    trace(shape("launch_forward_N4_B4", 4, 4, 9, 100), shape("odd", null, null, 1, null)),
    trace(shape("step[DECODE bs=4]", 4, 4, 2, 90), shape("again", 4, 4, 5, 130), shape("N5", 5, 5, 1, 1)),
  );
  assert.deepEqual(rows.map((r) => [r.a?.name, r.b?.name, r.span.delta, r.bucket]), [
    ["launch_forward_N4_B4", "again", 30, null], ["odd", undefined, null, null], [undefined, "N5", null, null],
  ]);
});

test("a kind of which no size is on both sides meets by size class, means weighted by launches", () => {
  const rows = shapeRows(
    trace(shape("a", 33, 100, 3, 100), shape("b", 63, 190, 1, 200), shape("c", 64, 200, 1, 9), shape("p", 2, 900, 1, 70, "prefill")),
    trace(shape("d", 40, 111, 2, 300, "decode", "miss"), shape("p", 2, 900, 1, 90, "prefill")),
  );
  const said = rows.map((r) => [r.bucket === null ? r.id : `${r.bucket.kind} ${r.bucket.from}–${r.bucket.to}`, r.a?.count, r.b?.count, r.span.a, r.span.b]);
  assert.deepEqual(said, [
    ["decode 32–63", 4, 2, 125, 300], // (3 × 100 + 200) / 4
    ["decode 64–127", 1, undefined, 9, null],
    ["prefill 2/900", 1, 1, 70, 90], // the same on both sides: left as it is
  ]);
  assert.deepEqual([rows[0]!.a!.shapes, rows[0]!.a!.name, rows[0]!.a!.n, rows[0]!.a!.graph, rows[0]!.b!.graph], [2, "a", null, "replay", "miss"]);
});

test("a class goes from a power of two to before the next", () => {
  assert.deepEqual([0, 1, 2, 3, 4, 1023, 1024].map((n) => bucket(n).from), [0, 1, 2, 2, 4, 512, 1024]);
  assert.equal(bucket(33).to, 63);
});
