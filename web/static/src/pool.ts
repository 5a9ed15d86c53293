/** Reads one trace with as many workers as pay: compiles the module once, splits, joins, sums up. */

import { readJoined, split, type RangeReader } from "./join";
import { mergePreviews } from "./preview";
import {
  asFailure,
  failure,
  ReadError,
  toEnd,
  type Caps,
  type FromWorker,
  type Range,
  type RangeResult,
  type Request,
  type Source,
  type ToWorker,
} from "./protocol";
import { sniff, sniffBytes } from "./sniff";
import { parseSummary, type Columns, type Preview, type ReadSummary } from "./summary";

/** Below this size a second worker's start costs more than it saves. */
const splitFrom = 8e6;

/** Slices kept in columns by all workers together: 24 bytes each, so about 600 MB beside the rows and the names. */
const columnCap = 24 << 20;

/** Speculative tokens of a decode step, where the trace does not tell. */
const nextn = 5;

const whole: Range = { start: 0, end: toEnd, root: 0 };

/** Where the built parts are. */
export interface Assets {
  worker: string;
  wasm: string;
}

export interface Progress {
  bytes: number;
  /** null when the server does not say how long the file is. */
  total: number | null;
}

export interface Listener {
  progress(p: Progress): void;
  preview(p: Preview): void;
}

let compiled: Promise<WebAssembly.Module> | null = null;

/** Fetches and compiles the module, once for the page. */
export function compile(url: string): Promise<WebAssembly.Module> {
  compiled ??= WebAssembly.compileStreaming(fetch(url)).catch((err: unknown) => {
    compiled = null; // a later try may succeed
    throw err;
  });
  return compiled;
}

/** A worker seen as a reader: requests by number, answers as promises. */
class WorkerReader implements RangeReader {
  private readonly worker: Worker;
  private readonly waiting = new Map<number, { resolve(v: unknown): void; reject(e: unknown): void }>();
  private lastID = 0;
  memory = 0;
  onProgress: (bytes: number, total: number | null) => void = () => undefined;
  onPreview: (json: string) => void = () => undefined;

  constructor(url: string) {
    this.worker = new Worker(url, { type: "module" });
    this.worker.onmessage = (event: MessageEvent<FromWorker>) => this.receive(event.data);
    this.worker.onerror = (event) => {
      event.preventDefault();
      this.fail(new ReadError(asFailure(event.message ?? "the worker could not be loaded")));
    };
    this.worker.onmessageerror = () => this.fail(failure("crash", "a message of the reader was lost"));
  }

  init(module: WebAssembly.Module): Promise<void> {
    return this.ask({ op: "init", module });
  }
  read(source: Source, range: Range, caps: Caps): Promise<RangeResult> {
    return this.ask({ op: "read", source, range, caps });
  }
  extend(end: number): Promise<RangeResult> {
    return this.ask({ op: "extend", end });
  }
  partial(): Promise<ArrayBuffer> {
    return this.ask({ op: "partial" });
  }
  merge(partial: ArrayBuffer): Promise<boolean> {
    return this.ask({ op: "merge", partial }, [partial]);
  }
  columns(): Promise<string> {
    return this.ask({ op: "columns" });
  }
  summary(name: string, bytes: number): Promise<string> {
    return this.ask({ op: "summary", name, bytes });
  }

  close(): void {
    this.worker.terminate();
    this.fail(failure("crash", "the reader was closed"));
  }

  private ask<T>(request: Request, transfer: Transferable[] = []): Promise<T> {
    const id = ++this.lastID;
    return new Promise<T>((resolve, reject) => {
      this.waiting.set(id, { resolve: resolve as (v: unknown) => void, reject });
      const message: ToWorker = { id, request };
      this.worker.postMessage(message, transfer);
    });
  }

  private receive(message: FromWorker): void {
    if ("progress" in message) return this.onProgress(message.progress, message.total);
    if ("preview" in message) return this.onPreview(message.preview);
    const waiting = this.waiting.get(message.id);
    this.waiting.delete(message.id);
    if ("failure" in message) {
      waiting?.reject(new ReadError(message.failure));
      return;
    }
    this.memory = message.memory;
    waiting?.resolve(message.ok);
  }

  private fail(err: ReadError): void {
    for (const { reject } of this.waiting.values()) reject(err);
    this.waiting.clear();
  }
}

/** One trace being read, and its workers, which keep the trace's columns until it is released. */
export class Reading {
  private readers: WorkerReader[] = [];
  private cancelled = false;
  private readonly fed: number[] = [];
  private total: number | null = null;
  private readonly previews = new Map<number, Preview>();

  constructor(
    private readonly assets: Assets,
    private readonly name: string,
    private readonly source: Source,
    private readonly listener: Listener,
    private readonly cores = navigator.hardwareConcurrency || 1,
  ) {}

  /** Reads to the end. Throws ReadError, also when it was cancelled. */
  async run(): Promise<ReadSummary & { columns: Columns }> {
    try {
      const ranges = await this.plan();
      const columns = (await this.readRanges(ranges)) ?? (await this.readRanges([whole])) ?? [];
      const bytes = "blob" in this.source ? this.source.blob.size : (this.fed[0] ?? 0);
      const read = parseSummary(await this.readers[0]!.summary(this.name, bytes));
      return { ...read, columns: addColumns(columns.map((json) => JSON.parse(json) as Columns)) };
    } catch (err) {
      this.release();
      throw err instanceof ReadError ? err : new ReadError(asFailure(err));
    }
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
    const module = await compile(this.assets.wasm);
    this.stopIfCancelled();
    this.release();
    this.previews.clear();
    this.fed.length = 0;
    this.readers = ranges.map((_, k) => this.reader(k));
    await Promise.all(this.readers.map((r) => r.init(module)));
    this.stopIfCancelled();
    const caps: Caps = { columns: Math.floor(columnCap / ranges.length), rows: 0, nextn };
    return readJoined(this.readers, this.source, ranges, caps, (k) => {
      this.previews.delete(k);
      this.fed[k] = 0;
    });
  }

  private async plan(): Promise<Range[]> {
    if ("url" in this.source) return [whole];
    const { blob } = this.source;
    this.total = blob.size;
    let head: Uint8Array;
    try {
      head = new Uint8Array(await blob.slice(0, sniffBytes).arrayBuffer());
    } catch (err) {
      throw failure("read", err instanceof Error ? err.message : String(err), "", 0);
    }
    const found = sniff(head);
    if (found.kind === "empty") throw failure("empty", "the file is empty");
    if (found.kind === "zstd") throw failure("zstd", "the file is compressed with zstd");
    if (found.kind === "single" || blob.size < splitFrom || this.cores < 2) return [whole];
    return split(blob.size, this.cores, found.root);
  }

  private reader(k: number): WorkerReader {
    const r = new WorkerReader(this.assets.worker);
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
    return r;
  }

  private stopIfCancelled(): void {
    if (this.cancelled) throw failure("crash", "cancelled");
  }
}

function addColumns(all: readonly Columns[]): Columns {
  const sum = (key: "kept" | "total") => all.reduce((n, c) => n + c[key], 0);
  return { kept: sum("kept"), total: sum("total"), capped: all.some((c) => c.capped) };
}
