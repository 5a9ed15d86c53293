/** Byte sources: a file's slice or a fetched body, as chunks in buffers that are used again. */

import { failure } from "./protocol";
import { refusal } from "./refusal";

/** Large enough that reading costs little per byte, small enough that two of them stay in the cache's reach. */
const chunkBytes = 4 << 20;

/** After this long without a chunk a file's stream is opened anew where it stood. */
const stallMs = 4000;

export interface ByteSource {
  /** The next bytes, or null at the end. The chunk is valid until it is released. */
  next(): Promise<Uint8Array | null>;
  /** Gives the chunk's buffer back for a further read. */
  release(chunk: Uint8Array): void;
  close(): void;
}

/*
 * Chromium stalls a stream whose reader is not reachable from a root (seen in 7 of 40 reads of half a
 * gigabyte; never with readers held like this).
 */
const held = new Set<unknown>();
(globalThis as Record<string, unknown>)["stepscopeReaders"] = held;

type Result = ReadableStreamReadResult<Uint8Array>;

/** Reads a stream with two reads in flight where the browser lets us bring the buffers (BYOB). */
class StreamReads {
  private readonly byob: ReadableStreamBYOBReader | null = null;
  private readonly plain: ReadableStreamDefaultReader<Uint8Array> | null = null;
  private readonly pending: Promise<Result>[] = [];

  constructor(stream: ReadableStream<Uint8Array>) {
    try {
      this.byob = stream.getReader({ mode: "byob" });
    } catch {
      this.plain = stream.getReader();
    }
    held.add(this.byob ?? this.plain);
    this.request(new ArrayBuffer(chunkBytes));
    this.request(new ArrayBuffer(chunkBytes));
  }

  first(): Promise<Result> {
    if (this.pending.length === 0) this.request(new ArrayBuffer(chunkBytes));
    return this.pending[0]!;
  }

  took(): void {
    this.pending.shift();
  }

  request(buffer: ArrayBuffer): void {
    const read = this.byob
      ? (this.byob.read(new Uint8Array(buffer)) as Promise<Result>)
      : this.plain!.read();
    read.catch(() => undefined); // whoever awaits it sees the error; a read dropped by close() must not be reported
    this.pending.push(read);
  }

  close(): void {
    const reader = this.byob ?? this.plain!;
    held.delete(reader);
    reader.cancel().catch(() => undefined);
  }
}

/** A file from an offset to its end. A stalled stream is opened again where it stood. */
export class BlobSource implements ByteSource {
  private reads: StreamReads;

  constructor(
    private readonly blob: Blob,
    private at: number,
    private readonly stallAfter = stallMs,
  ) {
    this.reads = this.openReads();
  }

  async next(): Promise<Uint8Array | null> {
    for (let stalls = 0; ; ) {
      if (this.at >= this.blob.size) return null;
      const result = await this.firstOrStall();
      if (result === "stalled") {
        if (++stalls > 5) {
          throw failure("read", "the browser stopped delivering the file", "", this.at);
        }
        this.reads.close();
        this.reads = this.openReads();
        continue;
      }
      this.reads.took();
      if (result.done) {
        throw failure("read", "the file ended early", "", this.at);
      }
      if (result.value.byteLength === 0) continue;
      this.at += result.value.byteLength;
      return result.value;
    }
  }

  release(chunk: Uint8Array): void {
    if (this.at < this.blob.size) this.reads.request(chunk.buffer as ArrayBuffer);
  }

  close(): void {
    this.reads.close();
  }

  private openReads(): StreamReads {
    return new StreamReads(this.blob.slice(this.at).stream() as ReadableStream<Uint8Array>);
  }

  private async firstOrStall(): Promise<Result | "stalled"> {
    let timer: ReturnType<typeof setTimeout> | undefined;
    const stall = new Promise<"stalled">((resolve) => {
      timer = setTimeout(() => resolve("stalled"), this.stallAfter);
    });
    try {
      return await Promise.race([this.reads.first(), stall]);
    } catch (err) {
      throw failure("read", err instanceof Error ? err.message : String(err), "", this.at);
    } finally {
      clearTimeout(timer);
    }
  }
}

/** The body of a response of our own server. A connection cannot be opened anew at an offset: it fails. */
export class FetchSource implements ByteSource {
  private readonly reads: StreamReads;

  private constructor(
    body: ReadableStream<Uint8Array>,
    private readonly controller: AbortController,
    /** Bytes of the whole, where the server says. */
    readonly total: number | null,
    private at: number,
  ) {
    this.reads = new StreamReads(body);
  }

  /** Opens the body from start on. With a version (an entity tag) any other one is refused. */
  static async open(url: string, start = 0, version?: string): Promise<FetchSource> {
    const controller = new AbortController();
    const headers: Record<string, string> = start > 0 ? { Range: `bytes=${start}-` } : {};
    if (start > 0 && version !== undefined) headers["If-Range"] = version;
    let response: Response;
    try {
      response = await fetch(url, { signal: controller.signal, mode: "same-origin", credentials: "same-origin", headers });
    } catch (err) {
      throw failure("fetch", err instanceof Error ? err.message : String(err));
    }
    if (!response.ok || response.body === null) {
      const said = await refusal(response);
      throw failure("fetch", said.message, said.hint);
    }
    const other = version !== undefined && response.headers.get("ETag") !== version;
    if (other || (start > 0 && response.status !== 206)) {
      controller.abort();
      throw failure("changed", "", "", start);
    }
    const length = response.headers.get("Content-Length");
    // With a Content-Encoding the length is that of the encoded bytes, which we never see.
    const total = length === null || response.headers.has("Content-Encoding") ? null : Number(length);
    return new FetchSource(response.body, controller, start > 0 ? null : total, start);
  }

  async next(): Promise<Uint8Array | null> {
    for (;;) {
      let result: Result;
      try {
        result = await this.reads.first();
      } catch (err) {
        throw failure("fetch", err instanceof Error ? err.message : String(err), "", this.at);
      }
      this.reads.took();
      if (result.done) return null;
      if (result.value.byteLength === 0) continue;
      this.at += result.value.byteLength;
      return result.value;
    }
  }

  release(chunk: Uint8Array): void {
    this.reads.request(chunk.buffer as ArrayBuffer);
  }

  close(): void {
    this.reads.close();
    this.controller.abort();
  }
}

/** The first bytes of an address, its size and entity tag; null where the server does not serve parts of one version. */
export async function firstPart(url: string, bytes: number): Promise<{ size: number; version: string; head: Uint8Array } | null> {
  const controller = new AbortController();
  try {
    const response = await fetch(url, {
      signal: controller.signal,
      mode: "same-origin",
      credentials: "same-origin",
      headers: { Range: `bytes=0-${bytes - 1}` },
    });
    const size = /^bytes 0-\d+\/(\d+)$/.exec(response.headers.get("Content-Range") ?? "")?.[1];
    const version = response.headers.get("ETag");
    if (response.status !== 206 || size === undefined || version === null || !version.startsWith('"')) {
      controller.abort();
      return null;
    }
    return { size: Number(size), version, head: new Uint8Array(await response.arrayBuffer()) };
  } catch {
    return null; // reading it will fail too, and say why
  }
}
