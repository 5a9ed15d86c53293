import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";

import { sentence } from "./errors";
import { zh } from "./strings-zh";

// Every code of the reader's refusals has a text, or a failure code of its own.
test("the reader's refusals are translated", () => {
  const go = ["text", "reader", "unpack", "zstd", "zstd_js"]
    .map((f) => readFileSync(`engine/trace/${f}.go`, "utf8"))
    .join("\n");
  const codes = new Set([
    ...[...go.matchAll(/Code: +"(\w+)"/g)].map((m) => m[1]!),
    ...[...go.matchAll(/^\t\{"(?:[^"\\]|\\.)*", "(\w+)", /gm)].map((m) => m[1]!),
  ]);
  assert.ok(codes.size >= 13, `only ${codes.size} codes found`);
  for (const code of codes) {
    if (code === "empty" || code === "zstd") continue;
    const said = zh.error.reader(code, "");
    assert.ok(said !== null && said[0] !== "" && said[1] !== "", code);
  }
  assert.equal(zh.error.reader("not_trace", "<b>")?.[0].endsWith("“<b>”"), true);
});

test("messages become sentences", () => {
  for (const [text, want] of [
    ["the file is empty", "The file is empty."],
    ["/traces lists them", "/traces lists them"],
    ["没有以该 ID 保存的 trace", "没有以该 ID 保存的 trace。"],
    ["请重试。", "请重试。"],
    ["", ""],
  ] as const) {
    assert.equal(sentence(text), want);
  }
});
