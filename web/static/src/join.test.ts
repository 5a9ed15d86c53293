import assert from "node:assert/strict";
import { test } from "node:test";
import { readJoined, split, type RangeReader } from "./join";
import { toEnd, type Range, type RangeResult } from "./protocol";

const caps = { columns: 0, rows: 0, nextn: 5 };
const source = { url: "/none" };

/**
 * A reader over a file whose events begin at the given offsets. It stops at the first boundary at or after
 * its end, and has "read" the events from where it began; guess overrides where a range reader begins.
 */
class FakeReader implements RangeReader {
  begin = 0;
  stop = 0;
  merged: number[] = [];
  extended: number[] = [];
  closed = false;

  constructor(
    private readonly events: readonly number[],
    private readonly options: { guess?: number; fails?: boolean; inside?: number; full?: boolean } = {},
  ) {}

  private upTo(end: number): RangeResult {
    const boundary = this.events.find((e) => e >= end);
    this.stop = boundary ?? 1000;
    const atEvent = boundary !== undefined && this.stop !== this.options.inside;
    return { start: this.begin, stop: boundary ?? -1, atEvent };
  }

  async read(_: unknown, range: Range): Promise<RangeResult> {
    if (this.options.fails) throw new Error("nothing here is an event");
    this.begin = range.start === 0 ? 0 : (this.options.guess ?? this.events.find((e) => e >= range.start && e < range.end) ?? -1);
    return this.upTo(range.end);
  }
  async extend(end: number): Promise<RangeResult> {
    this.extended.push(end);
    return this.upTo(end);
  }
  async partial(): Promise<ArrayBuffer> {
    return new Float64Array(this.events.filter((e) => e >= this.begin && e < this.stop)).buffer;
  }
  async merge(partial: ArrayBuffer): Promise<boolean> {
    this.merged.push(...new Float64Array(partial));
    return !this.options.full;
  }
  async columns(): Promise<string> {
    return String(this.all().length);
  }
  async summary(): Promise<string> {
    return "";
  }
  close(): void {
    this.closed = true;
  }
  all(): number[] {
    return [...this.events.filter((e) => e >= this.begin && e < this.stop), ...this.merged];
  }
}

const events = [10, 120, 260, 390, 410, 555, 700, 850, 990];
const ranges = split(1000, 4, 0x7b);

async function run(readers: FakeReader[]): Promise<number[]> {
  const dropped: number[] = [];
  await readJoined(readers, source, ranges, caps, (k) => dropped.push(k));
  return dropped;
}

test("ranges cover the file and the last is open", () => {
  assert.deepEqual(ranges.map((r) => [r.start, r.end]), [[0, 250], [250, 500], [500, 750], [750, toEnd]]);
  assert.deepEqual(split(10, 1, 0x5b), [{ start: 0, end: toEnd, root: 0x5b }]);
});

test("right guesses are merged in the file's order", async () => {
  const readers = ranges.map(() => new FakeReader(events));
  assert.deepEqual(await run(readers), []);
  assert.deepEqual(readers[0]!.all(), events);
  assert.deepEqual(readers.flatMap((r) => r.extended), []);
});

test("a wrong guess is dropped and its range read again by the one before", async () => {
  const readers = ranges.map((_, k) => new FakeReader(events, k === 2 ? { guess: 600 } : {}));
  assert.deepEqual(await run(readers), [2]);
  assert.deepEqual(readers[0]!.all(), events);
  assert.deepEqual(readers[1]!.extended, [750]);
  assert.equal(readers[2]!.closed, true);
});

test("ranges without a boundary, and failing guesses, cost only time", async () => {
  const readers = ranges.map((_, k) => new FakeReader(events, k === 1 ? { guess: -1 } : k === 3 ? { fails: true } : {}));
  assert.deepEqual(await run(readers), [1, 3]);
  assert.deepEqual(readers[0]!.all(), events);
  assert.deepEqual(readers[0]!.extended, [500]);
  assert.deepEqual(readers[2]!.extended, [toEnd]);
});

test("a reader that stopped inside something is never joined", async () => {
  const readers = ranges.map((_, k) => new FakeReader(events, k === 0 ? { inside: 260 } : {}));
  assert.deepEqual(await run(readers), [1]);
  assert.deepEqual(readers[0]!.extended, [500]);
  assert.deepEqual(readers[0]!.all(), events);
});

test("an event longer than a range covers it", async () => {
  const long = [10, 900, 950];
  const readers = ranges.map(() => new FakeReader(long));
  assert.deepEqual(await run(readers), [1, 2]);
  assert.deepEqual(readers[0]!.extended, []);
  assert.deepEqual(readers[0]!.all(), long);
});

test("a reader that met the end of the file covers all ranges", async () => {
  const readers = ranges.map(() => new FakeReader([10, 120]));
  assert.deepEqual(await run(readers), [1, 2, 3]);
  assert.deepEqual(readers[0]!.extended, []);
  assert.deepEqual(readers[0]!.all(), [10, 120]);
});

test("a full table asks for one reader", async () => {
  const full = ranges.map(() => new FakeReader(events, { full: true }));
  assert.equal(await readJoined(full, source, ranges, caps, () => undefined), null);
  const fine = ranges.map((_, k) => new FakeReader(events, k === 2 ? { guess: 600 } : {}));
  assert.deepEqual(await readJoined(fine, source, ranges, caps, () => undefined), ["2", "5", "2"]);
});

test("the first reader's failure is the file's", async () => {
  const readers = ranges.map((_, k) => new FakeReader(events, k === 0 ? { fails: true } : {}));
  await assert.rejects(run(readers), /nothing here is an event/);
});
