/** Readers started ahead, so that the first file does not wait for what every file needs. */

import { failure, type ReadError } from "./protocol";
import { WorkerReader } from "./reader";

/** Where the built parts are. */
export interface Assets {
  worker: string;
  wasm: string;
}

/**
 * JSON that the reader's code is run in with before the first file, once plain and once packed: about a second
 * of one core. First read of a 48 MB trace after the browser's start, two busy cores, median of 5: 562 ms
 * without; 439 with started readers alone; run in with 4 MB 404, with 8 MB 304, with 12 MB no better. A
 * packed one of 98 MB: 892 without, 541 with 8 MB.
 */
const warmBytes = 8 << 20;

export class Standby {
  private compiled: Promise<WebAssembly.Module> | null = null;
  private ready: { reader: WorkerReader; started: Promise<void> }[] = [];
  private warming: WorkerReader | null = null;
  private taken = false;

  constructor(private readonly assets: Assets) {}

  /** Fetches and compiles the module, once for the page. */
  compile(): Promise<WebAssembly.Module> {
    this.compiled ??= WebAssembly.compileStreaming(fetch(this.assets.wasm)).catch((err: unknown) => {
      this.compiled = null; // a later try may succeed
      throw err;
    });
    return this.compiled;
  }

  /** Starts count readers and runs the code in, unless a file comes first. */
  async prepare(count: number): Promise<void> {
    const module = await this.compile();
    if (this.taken) return;
    const warming = new WorkerReader(this.assets.worker);
    this.warming = warming;
    try {
      await warming.init(module);
      await warming.warm(warmBytes);
    } finally {
      warming.close();
      this.warming = null;
    }
    if (this.taken) return;
    for (let k = 0; k < count; k++) {
      const one = this.start(module);
      this.ready.push(one);
      one.started.catch(() => undefined); // reported to whoever takes it; one that failed is passed over
    }
  }

  /** So many started readers. Running in ends: the file does that now. */
  async take(count: number): Promise<WorkerReader[]> {
    this.taken = true;
    this.warming?.close();
    try {
      return await this.started(count);
    } catch (err) {
      const lack = await missing([this.assets.wasm, this.assets.worker]);
      throw lack ?? err;
    }
  }

  private async started(count: number): Promise<WorkerReader[]> {
    const module = await this.compile();
    const mine = this.ready.filter(({ reader }) => reader.alive).slice(0, count);
    this.ready = this.ready.filter((one) => !mine.includes(one));
    while (mine.length < count) mine.push(this.start(module));
    try {
      await Promise.all(mine.map((m) => m.started));
    } catch (err) {
      for (const { reader } of mine) reader.close();
      throw err;
    }
    return mine.map((m) => m.reader);
  }

  private start(module: WebAssembly.Module): { reader: WorkerReader; started: Promise<void> } {
    const reader = new WorkerReader(this.assets.worker);
    return { reader, started: reader.init(module) };
  }
}

/**
 * Why the page's own parts cannot be had, if that is so. Their addresses hold their contents' hash: after an
 * update of the server a page that was open before asks for parts that are no longer there.
 */
async function missing(urls: readonly string[]): Promise<ReadError | null> {
  try {
    for (const url of urls) {
      const response = await fetch(url, { method: "HEAD", mode: "same-origin" });
      if (response.status === 404) return failure("updated", url);
    }
    return null;
  } catch (err) {
    return failure("offline", err instanceof Error ? err.message : String(err));
  }
}

/** Calls f when the loaded page has nothing else to do; not in a hidden tab, nor where data is to be saved. */
export function whenIdle(f: () => void): void {
  const { connection } = navigator as { connection?: { saveData?: boolean } };
  if (connection?.saveData === true) return;
  const idle = () => {
    if (document.visibilityState === "hidden") {
      document.addEventListener("visibilitychange", idle, { once: true });
      return;
    }
    // Safari has no requestIdleCallback.
    if (typeof requestIdleCallback === "function") requestIdleCallback(f, { timeout: 2000 });
    else setTimeout(f, 200);
  };
  if (document.readyState === "complete") idle();
  else addEventListener("load", idle, { once: true });
}
