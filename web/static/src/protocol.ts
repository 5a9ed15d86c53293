/** Messages between the page and a reading worker, and the results that ranges are joined by. */

/** What a worker reads from: a dropped file, or an address of our own server, of which parts must be of one version. */
export type Source = { blob: Blob } | { url: string; version?: string };

export interface Caps {
  /** Events whose columns are kept, per worker; 0 is the module's default. */
  columns: number;
  /** Rows (steps, kernels, …) kept; 0 is the module's default. */
  rows: number;
  /** Speculative tokens a decode step may carry, for telling decode from prefill. */
  nextn: number;
}

export interface Range {
  start: number;
  /** Where to stop: the first event boundary at or after it. */
  end: number;
  /** First byte of the file's JSON ('{' or '['); ignored when start is 0. */
  root: number;
}

/** Stands for "to the end of the file" in a Range. */
export const toEnd = 1e300;

export interface RangeResult {
  /** Where the reader really began; -1 when its range has no event boundary. */
  start: number;
  /** -1 when it did not stop but came to the end of the file. */
  stop: number;
  /** Whether it stopped exactly between two events, so that the next range may join. */
  atEvent: boolean;
}

export type Request =
  | { op: "init"; module: WebAssembly.Module }
  | { op: "warm"; bytes: number }
  | { op: "read"; source: Source; range: Range; caps: Caps }
  | { op: "extend"; end: number }
  | { op: "partial" }
  | { op: "columns" }
  | { op: "merge"; partial: ArrayBuffer }
  | { op: "summary"; name: string; bytes: number }
  | { op: "slices"; name: string; gpu: boolean; limit: number };

export type ToWorker = { id: number; request: Request };

/** An error that crossed a thread or came from the module: what happened and what to do. */
export interface Failure {
  message: string;
  hint: string;
  /** Byte offset in the file, where there is one. */
  offset: number | null;
  code: "memory" | "crash" | "read" | "trace" | "zstd" | "fetch" | "changed" | "empty" | "updated" | "offline";
  /** The reader's own code of a "trace" failure, and what stands in the file there. */
  reason?: string;
  near?: string;
}

export type FromWorker =
  | { id: number; ok: unknown; memory: number }
  | { id: number; failure: Failure }
  | { progress: number; total: number | null }
  | { preview: string };

/** The error type of the reading modules. */
export class ReadError extends Error {
  constructor(readonly failure: Failure) {
    super(failure.message);
    this.name = "ReadError";
  }
}

export function failure(code: Failure["code"], message: string, hint = "", offset: number | null = null): ReadError {
  return new ReadError({ code, message, hint, offset });
}

/** The failure of anything thrown. */
export function asFailure(err: unknown): Failure {
  if (err instanceof ReadError) return err.failure;
  const message = err instanceof Error ? err.message : String(err);
  const memory = err instanceof RangeError || /out of memory|allocation failed/i.test(message);
  return { code: memory ? "memory" : "crash", message, hint: "", offset: null };
}
