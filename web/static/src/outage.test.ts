import assert from "node:assert/strict";
import { test } from "node:test";

import { lostText, Outage, reachable, tellOutage } from "./outage";

test("an outage begins with the first try that fails and ends with the connection", () => {
  const outage = new Outage();
  assert.equal(outage.lost(1000), 1000);
  assert.equal(outage.lost(31_000), 1000);
  outage.over();
  assert.equal(outage.lost(90_000), 90_000);
});

test("the line says since when, in UTC", () => {
  assert.equal(
    lostText(Date.UTC(2026, 2, 1, 10, 59, 5)),
    "The live connection has been lost since 10:59:05 UTC: what is shown is of then. Trying again.",
  );
});

test("the line is there while the connection is not", () => {
  const line = { textContent: "", hidden: true } as HTMLElement;
  let opened = 0;
  const { open, lost } = tellOutage(line, () => opened++);
  lost();
  const told = line.textContent;
  assert.match(told!, /lost since \d\d:\d\d:\d\d UTC/);
  assert.equal(line.hidden, false);
  lost();
  assert.equal(line.textContent, told);
  open();
  assert.deepEqual([line.textContent, line.hidden, opened], ["", true, 1]);
});

test("a server that refuses is there, one that does not answer is not", async () => {
  assert.equal(await reachable(async () => new Response(null, { status: 503 })), true);
  assert.equal(await reachable(() => Promise.reject(new TypeError("Failed to fetch"))), false);
  const awake = setInterval(() => undefined, 1000); // the signal's own clock keeps no process alive
  const never: typeof fetch = (_, init) => new Promise((_, fail) => init!.signal!.addEventListener("abort", () => fail(init!.signal!.reason as Error)));
  assert.equal(await reachable(never, 20), false);
  clearInterval(awake);
});
