import assert from "node:assert/strict";
import { test } from "node:test";
import { sniff } from "./sniff";
import { keptID, nameOf, sameOriginPath } from "./address";

const text = (s: string) => new TextEncoder().encode(s);

test("only plain JSON is split", () => {
  assert.deepEqual(sniff(text('{"traceEvents"')), { kind: "json", root: 0x7b });
  assert.deepEqual(sniff(text("\ufeff \n[{")), { kind: "json", root: 0x5b });
  assert.deepEqual(sniff(Uint8Array.of(0x1f, 0x8b, 8)), { kind: "single" });
  assert.deepEqual(sniff(Uint8Array.of(0xff, 0xfe, 0x7b, 0)), { kind: "single" });
  assert.deepEqual(sniff(Uint8Array.of(0x7b, 0, 0x22, 0)), { kind: "single" });
  assert.deepEqual(sniff(text("// a comment\n{")), { kind: "single" });
  assert.deepEqual(sniff(Uint8Array.of(0x28, 0xb5, 0x2f, 0xfd)), { kind: "zstd" });
  assert.deepEqual(sniff(new Uint8Array(0)), { kind: "empty" });
});

test("only our own server's addresses are opened", () => {
  const own = "http://127.0.0.1:8080";
  assert.equal(sameOriginPath("/example.json.gz", own), "/example.json.gz");
  assert.equal(sameOriginPath(`${own}/api/traces/x/content?y=1`, own), "/api/traces/x/content?y=1");
  assert.equal(sameOriginPath(`${own}/trace?trace=/example.json.gz`, own), "/example.json.gz");
  for (const bad of ["https://elsewhere.test/a.json", "//elsewhere.test/a", "http://127.0.0.1:9090/a", "file:///etc/passwd", "javascript:alert(1)", "http://me@127.0.0.1:8080/a"]) {
    assert.equal(sameOriginPath(bad, own), null, bad);
  }
});

test("names of addresses", () => {
  const id = "a".repeat(64);
  assert.equal(nameOf("/example.json.gz"), "example.json.gz");
  assert.equal(nameOf(`/api/traces/${id}/content`), "aaaaaaaaaaaa…");
  assert.equal(nameOf("/a/%E8%BF%BD.json?x=1"), "追.json");
  assert.equal(keptID(`/api/traces/${id}/content`, "/api/traces"), id);
  assert.equal(keptID("/example.json.gz", "/api/traces"), null);
});
