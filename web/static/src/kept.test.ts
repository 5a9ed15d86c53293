import assert from "node:assert/strict";
import { test } from "node:test";

import { differing } from "./kept";

test("only what was typed and is otherwise differs", () => {
  const kept = { name: "a.json", label: "depl-A", note: "" };
  assert.deepEqual(differing(kept, { name: "a.json", label: "depl-B", note: "after the fix" }), { label: "depl-B", note: "after the fix" });
  assert.deepEqual(differing(kept, { name: "b.json", label: "", note: "" }), { name: "b.json" });
  assert.deepEqual(differing(kept, { name: " a.json ", label: "depl-A\n", note: "  " }), {});
});
