import assert from "node:assert/strict";
import { test } from "node:test";
import { fold, harmless, pieces } from "./names";

test("template arguments are told apart, brackets nested", () => {
  assert.deepEqual(pieces("void k<float, A<2> >(float*)"), [
    { text: "void k", argument: false },
    { text: "<float, A<2> >", argument: true },
    { text: "(float*)", argument: false },
  ]);
  assert.deepEqual(pieces("plain"), [{ text: "plain", argument: false }]);
  assert.deepEqual(pieces("a < b"), [{ text: "a < b", argument: false }]);
});

test("long names keep their beginning and their end", () => {
  const name = "b".repeat(100) + "e".repeat(100);
  const text = fold(pieces(name)).map((p) => p.text).join("");
  assert.equal(text, "b".repeat(52) + "…" + "e".repeat(36));
  assert.equal(fold(pieces("short")).length, 1);
});

test("a name cannot turn the text around it", () => {
  assert.equal(harmless("deepinfer:schedule"), "deepinfer:schedule");
  assert.equal(harmless("gpj.\u202egnp\u2069.exe"), "gpj.\ufffdgnp\ufffd.exe");
  assert.equal(harmless("\u05e9\u05dc\u05d5\u05dd"), "\u05e9\u05dc\u05d5\u05dd");
});
