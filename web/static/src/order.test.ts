import assert from "node:assert/strict";
import { test } from "node:test";
import { arrange, compare, matcher } from "./order";

interface Row {
  name: string;
  n: number | null;
  depth: number;
  group: string;
}
const row = (name: string, n: number | null, depth = 0, group = "a"): Row => ({ name, n, depth, group });
const names = (placed: { row: Row }[]) => placed.map((p) => p.row.name).join(" ");

test("absent values come last in both directions", () => {
  const rows = [row("none", null), row("one", 1), row("two", 2)];
  const by = (descending: boolean) => names(arrange(rows, { value: (r) => r.n, descending, keep: () => true }));
  assert.equal(by(true), "two one none");
  assert.equal(by(false), "one two none");
});

test("sorting is stable and numbers in names count", () => {
  const rows = [row("x", 1), row("y", 1), row("z", 1)];
  assert.equal(names(arrange(rows, { value: (r) => r.n, descending: true, keep: () => true })), "x y z");
  assert.ok(compare("GPU 2", "GPU 10", false) < 0);
});

test("children stay below their parent, and a match keeps its ancestors", () => {
  const rows = [row("p", 1), row("p1", 1, 1), row("p2", 5, 1), row("q", 9), row("q1", 2, 1)];
  const how = { value: (r: Row) => r.n, descending: true, depth: (r: Row) => r.depth };
  assert.equal(names(arrange(rows, { ...how, keep: () => true })), "q q1 p p2 p1");
  assert.equal(names(arrange(rows, { ...how, keep: (r) => r.name === "p1" })), "p p1");
});

test("groups keep their order whatever the sorting", () => {
  const rows = [row("x", 1, 0, "b"), row("y", 9, 0, "a"), row("z", 3, 0, "c")];
  const placed = arrange(rows, { value: (r) => r.n, descending: true, keep: () => true, group: (r) => r.group, groups: ["a", "b"] });
  assert.equal(names(placed), "y x z");
  assert.deepEqual(placed.map((p) => p.group), ["a", "b", "c"]);
});

test("all words of a filter must occur", () => {
  const m = matcher("SYNC post");
  assert.equal(m("deepinfer:worker.post_process.sync"), true);
  assert.equal(m("deepinfer:worker.sync"), false);
  assert.equal(matcher("  ")("anything"), true);
});
