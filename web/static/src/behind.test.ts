import assert from "node:assert/strict";
import { test } from "node:test";
import { stepAt } from "./behind";
import type { Step } from "./summary";

const step = (index: number, start_ns: number, dur_ns: number) => ({ index, start_ns, dur_ns }) as Step;

test("a moment belongs to the innermost step around it", () => {
  const steps = [step(0, 0, 100), step(1, 100, 50), step(2, 110, 10)];
  assert.equal(stepAt(steps, 0)?.index, 0);
  assert.equal(stepAt(steps, 99)?.index, 0);
  assert.equal(stepAt(steps, 100)?.index, 1); // the end of one is the start of the next
  assert.equal(stepAt(steps, 115)?.index, 2);
  assert.equal(stepAt(steps, 150), null);
  assert.equal(stepAt([], 1), null);
});
