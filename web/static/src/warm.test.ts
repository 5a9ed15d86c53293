import assert from "node:assert/strict";
import { test } from "node:test";
import { warmText } from "./warm";

test("the made-up trace is one: JSON, of all kinds of events, launches paired with kernels", () => {
  const text = warmText(1e5);
  assert.ok(text.length >= 1e5 && text.length < 1.1e5, String(text.length));
  const { traceEvents } = JSON.parse(text) as { traceEvents: { ph: string; cat?: string; args?: { correlation?: number } }[] };
  const of = (cat: string) => traceEvents.filter((e) => e.cat === cat && e.ph === "X");
  for (const cat of ["user_annotation", "python_function", "cpu_op", "cuda_runtime", "kernel"]) assert.ok(of(cat).length > 0, cat);
  assert.deepEqual(of("kernel").map((e) => e.args!.correlation), of("cuda_runtime").map((e) => e.args!.correlation));
  assert.deepEqual(new Set(traceEvents.map((e) => e.ph)), new Set(["X", "s", "f", "i"]));
});
