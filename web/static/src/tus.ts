/** A resumable upload by the tus protocol (1.0, core and creation): pieces, and after a break on from where the server is. */

import { refusal } from "./refusal";
import { t } from "./strings";

/** What the server says when it refuses, or what else ended an upload. */
export class UploadError extends Error {
  constructor(
    message: string,
    readonly hint = "",
  ) {
    super(message);
    this.name = "UploadError";
  }
}

/** What a finished upload has become. */
export interface Stored {
  id: string;
  /** The server had the same bytes already. */
  existing: boolean;
}

export interface UploadEvents {
  progress(sent: number): void;
  /** The connection is lost; the next try follows after ms. */
  waiting(ms: number, why: string): void;
}

/** What an upload needs of its surroundings; tests bring their own. */
export interface UploadEnv {
  fetch(url: string, init: RequestInit): Promise<Response>;
  sleep(ms: number, signal: AbortSignal): Promise<void>;
}

const tusVersion = "1.0.0";
const pieceBytes = 8 << 20;
const firstWaitMs = 1000;
const longestWaitMs = 30_000;
/** Tries in a row without a byte of progress before giving up. */
const mostTries = 12;

export class Upload {
  private location: string | null = null;
  private offset = 0;
  private abort = new AbortController();

  constructor(
    private readonly blob: Blob,
    private readonly endpoint: string,
    private readonly metadata: Record<string, string>,
    private readonly events: UploadEvents,
    private readonly env: UploadEnv = browserEnv,
  ) {}

  /**
   * Sends what is missing and returns the stored trace. Throws UploadError when the server refuses
   * for good, and an AbortError after stop(); run may then be called again and goes on.
   */
  async run(): Promise<Stored> {
    this.abort = new AbortController();
    let resync = this.location !== null;
    for (let tries = 0; ; ) {
      try {
        if (this.location === null) await this.create();
        if (resync) {
          const done = await this.ask();
          if (done !== null) return done;
          resync = false;
        }
        const before = this.offset;
        const done = await this.send();
        if (this.offset > before) tries = 0;
        if (done !== null) return done;
      } catch (err) {
        if (this.abort.signal.aborted || err instanceof UploadError) throw err;
        if (++tries >= mostTries) throw new UploadError(why(err));
        const wait = Math.min(longestWaitMs, firstWaitMs * 2 ** (tries - 1));
        this.events.waiting(wait, why(err));
        await this.env.sleep(wait, this.abort.signal);
        resync = this.location !== null;
      }
    }
  }

  /** Stops sending; what the server has stays there for run to go on. */
  stop(): void {
    this.abort.abort();
  }

  /** Stops and has the server forget what it got. */
  async cancel(): Promise<void> {
    this.stop();
    if (this.location === null) return;
    try {
      await this.env.fetch(this.location, { method: "DELETE", headers: { "Tus-Resumable": tusVersion } });
    } catch {
      // The server drops unfinished uploads by itself after a while.
    }
  }

  get sent(): number {
    return this.offset;
  }

  private async create(): Promise<void> {
    const response = await this.call("POST", this.endpoint, {
      "Upload-Length": String(this.blob.size),
      "Upload-Metadata": encodeMetadata(this.metadata),
    });
    const location = response.headers.get("Location");
    if (location === null) throw new UploadError(t.keep.noAddress);
    this.location = location;
  }

  /** Where the server is. The trace when all is there: the answer to the last piece was lost then. */
  private async ask(): Promise<Stored | null> {
    const response = await this.call("HEAD", this.location!, {});
    const offset = Number(response.headers.get("Upload-Offset") ?? NaN);
    if (!(offset >= 0 && offset <= this.blob.size)) throw new UploadError(t.keep.lostTrack);
    this.offset = offset;
    this.events.progress(offset);
    return stored(response);
  }

  private async send(): Promise<Stored | null> {
    const piece = this.blob.slice(this.offset, this.offset + pieceBytes);
    const headers = { "Upload-Offset": String(this.offset), "Content-Type": "application/offset+octet-stream" };
    const response = await this.call("PATCH", this.location!, headers, piece);
    this.offset = Number(response.headers.get("Upload-Offset") ?? this.offset + piece.size);
    this.events.progress(this.offset);
    const done = stored(response);
    if (done === null && this.offset >= this.blob.size) {
      throw new UploadError(t.keep.noTrace);
    }
    return done;
  }

  /** One request. A refusal is an UploadError; what may pass (no connection, 5xx, an offset gone astray) any other error. */
  private async call(method: string, url: string, headers: Record<string, string>, body?: Blob): Promise<Response> {
    const init: RequestInit = {
      method,
      headers: { "Tus-Resumable": tusVersion, ...headers },
      signal: this.abort.signal,
      mode: "same-origin",
      credentials: "same-origin",
    };
    if (body !== undefined) init.body = body;
    const response = await this.env.fetch(url, init);
    if (response.ok) return response;
    const said = await refused(response);
    const passing = response.status >= 500 && response.status !== 507;
    if (passing || response.status === 409 || response.status === 423 || response.status === 429) throw new Error(said.message);
    throw said;
  }
}

/** A connection that fails is told by the browser in its own words, in English and without a reason. */
function why(err: unknown): string {
  if (err instanceof TypeError) return t.keep.unreachable;
  return err instanceof Error ? err.message : String(err);
}

function stored(response: Response): Stored | null {
  const id = response.headers.get("X-Trace-Id");
  return id === null ? null : { id, existing: response.headers.get("X-Trace-Existing") === "true" };
}

/** The server's refusal as an error. */
export async function refused(response: Response): Promise<UploadError> {
  const { message, hint } = await refusal(response);
  return new UploadError(message, hint);
}

/** Upload-Metadata: keys with their values' UTF-8 in base64; empty values are left out. */
export function encodeMetadata(values: Record<string, string>): string {
  return Object.entries(values)
    .filter(([, v]) => v !== "")
    .map(([k, v]) => `${k} ${btoa(Array.from(new TextEncoder().encode(v), (b) => String.fromCharCode(b)).join(""))}`)
    .join(",");
}

const browserEnv: UploadEnv = {
  fetch: (url, init) => fetch(url, init),
  sleep: (ms, signal) =>
    new Promise((resolve, reject) => {
      const stop = () => {
        clearTimeout(timer);
        reject(new DOMException("stopped", "AbortError"));
      };
      const timer = setTimeout(() => {
        signal.removeEventListener("abort", stop);
        resolve();
      }, ms);
      signal.addEventListener("abort", stop, { once: true });
    }),
};
