import assert from "node:assert/strict";
import { test } from "node:test";
import { axisOf, nearest, placeText, runs, scaleOf, stepAt, type TrailColumn } from "./trails";

const column = (over: Partial<TrailColumn> = {}): TrailColumn => ({ from: 1000, to: 5000, steps: [[1000, 10], [3000, 50]], ...over });

test("steps between two marks go in proportion, outside of them there are none", () => {
  assert.equal(stepAt(column().steps, 2000), 30); // halfway from 10 to 50
  assert.equal(stepAt(column().steps, 3000), 50);
  assert.equal(stepAt(column().steps, 999), null);
  assert.equal(stepAt(column().steps, 3001), null);
  assert.equal(stepAt([[0, 0], [10, 100], [20, 100], [30, 400]], 25), 250);
  assert.equal(stepAt([], 0), null);
});

test("the axis spans all columns, by time, from their starts, or by step", () => {
  const other = column({ from: 9000, to: 10_000, steps: [] });
  assert.deepEqual(axisOf([column(), other], "time"), { align: "time", from: 1000, to: 10_000 });
  assert.deepEqual(axisOf([column(), other], "elapsed"), { align: "elapsed", from: 0, to: 4000 });
  assert.deepEqual(axisOf([column(), other], "step"), { align: "step", from: 10, to: 50 });
  assert.equal(axisOf([other], "step"), null);
});

test("lines break at gaps and at what is no number", () => {
  const serie = { t: [1000, 1100, 1200, 1600, 1700, 1800], v: [1, 2, 3, 4, NaN, 6] };
  // The usual distance is 100: 400 is a gap; NaN ends a run.
  assert.deepEqual(runs(serie, column(), "elapsed"), [
    [{ x: 0, y: 1 }, { x: 100, y: 2 }, { x: 200, y: 3 }], [{ x: 600, y: 4 }], [{ x: 800, y: 6 }],
  ]);
});

test("curves of a row share a scale; zero is in it when it is near", () => {
  assert.deepEqual(scaleOf([{ t: [], v: [100, 110] }, { t: [], v: [120] }]), { low: 99, high: 121 }); // 5 % of 20 on each side
  assert.deepEqual(scaleOf([{ t: [], v: [5, 100] }]), { low: 0, high: 105 }); // 5 < half of 95; 5 % of 100 above
  assert.deepEqual(scaleOf([{ t: [], v: [200] }]), { low: 190, high: 210 }); // flat: 5 % of its size
  assert.deepEqual(scaleOf([{ t: [], v: [0, 0] }]), { low: -1, high: 1 });
  assert.equal(scaleOf([{ t: [], v: [NaN] }, { t: [], v: [] }]), null);
});

test("the cursor takes the nearest point within its reach", () => {
  const all = [[{ x: 0, y: 1 }, { x: 10, y: 2 }], [{ x: 50, y: 3 }]];
  assert.deepEqual(nearest(all, 8, 5), { x: 10, y: 2 });
  assert.equal(nearest(all, 30, 5), null);
});

test("places are told as people would", () => {
  assert.equal(placeText("time", Date.UTC(2026, 0, 2, 3, 4, 5)), "03:04:05 UTC");
  assert.equal(placeText("elapsed", 61_000), "+61 s");
  assert.equal(placeText("elapsed", 725_000), "+12 min 5 s"); // 720 + 5
  assert.equal(placeText("elapsed", 7_260_000), "+2 h 1 min");
  assert.equal(placeText("step", 8120.4), "step 8,120");
});
