/**
 * Reading one file with several readers, with the result of one. Reader k+1 guesses the first event
 * boundary of its range; the guess is right exactly when reader k stops there. A wrong guess costs time,
 * never correctness: reader k goes on over that range and the guesser's work is dropped.
 */

import { toEnd, type Caps, type Range, type RangeResult, type Source } from "./protocol";

/** A reader somewhere else: a worker, or a fake of one. */
export interface RangeReader {
  read(source: Source, range: Range, caps: Caps): Promise<RangeResult>;
  /** Goes on after read (or extend) up to a new end. */
  extend(end: number): Promise<RangeResult>;
  partial(): Promise<ArrayBuffer>;
  /** False: a table ran full in one of the ranges. */
  merge(partial: ArrayBuffer): Promise<boolean>;
  /** JSON of how many slices it keeps in columns. */
  columns(): Promise<string>;
  summary(name: string, bytes: number): Promise<string>;
  close(): void;
}

/** Cuts size bytes into count ranges of about equal length; the last one is open to the end. */
export function split(size: number, count: number, root: number): Range[] {
  const ranges: Range[] = [];
  for (let k = 0; k < count; k++) {
    const start = Math.floor((size * k) / count);
    const end = k === count - 1 ? toEnd : Math.floor((size * (k + 1)) / count);
    ranges.push({ start, end, root });
  }
  return ranges;
}

/** Whether a range may follow one that ended in before. */
export function joins(before: RangeResult, next: RangeResult): boolean {
  return before.atEvent && before.stop === next.start;
}

/**
 * Reads all ranges at once and leaves the whole file's result in readers[0]. Returns what the readers
 * whose ranges count keep in columns, or null where a table ran full: then one reader must read it all,
 * since only its cap falls where it always does. onDrop is told of readers whose guess was wrong: what they
 * have shown so far does not count.
 */
export async function readJoined(
  readers: readonly RangeReader[],
  source: Source,
  ranges: readonly Range[],
  caps: Caps,
  onDrop: (index: number) => void,
): Promise<string[] | null> {
  const results = readers.map((reader, k) => reader.read(source, ranges[k]!, caps));
  // A later range may fail on a wrong guess alone, so its failure counts as one; a true one is met again.
  const guesses = results.map((r) => r.catch(() => null));
  const kept = [0];
  let last = 0;
  let result = await results[0]!;
  for (let next = 1; next < readers.length; next++) {
    const guess = await guesses[next]!;
    if (guess !== null && joins(result, guess)) {
      last = next;
      kept.push(next);
      result = guess;
      continue;
    }
    onDrop(next);
    readers[next]!.close();
    const end = ranges[next]!.end;
    const covered = result.atEvent ? result.stop >= end : result.stop < 0;
    if (!covered) result = await readers[last]!.extend(end);
  }
  // Asked before merging, which adds the others' counts to the first.
  const columns = await Promise.all(kept.map((k) => readers[k]!.columns()));
  for (const k of kept.slice(1)) {
    if (!(await readers[0]!.merge(await readers[k]!.partial()))) return null;
  }
  return columns;
}
