import assert from "node:assert/strict";
import { test } from "node:test";
import * as f from "./format";

test("three significant figures, three decimals at most", () => {
  const cases: [number, string][] = [
    [0, "0"],
    [1.8401, "1.84"],
    [9.994, "9.99"],
    [9.996, "10.0"],
    [12.34, "12.3"],
    [99.96, "100"],
    [123.4, "123"],
    [1840.4, "1,840"],
    [0.5, "0.500"],
    [0.0123, "0.012"],
    [0.0004, "<0.001"],
    [-2.5, "−2.50"],
  ];
  for (const [x, want] of cases) assert.equal(f.sig3(x), want, String(x));
});

test("a single time picks its own unit", () => {
  assert.equal(f.time(0), "0 ns");
  assert.equal(f.time(999), "999 ns");
  assert.equal(f.time(1_840_123), "1.84 ms");
  assert.equal(f.time(2_000_000_000), "2.00 s");
  assert.equal(f.exactNs(1_840_123), "1,840,123 ns");
});

test("a column has one unit, that of its largest value", () => {
  const unit = f.columnUnit([12_000, null, 1_840_000, undefined]);
  assert.equal(unit.name, "ms");
  assert.equal(f.inUnit(12_000, unit), "0.012");
  assert.equal(f.inUnit(1_840_000, unit), "1.84");
  assert.equal(f.columnUnit([]).name, "ns");
});

test("one large value does not flatten its column", () => {
  const unit = f.columnUnit([11_700_000_000, 297_000_000, 2_000_000, 1_000_000, 400_000]);
  assert.equal(unit.name, "ms");
  assert.equal(f.inUnit(11_700_000_000, unit), "11,700");
  assert.equal(f.inUnit(400_000, unit), "0.400");
});

test("shares come in parts per million", () => {
  assert.equal(f.percent(812_345), "81.2 %");
  assert.equal(f.percent(54_321), "5.43 %");
  assert.equal(f.percent(0), "0 %");
  assert.equal(f.percent(10), "<0.01 %");
  assert.equal(f.percent(1_000_000), "100 %");
  assert.equal(f.ppm(1, 3), 333_333);
  assert.equal(f.ppm(1, 0), null);
  assert.equal(f.ppm(null, 3), null);
});

test("sizes, waits and wall times", () => {
  assert.equal(f.bytes(999), "999 B");
  assert.equal(f.bytes(48_123_456), "48.1 MB");
  assert.equal(f.duration(7.2), "8 s");
  assert.equal(f.duration(125), "2 min 5 s");
  assert.equal(f.wallTime(1_712_345_678_000_250_500n), "2024-04-05 19:34:38.000 UTC");
});

test("the median is the nearest rank", () => {
  assert.equal(f.median([4, 1, 3, 2]), 2);
  assert.equal(f.median([5, 1, 9]), 5);
  assert.equal(f.median([]), 0);
});
