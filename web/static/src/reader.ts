/** A reading worker seen from the page: requests by number, answers as promises. */

import type { RangeReader } from "./join";
import { pageLanguage } from "./language";
import {
  asFailure,
  failure,
  ReadError,
  type Caps,
  type FromWorker,
  type Range,
  type RangeResult,
  type Request,
  type Source,
  type ToWorker,
} from "./protocol";

export class WorkerReader implements RangeReader {
  private readonly worker: Worker;
  private readonly waiting = new Map<number, { resolve(v: unknown): void; reject(e: unknown): void }>();
  private lastID = 0;
  /** Why it will answer nothing any more. */
  private ended: ReadError | null = null;
  memory = 0;
  onProgress: (bytes: number, total: number | null) => void = () => undefined;
  onPreview: (json: string) => void = () => undefined;

  constructor(url: string) {
    this.worker = new Worker(url, { type: "module", name: pageLanguage });
    this.worker.onmessage = (event: MessageEvent<FromWorker>) => this.receive(event.data);
    this.worker.onerror = (event) => {
      event.preventDefault();
      this.fail(new ReadError(asFailure(event.message ?? "the worker could not be loaded")));
    };
    this.worker.onmessageerror = () => this.fail(failure("crash", "a message of the reader was lost"));
  }

  /** Whether it can still answer. */
  get alive(): boolean {
    return this.ended === null;
  }

  init(module: WebAssembly.Module): Promise<void> {
    return this.ask({ op: "init", module });
  }
  warm(bytes: number): Promise<void> {
    return this.ask({ op: "warm", bytes });
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
  slices(name: string, gpu: boolean, limit: number): Promise<string> {
    return this.ask({ op: "slices", name, gpu, limit });
  }

  close(): void {
    this.worker.terminate();
    this.fail(failure("crash", "the reader was closed"));
  }

  private ask<T>(request: Request, transfer: Transferable[] = []): Promise<T> {
    // A worker that ended would leave the question open for ever.
    if (this.ended !== null) return Promise.reject(this.ended);
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
    this.ended ??= err;
    for (const { reject } of this.waiting.values()) reject(err);
    this.waiting.clear();
  }
}
