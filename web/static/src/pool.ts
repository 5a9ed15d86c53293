/** Reads one trace with as many workers as pay: splits, joins, sums up. */

import { readJoined, split } from "./join";
import { mergePreviews } from "./preview";
import { asFailure, failure, ReadError, toEnd, type Caps, type Range, type Source } from "./protocol";
import type { WorkerReader } from "./reader";
import { sniff, sniffBytes } from "./sniff";
import { firstPart } from "./source";
import type { Standby } from "./standby";
import { parseSummary, type Columns, type Preview, type ReadSummary, type Slices } from "./summary";

/** Below this size a second worker's start costs more than it saves. */
const splitFrom = 8e6;

/** Slices kept in columns by all workers together: 24 bytes each, so about 600 MB beside the rows and the names. */
const columnCap = 24 << 20;

/** Speculative tokens of a decode step, where the trace does not tell. */
const nextn = 5;

/**
 * Readers of one address. A browser opens six connections to a server, and the page needs one as well. Half of the
 * cores are left to the browser's network process and, on the same machine, to the server: on two cores, two
 * readers of 98 MB took 1157 ms and one 806 (median of 5).
 */
const connections = 4;

const whole: Range = { start: 0, end: toEnd, root: 0 };

export interface Progress {
  bytes: number;
  /** null when the server does not say how long the file is. */
  total: number | null;
}

export interface Listener {
  progress(p: Progress): void;
  preview(p: Preview): void;
}

/** One trace being read, and its workers, which keep the trace's columns until it is released. */
export class Reading {
  private readers: WorkerReader[] = [];
  private cancelled = false;
  private readonly fed: number[] = [];
  private total: number | null = null;
  private readonly previews = new Map<number, Preview>();

  constructor(
    private readonly standby: Standby,
    private readonly name: string,
    private source: Source,
    private readonly listener: Listener,
    private readonly cores = navigator.hardwareConcurrency || 1,
  ) {}

  /** Reads to the end. Throws ReadError, also when it was cancelled. */
  async run(): Promise<ReadSummary & { columns: Columns }> {
    try {
      const ranges = await this.plan();
      const columns = (await this.readRanges(ranges)) ?? (await this.readRanges([whole])) ?? [];
      const bytes = this.total ?? this.fed[0] ?? 0;
      const read = parseSummary(await this.readers[0]!.summary(this.name, bytes));
      return { ...read, columns: addColumns(columns.map((json) => JSON.parse(json) as Columns)) };
    } catch (err) {
      this.release();
      throw err instanceof ReadError ? err : new ReadError(asFailure(err));
    }
  }

  /** The longest slices of a name; null when the workers were let go for another trace. */
  async slices(name: string, gpu: boolean, limit: number): Promise<Slices | null> {
    const first = this.readers[0];
    return first === undefined ? null : (JSON.parse(await first.slices(name, gpu, limit)) as Slices);
  }

  cancel(): void {
    this.cancelled = true;
    this.release();
  }

  /** Ends the workers and gives their memory back. */
  release(): void {
    for (const r of this.readers) r.close();
    this.readers = [];
  }

  /** Linear memory of all workers, in bytes, as of their last answers. */
  get memory(): number {
    return this.readers.reduce((sum, r) => sum + r.memory, 0);
  }

  get workers(): number {
    return this.readers.length;
  }

  /** Reads the ranges with a fresh worker each; null when they must be read as one. */
  private async readRanges(ranges: readonly Range[]): Promise<string[] | null> {
    this.release();
    this.previews.clear();
    this.fed.length = 0;
    this.readers = await this.standby.take(ranges.length);
    this.stopIfCancelled();
    this.readers.forEach((r, k) => this.watch(r, k));
    const caps: Caps = { columns: Math.floor(columnCap / ranges.length), rows: 0, nextn };
    return readJoined(this.readers, this.source, ranges, caps, (k) => {
      this.previews.delete(k);
      this.fed[k] = 0;
    });
  }

  /** Which parts to read: several where the file can be split and is worth it. */
  private async plan(): Promise<Range[]> {
    const found = await this.look();
    if (found === null) return [whole];
    this.total = found.size;
    const sniffed = sniff(found.head);
    if (sniffed.kind === "empty") throw failure("empty", "the file is empty");
    if (sniffed.kind === "zstd") throw failure("zstd", "the file is compressed with zstd");
    const readers = "url" in this.source ? Math.min(Math.floor(this.cores / 2), connections) : this.cores;
    if (sniffed.kind === "single" || found.size < splitFrom || readers < 2) return [whole];
    return split(found.size, readers, sniffed.root);
  }

  /** The source's size and first bytes; null where the server does not tell. */
  private async look(): Promise<{ size: number; head: Uint8Array } | null> {
    if ("url" in this.source) {
      const part = await firstPart(this.source.url, sniffBytes);
      if (part !== null) this.source = { url: this.source.url, version: part.version };
      return part;
    }
    const { blob } = this.source;
    try {
      return { size: blob.size, head: new Uint8Array(await blob.slice(0, sniffBytes).arrayBuffer()) };
    } catch (err) {
      throw failure("read", err instanceof Error ? err.message : String(err), "", 0);
    }
  }

  private watch(r: WorkerReader, k: number): void {
    this.fed[k] = 0;
    r.onProgress = (bytes, total) => {
      this.fed[k] = bytes;
      if (total !== null) this.total = total;
      const sum = this.fed.reduce((a, b) => a + b, 0);
      this.listener.progress({ bytes: this.total === null ? sum : Math.min(sum, this.total), total: this.total });
    };
    r.onPreview = (json) => {
      this.previews.set(k, JSON.parse(json) as Preview);
      this.listener.preview(mergePreviews(this.previews.values()));
    };
  }

  private stopIfCancelled(): void {
    if (this.cancelled) throw failure("crash", "cancelled");
  }
}

function addColumns(all: readonly Columns[]): Columns {
  const sum = (key: "kept" | "total") => all.reduce((n, c) => n + c[key], 0);
  return { kept: sum("kept"), total: sum("total"), capped: all.some((c) => c.capped) };
}
