import assert from "node:assert/strict";
import { test } from "node:test";
import { moved, readRange, writeRange } from "./ranges";

const now = 1_000_000_000;

test("an address names a range that ends now, an own one, or none", () => {
  const read = (q: string) => readRange(new URLSearchParams(q), now, "1h");
  assert.deepEqual(read("range=15m"), { key: "15m", from: now - 900_000, to: now });
  assert.deepEqual(read(""), { key: "1h", from: now - 3_600_000, to: now });
  assert.deepEqual(read("range=__proto__").key, "1h");
  assert.deepEqual(read("from=1000&to=2000"), { key: "own", from: 1000, to: 2000 });
  assert.deepEqual(read("from=1970-01-01T00:00:01&to=1970-01-01T00:00:02Z"), { key: "own", from: 1000, to: 2000 });
  assert.equal(read("from=2000&to=1000").key, "1h");
});

test("what is written is read back", () => {
  const params = new URLSearchParams("x=step&range=1h");
  writeRange(params, { key: "own", from: 1000, to: 61_000 });
  assert.equal(params.get("x"), "step");
  assert.deepEqual(readRange(params, now, "1h"), { key: "own", from: 1000, to: 61_000 });
  writeRange(params, { key: "6h", from: 0, to: 1 });
  assert.equal(params.toString(), "x=step&range=6h");
});

test("moving and zooming keep the length's share and stop at now", () => {
  const r = { key: "own", from: 1000_000, to: 1100_000 };
  assert.deepEqual(moved(r, -0.5, 1, now), { key: "own", from: 950_000, to: 1_050_000 });
  assert.deepEqual(moved(r, 0, 0.5, now), { key: "own", from: 1_025_000, to: 1_075_000 });
  assert.deepEqual(moved(r, 0.5, 1, 1_120_000), { key: "own", from: 1_020_000, to: 1_120_000 });
});
