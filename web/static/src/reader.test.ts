import assert from "node:assert/strict";
import { beforeEach, test } from "node:test";
import { readJoined } from "./join";
import { toEnd, type FromWorker, type RangeResult, type ReadError, type ToWorker } from "./protocol";
import { WorkerReader } from "./reader";
import { Standby } from "./standby";

/** A worker that answers only what a test tells it to, and never once it was terminated. */
class FakeWorker {
  static all: FakeWorker[] = [];
  /** What the next ones answer by themselves. */
  static answering = new Set<string>();
  onmessage: ((event: { data: FromWorker }) => void) | null = null;
  onerror: ((event: { message: string; preventDefault(): void }) => void) | null = null;
  onmessageerror: (() => void) | null = null;
  readonly asked: ToWorker[] = [];
  terminated = false;
  private readonly answering = FakeWorker.answering;

  constructor(readonly url: string) {
    FakeWorker.all.push(this);
  }
  postMessage(message: ToWorker): void {
    this.asked.push(message);
    if (this.answering.has(message.request.op)) queueMicrotask(() => this.answer(message.request.op, null));
  }
  answer(op: string, ok: unknown): void {
    const at = this.asked.findLast((m) => m.request.op === op);
    assert.ok(at !== undefined, `${op} was not asked`);
    if (!this.terminated) this.onmessage?.({ data: { id: at.id, ok, memory: 1 } });
  }
  terminate(): void {
    this.terminated = true;
  }
}

beforeEach(() => {
  FakeWorker.all = [];
  FakeWorker.answering = new Set();
});
Object.assign(globalThis, { Worker: FakeWorker, fetch: async () => new Response() });
Object.assign(WebAssembly, { compileStreaming: async () => ({}) });

const caps = { columns: 0, rows: 0, nextn: 5 };
const turns = () => new Promise((resolve) => setTimeout(resolve, 5));
const stopped: RangeResult = { start: 0, stop: 50, atEvent: true };

test("closing a reader settles what it was asked, before and after", async () => {
  const reader = new WorkerReader("w");
  const before = reader.columns();
  reader.close();
  await assert.rejects(before, /closed/);
  await assert.rejects(reader.extend(9), /closed/);
  assert.equal(FakeWorker.all[0]!.asked.length, 1, "a worker that ended is asked nothing");
});

test("a reader whose worker failed answers nothing more", async () => {
  const reader = new WorkerReader("w");
  const first = reader.columns();
  FakeWorker.all[0]!.onerror!({ message: "no such script", preventDefault: () => undefined });
  await assert.rejects(first, /no such script/);
  await assert.rejects(reader.partial(), /no such script/);
});

test("cancelling settles a reading of several ranges wherever it is", async () => {
  for (const done of [[], [0], [1], [0, 1]]) {
    FakeWorker.all = [];
    const readers = [new WorkerReader("w"), new WorkerReader("w")];
    const ranges = [{ start: 0, end: 50, root: 0x7b }, { start: 50, end: toEnd, root: 0x7b }];
    const reading = readJoined(readers, { blob: new Blob(["x"]) }, ranges, caps, () => undefined);
    for (const k of done) FakeWorker.all[k]!.answer("read", k === 0 ? stopped : { start: 50, stop: -1, atEvent: false });
    await turns();
    for (const r of readers) r.close();
    await assert.rejects(reading, /closed/, `with ${done.length === 0 ? "none" : done.join(" and ")} read`);
  }
});

test("a file that comes while the code is run in ends that and gets readers of its own", async () => {
  FakeWorker.answering = new Set(["init"]);
  const standby = new Standby({ worker: "w", wasm: "m" });
  const preparing = standby.prepare(2);
  await turns();
  const [warming] = FakeWorker.all;
  assert.deepEqual(warming!.asked.map((m) => m.request.op), ["init", "warm"]);
  const readers = await standby.take(2);
  assert.ok(warming!.terminated);
  await assert.rejects(preparing, /closed/);
  assert.equal(readers.length, 2);
  assert.equal(FakeWorker.all.length, 3, "nothing more is started ahead");
});

test("readers started ahead are taken first, the rest is started then", async () => {
  FakeWorker.answering = new Set(["init", "warm"]);
  const standby = new Standby({ worker: "w", wasm: "m" });
  await standby.prepare(2);
  assert.deepEqual(FakeWorker.all.map((w) => w.terminated), [true, false, false]);
  assert.equal((await standby.take(3)).length, 3);
  assert.equal(FakeWorker.all.length, 4);
  assert.ok(FakeWorker.all.slice(1).every((w) => !w.terminated && w.asked.length === 1));
});

test("where a reader does not start, taking fails and leaves none running; one not taken is forgotten", async () => {
  FakeWorker.answering = new Set(["init", "warm"]);
  const standby = new Standby({ worker: "w", wasm: "m" });
  await standby.prepare(0);
  FakeWorker.answering = new Set();
  const taking = standby.take(2);
  await turns();
  FakeWorker.all[1]!.answer("init", null);
  FakeWorker.all[2]!.onerror!({ message: "no memory for it", preventDefault: () => undefined });
  await assert.rejects(taking, /no memory for it/);
  assert.ok(FakeWorker.all.every((w) => w.terminated));

  FakeWorker.all = [];
  FakeWorker.answering = new Set(["init", "warm"]);
  const ahead = new Standby({ worker: "w", wasm: "m" });
  const preparing = ahead.prepare(2);
  await preparing;
  const [, broken, whole] = FakeWorker.all;
  FakeWorker.answering = new Set(["init"]);
  await turns();
  broken!.onerror!({ message: "gone", preventDefault: () => undefined });
  const readers = await ahead.take(2);
  await turns();
  assert.equal(readers.length, 2);
  assert.deepEqual(FakeWorker.all.map((w) => w.asked.filter((m) => m.request.op === "init").length), [1, 1, 1, 1]);
  assert.ok(readers.every((r) => r.alive) && !whole!.terminated);
});

test("parts that an updated server no longer has, or a server that is gone, are told apart from a crash", async () => {
  const fetched = globalThis.fetch;
  const compiled = WebAssembly.compileStreaming;
  try {
    const ask = async (answer: () => Promise<Response>) => {
      Object.assign(globalThis, { fetch: answer });
      Object.assign(WebAssembly, { compileStreaming: async (r: Promise<Response>) => ((await r).ok ? {} : Promise.reject(new TypeError("bad"))) });
      return new Standby({ worker: "w", wasm: "m" }).take(1).then(() => "none", (err: ReadError) => err.failure.code);
    };
    assert.equal(await ask(async () => new Response(null, { status: 404 })), "updated");
    assert.equal(await ask(async () => Promise.reject(new TypeError("refused"))), "offline");
  } finally {
    Object.assign(globalThis, { fetch: fetched });
    Object.assign(WebAssembly, { compileStreaming: compiled });
  }
});
