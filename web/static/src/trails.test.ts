import assert from "node:assert/strict";
import { test } from "node:test";
import { axisOf, layoutOf, nearest, niceScale, placeText, runs, scaleOf, spanLines, stepAt, tickText, type PlaceWords, type TrailColumn } from "./trails";

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
  const words: PlaceWords = { step: (n) => `step ${n}`, seconds: (n) => `+${n} s`, minutes: (m, n) => `+${m} min ${n} s`, hours: (h, m) => `+${h} h ${m} min` };
  assert.equal(placeText("time", Date.UTC(2026, 2, 1, 14, 3, 20), words), "2026-03-01 14:03:20 UTC");
  assert.equal(placeText("elapsed", 5000, words), "+5 s");
  assert.equal(placeText("elapsed", 725_000, words), "+12 min 5 s"); // 725 = 12 × 60 + 5
  assert.equal(placeText("elapsed", 7_380_000, words), "+2 h 3 min"); // 7380 = 2 × 3600 + 3 × 60
  assert.equal(placeText("step", 8120.4, words), "step 8,120");
});

test("labels are as short as the span allows", () => {
  const noon = Date.UTC(2026, 2, 1, 12, 5, 7);
  assert.equal(tickText("time", noon, 60_000), "12:05:07");
  assert.equal(tickText("time", noon, 3_600_000), "12:05");
  assert.equal(tickText("time", noon, 7 * 86_400_000), "03-01");
  assert.equal(tickText("elapsed", 90_000, 120_000), "+90 s");
  assert.equal(tickText("elapsed", 90_000, 3_600_000), "+1.5 min"); // 90 ÷ 60
  assert.equal(tickText("elapsed", 5_400_000, 6 * 3_600_000), "+1.5 h");
  assert.equal(tickText("elapsed", 2 * 86_400_000, 7 * 86_400_000), "+2 d");
});

test("a scale ends on round numbers and has two to four parts", () => {
  assert.deepEqual(niceScale(8123, 9871), { low: 8000, high: 10_000, step: 1000 }); // (9871 − 8123) ÷ 3 = 583 → 1000
  assert.deepEqual(niceScale(0, 1), { low: 0, high: 1, step: 0.5 }); // 0.33 → 0.5
  assert.deepEqual(niceScale(-3, 6), { low: -5, high: 10, step: 5 }); // 3 → 5
  for (const [low, high] of [[0, 97], [0.123, 0.124], [1e9, 1.7e9], [-1e-9, 2e-9], [99.9, 100.1]] as const) {
    const s = niceScale(low, high);
    const parts = Math.round((s.high - s.low) / s.step);
    assert.ok(s.low <= low && s.high >= high && parts >= 2 && parts <= 4, `${low}–${high}: ${JSON.stringify(s)}`);
  }
});

test("plots stand in equal rows, none narrower than can be read", () => {
  const pad = { left: 48, right: 14 };
  // 560 px: three of 170 fit; six make two rows of three: (560 − 48 − 3 × 14) ÷ 3.
  assert.deepEqual(layoutOf(560, 6, pad), { perRow: 3, rows: 2, width: 470 / 3 });
  assert.deepEqual(layoutOf(560, 4, pad), { perRow: 2, rows: 2, width: (560 - 48 - 28) / 2 }); // not three and one
  assert.deepEqual(layoutOf(340, 2, pad), { perRow: 2, rows: 1, width: (340 - 48 - 28) / 2 });
  assert.deepEqual(layoutOf(300, 2, pad), { perRow: 1, rows: 2, width: 300 - 48 - 14 });
  assert.deepEqual(layoutOf(0, 2, pad), { perRow: 1, rows: 2, width: 1 });
});

test("a picture says when each column was", () => {
  const at = (h: number, m: number, day = 1) => Date.UTC(2026, 2, day, h, m, 5);
  assert.deepEqual(
    spanLines([{ from: at(3, 34), to: at(3, 43), steps: [] }, { from: at(23, 0), to: at(1, 0, 2), steps: [] }], ["old", "new"]),
    ["A old: 2026-03-01 03:34:05 – 03:43:05 UTC", "B new: 2026-03-01 23:00:05 – 2026-03-02 01:00:05 UTC"],
  );
});
