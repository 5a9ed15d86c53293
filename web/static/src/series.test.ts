import assert from "node:assert/strict";
import { test } from "node:test";
import { axisNumber, bound, clipped, heights, largest, last, look, lookOf, near, placed, points, type Line, type Mark, type Series } from "./series";

const s: Series = { x0: 1000, dx: 10, cells: 4, lines: [], bands: [], engines: 1, cards: 0, more: 0, samples: 3, outliers: [] };

test("values stand in the middle of their cells, and gaps stay", () => {
  assert.deepEqual(points(s, [0, 1, 3], [5, null, 7]), [
    [1005, 5],
    [1015, null],
    [1035, 7],
  ]);
});

test("areas are stacked on their lower edge", () => {
  assert.deepEqual(heights([1, null, 2], [4, 5, null]), [3, null, null]);
});

test("the value under the cursor is the nearest one, not one from far away", () => {
  const line = { i: [0, 3], v: [5, 7] };
  assert.equal(near(s, line, 1012, 10), 5);
  assert.equal(near(s, line, 1022, 10), null); // 17 from the one, 13 from the other
  assert.equal(near(s, { i: [0], v: [null] }, 1005, 10), null);
  assert.equal(last({ v: [1, 2, null] }), 2);
  assert.equal(last({ v: [] }), null);
});

test("no two of twelve lines look alike, and kinds of steps have their colours", () => {
  const seen = new Set(Array.from({ length: 12 }, (_, n) => JSON.stringify(look(n, ""))));
  assert.equal(seen.size, 12);
  assert.equal(look(0, "prompt").color, "#e69f00");
  assert.equal(look(1, "decode").color, "#0072b2");
});

test("an axis has one unit, that of its largest value", () => {
  const line = { metric: "m", label: "", engine: "", steps: "", samples: 2, outlier: false, i: [0, 1], v: [9000, null], hi: [12_000, null] };
  assert.equal(largest({ ...s, lines: [line] }), 12_000);
  assert.equal(axisNumber(9000, 12_000), "9 k");
  assert.equal(axisNumber(12_500, 12_000), "12.5 k");
  assert.equal(axisNumber(9000, 9500), "9000");
  assert.equal(axisNumber(-0.25, 1), "−0.25");
});

test("a quantile of which only a bound is known says so, and is marked every so many cells", () => {
  const line = { metric: "TTFT", label: "p99", engine: "", steps: "", samples: 9, outlier: false, i: [0, 1, 2, 3], v: [400, 400, 400, 90], clip: [1, 1, 1, -1] };
  assert.equal(bound(line, 0), "> ");
  assert.equal(bound(line, 3), "≤ ");
  assert.equal(bound({}, 0), "");
  // Of cells 0, 1 and 2 the first and the one two cells later; their middles are x0 + (cell + 0.5)·10.
  assert.deepEqual(clipped(s, line, 1, 2), [
    [1005, 400],
    [1025, 400],
  ]);
  assert.deepEqual(clipped(s, line, -1, 2), [[1035, 90]]);
  assert.equal(largest({ ...s, lines: [{ ...line, hi: [null, null, null, 120] }] }), 400);
});

test("engines keep their colour and prompt steps are dashed; alone, the kinds have their colours", () => {
  const line = (engine: string, steps: string): Line => ({ metric: "m", label: "", engine, steps, samples: 1, outlier: false, i: [0], v: [1] });
  const two = { ...s, lines: [line("a", "decode"), line("b", "decode"), line("a", "prompt"), line("b", "prompt")] };
  const looks = two.lines.map((_, n) => lookOf(two, n));
  assert.equal(new Set(looks.map((l) => JSON.stringify(l))).size, 4);
  assert.equal(looks[0]!.color, looks[2]!.color);
  assert.deepEqual(looks.map((l) => l.dash), ["solid", "solid", "dashed", "dashed"]);
  const one = { ...s, lines: [line("", "decode"), line("", "prompt")] };
  assert.deepEqual(one.lines.map((_, n) => lookOf(one, n).color), ["#0072b2", "#e69f00"]);
});

test("over steps a mark lies where the steps of its time are, not in cells that hold a pause", () => {
  const mark = (from: number, to: number): Mark => ({ kind: "capture", from, to, engines: [], count: 1, n: 0, detail: "" });
  // Cells 0, 1 and 3 took 10 ms each; cell 2 is of two lives, 900 ms apart.
  const stepped: Series = { ...s, x0: 100, dx: 50, times: [[0, 10], [10, 20], [15, 915], [30, 40]] };
  assert.deepEqual(placed(stepped, [mark(12, 18)], true).map((p) => [p.from, p.to]), [[150, 200]]); // cell 1
  assert.deepEqual(placed(stepped, [mark(35, 35)], true).map((p) => [p.from, p.to]), [[275, 275]]); // the middle of cell 3
  assert.deepEqual(placed(stepped, [mark(500, 600)], true), []); // nothing ran then
  assert.deepEqual(placed(stepped, [mark(500, 600)], false).map((p) => [p.from, p.to]), [[500, 600]]);
});
