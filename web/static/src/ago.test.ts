import assert from "node:assert/strict";
import { test } from "node:test";
import { ago } from "./ago";

test("times past are told in their largest unit", () => {
  assert.equal(ago(-5), "now"); // the engine's clock is a little ahead
  assert.equal(ago(999), "now");
  assert.equal(ago(59_999), "59 s");
  assert.equal(ago(60_000), "1 min");
  assert.equal(ago(3_599_000), "59 min");
  assert.equal(ago(47 * 3_600_000), "47 h");
  assert.equal(ago(48 * 3_600_000), "2 d");
});
