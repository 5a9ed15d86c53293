import assert from "node:assert/strict";
import { test } from "node:test";
import { pause, Throttle } from "./live";

test("pauses double up to half a minute and are spread by half", () => {
  assert.equal(pause(0, 1), 1000);
  assert.equal(pause(0, 0), 500);
  assert.equal(pause(3, 1), 8000); // 1000 × 2³
  assert.equal(pause(5, 1), 30_000); // 32 s would be beyond the longest
  assert.equal(pause(4000, 0), 15_000);
});

test("pokes during a call lead to one more, not sooner than allowed", async () => {
  let now = 0;
  const calls: number[] = [];
  let release: () => void = () => undefined;
  const throttle = new Throttle(
    () => {
      calls.push(now);
      return new Promise((done) => (release = done));
    },
    () => 1000,
    { now: () => now, wait: async (ms) => void (now += ms) },
  );
  const settle = () => new Promise((done) => setImmediate(done));
  throttle.poke();
  await settle();
  throttle.poke();
  throttle.poke();
  now = 300;
  release();
  await settle();
  assert.deepEqual(calls, [0, 1000]);
  release();
  await settle();
  assert.deepEqual(calls, [0, 1000]);
});

test("a call that fails does not end the following", async () => {
  let calls = 0;
  const throttle = new Throttle(async () => {
    calls++;
    throw new Error("the server is away");
  }, () => 0);
  throttle.poke();
  await new Promise((done) => setImmediate(done));
  throttle.poke();
  await new Promise((done) => setImmediate(done));
  assert.equal(calls, 2);
});
