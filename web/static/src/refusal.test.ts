import assert from "node:assert/strict";
import { test } from "node:test";

import { refusal } from "./refusal";

const answer = (body: string, status = 409) => new Response(body, { status, statusText: "Conflict" });
const ours = JSON.stringify({ error: "it is busy", hint: "wait", code: "busy", params: ["1"], zh: { error: "正忙", hint: "请稍候" } });

test("a refusal is told in the page's language", async () => {
  assert.deepEqual(await refusal(answer(ours), false), { message: "it is busy", hint: "wait", code: "busy" });
  assert.deepEqual(await refusal(answer(ours), true), { message: "正忙", hint: "请稍候", code: "busy" });
  // An older server knows English only.
  assert.deepEqual(await refusal(answer('{"error":"it is busy"}'), true), { message: "it is busy", hint: "", code: "" });
});

test("an answer of something in between is told by its status", async () => {
  for (const body of ["<html>", "", "null", '{"error":7}', "[]"]) {
    assert.deepEqual(await refusal(answer(body), true), { message: "409 Conflict", hint: "", code: "" });
  }
});
