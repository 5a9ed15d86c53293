/** One instance of the reader's WebAssembly module, and its memory, as typed calls. */

import "wasm_exec";
import { failure, type Failure, ReadError, type Caps, type Range, type RangeResult } from "./protocol";

interface Exports {
  mem: WebAssembly.Memory;
  ss_open(start: number, end: number, root: number, columnCap: number, rowCap: number, nextn: number): void;
  ss_space(n: number): number;
  ss_commit(n: number): number;
  ss_eof(): number;
  ss_start(): number;
  ss_stop(): number;
  ss_at_event(): number;
  ss_extend(end: number): void;
  ss_consumed(): number;
  ss_preview(): number;
  ss_out(): number;
  ss_partial(): number;
  ss_merge_space(n: number): number;
  ss_merge(n: number): number;
  ss_summary(nameLen: number, fileBytes: number): number;
  ss_slices(nameLength: number, gpu: number, limit: number): number;
  ss_columns(): number;
  ss_error(): number;
}

/** The module's answers to bytes: it wants more, its range is complete, or it failed. */
export const enum Status {
  More = 0,
  Done = 1,
  Failed = 2,
}

const enum Merged {
  Whole = 0,
  Failed = 2,
}

export class TraceModule {
  private lastWords = "";
  private exited = false;

  private constructor(private readonly ss: Exports) {}

  /** Instantiates the compiled module and runs its main up to where it blocks. */
  static async start(module: WebAssembly.Module): Promise<TraceModule> {
    const go = new Go();
    const instance = await WebAssembly.instantiate(module, go.importObject);
    const self = new TraceModule(instance.exports as unknown as Exports);
    go.exit = () => {
      self.exited = true;
    };
    self.listen();
    void go.run(instance);
    return self;
  }

  open(range: Range, caps: Caps): void {
    this.call(() => this.ss.ss_open(range.start, range.end, range.root, caps.columns, caps.rows, caps.nextn));
  }

  extend(end: number): void {
    this.call(() => this.ss.ss_extend(end));
  }

  /** Absolute offset of the next byte the reader wants. */
  consumed(): number {
    return this.call(() => this.ss.ss_consumed());
  }

  /**
   * Hands a chunk over: copies it into the module's memory, calls copied (the chunk's buffer is free
   * again: reading the next one overlaps with parsing this one), and parses it.
   */
  feed(chunk: Uint8Array, copied: () => void): Status {
    const n = chunk.byteLength;
    const at = this.call(() => this.ss.ss_space(n));
    // The memory may have grown in any call, which detaches older views of it.
    new Uint8Array(this.ss.mem.buffer, at >>> 0, n).set(chunk);
    copied();
    return this.call(() => this.ss.ss_commit(n));
  }

  eof(): Status {
    return this.call(() => this.ss.ss_eof());
  }

  result(): RangeResult {
    return this.call(() => ({
      start: this.ss.ss_start(),
      stop: this.ss.ss_stop(),
      atEvent: this.ss.ss_at_event() === 1,
    }));
  }

  preview(): string {
    return this.text(this.call(() => this.ss.ss_preview()));
  }

  /** This reader's aggregates, for ss_merge of the first range's reader. */
  partial(): ArrayBuffer {
    const n = this.call(() => this.ss.ss_partial());
    if (n < 0) throw this.error();
    const at = this.ss.ss_out() >>> 0;
    return this.ss.mem.buffer.slice(at, at + n) as ArrayBuffer;
  }

  /** Appends the partial of the next range. False: a table ran full, and only one reader's cap is exact. */
  merge(partial: ArrayBuffer): boolean {
    const n = partial.byteLength;
    const at = this.call(() => this.ss.ss_merge_space(n));
    new Uint8Array(this.ss.mem.buffer, at >>> 0, n).set(new Uint8Array(partial));
    const answer = this.call(() => this.ss.ss_merge(n));
    if (answer === Merged.Failed) throw this.error();
    return answer === Merged.Whole;
  }

  /** The summary JSON of everything read and merged. */
  summary(name: string, fileBytes: number): string {
    const length = this.give(name);
    const n = this.call(() => this.ss.ss_summary(length, fileBytes));
    if (n < 0) throw this.error();
    return this.text(n);
  }

  /** The longest slices of a name, as JSON. */
  slices(name: string, gpu: boolean, limit: number): string {
    const length = this.give(name);
    return this.text(this.call(() => this.ss.ss_slices(length, gpu ? 1 : 0, limit)));
  }

  /** Writes a text where the next call looks for it and returns its length in bytes. */
  private give(text: string): number {
    const utf8 = new TextEncoder().encode(text);
    const at = this.call(() => this.ss.ss_space(utf8.byteLength));
    new Uint8Array(this.ss.mem.buffer, at >>> 0, utf8.byteLength).set(utf8);
    return utf8.byteLength;
  }

  columns(): string {
    return this.text(this.call(() => this.ss.ss_columns()));
  }

  /** What the module says went wrong. */
  error(): ReadError {
    const said = JSON.parse(this.text(this.call(() => this.ss.ss_error()))) as {
      code: string;
      error: string;
      hint: string;
      near: string;
      offset: number | null;
    };
    const code: Failure["code"] = said.code === "zstd" || said.code === "empty" ? said.code : "trace";
    return new ReadError({ code, message: said.error, hint: said.hint, offset: said.offset, reason: said.code, near: said.near });
  }

  /** Bytes of linear memory in use. */
  get memory(): number {
    return this.ss.mem.buffer.byteLength;
  }

  private text(n: number): string {
    return new TextDecoder().decode(new Uint8Array(this.ss.mem.buffer, this.ss.ss_out() >>> 0, n));
  }

  /** Calls into the module; a Go program that ended (it does when memory is short) is reported as such. */
  private call<T>(f: () => T): T {
    if (this.exited) throw this.ended();
    try {
      const value = f();
      if (this.exited) throw this.ended();
      return value;
    } catch (err) {
      if (err instanceof ReadError) throw err;
      if (this.exited || err instanceof WebAssembly.RuntimeError) throw this.ended();
      throw err;
    }
  }

  private ended(): ReadError {
    this.exited = true;
    const memory = /out of memory|cannot allocate/i.test(this.lastWords);
    const first = this.lastWords.split("\n").find((line) => /fatal|panic|error/i.test(line));
    return failure(memory ? "memory" : "crash", first ?? "the reader stopped");
  }

  /** Keeps what the Go runtime prints before it dies, which tells a lack of memory from a bug. */
  private listen(): void {
    const fs = (globalThis as unknown as { fs: { writeSync(fd: number, buf: Uint8Array): number } }).fs;
    const decoder = new TextDecoder();
    fs.writeSync = (_fd, buf) => {
      if (this.lastWords.length < 16_384) this.lastWords += decoder.decode(buf);
      return buf.length;
    };
  }
}
