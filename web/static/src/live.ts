/** The server's live events: reconnects by itself with growing pauses, and rests while nobody looks. */

export interface LiveEvents {
  /** Samples came for these deployments; null: for any of them. */
  samples?: (deployments: readonly string[] | null) => void;
  capture?: (id: number, state: string) => void;
  collector?: (name: string) => void;
  /** The stream stands (again): what was missed meanwhile is to be asked for. */
  open?: () => void;
  /** The stream broke; it is tried again. */
  lost?: () => void;
}

const firstPause = 1000;
const longestPause = 30_000;

/** The pause before attempt n (from 0), in ms: doubling to half a minute, spread so that not all come at once. random: 0 to 1. */
export function pause(n: number, random: number): number {
  return Math.min(longestPause, firstPause * 2 ** Math.min(n, 10)) * (0.5 + random / 2);
}

/** How often a page asks although nothing came, in ms. */
export const silenceEvery = 15_000;

/** Follows the server's events until the page goes away. */
export function follow(events: LiveEvents, url = "/api/live"): void {
  let source: EventSource | null = null;
  let failures = 0;
  let timer = 0;

  const close = () => {
    source?.close();
    source = null;
    clearTimeout(timer);
  };
  const open = () => {
    close();
    if (document.hidden) return;
    const mine = new EventSource(url);
    source = mine;
    mine.addEventListener("open", () => {
      failures = 0;
      events.open?.();
    });
    mine.addEventListener("error", () => {
      close();
      events.lost?.();
      timer = window.setTimeout(open, pause(failures++, Math.random()));
    });
    on(mine, "samples", (data) => events.samples?.(names(data["deployments"])));
    on(mine, "capture", (data) => events.capture?.(Number(data["id"]), String(data["state"])));
    on(mine, "collector", (data) => events.collector?.(String(data["name"])));
  };
  document.addEventListener("visibilitychange", () => {
    if (document.hidden) close();
    else if (source === null) open();
  });
  // A page in the browser's back-forward memory holds no connection.
  addEventListener("pagehide", close);
  addEventListener("pageshow", () => {
    if (source === null) open();
  });
  open();
}

function names(value: unknown): string[] | null {
  return Array.isArray(value) ? value.map(String) : null;
}

function on(source: EventSource, kind: string, then: (data: Record<string, unknown>) => void): void {
  source.addEventListener(kind, (event) => {
    let data: unknown;
    try {
      data = JSON.parse((event as MessageEvent<string>).data);
    } catch {
      return; // half an event of a stream that broke: the next one says it all
    }
    if (typeof data === "object" && data !== null) then(data as Record<string, unknown>);
  });
}

/**
 * Calls work soon after each poke, one call at a time and no more often than every ms; pokes during a call lead to
 * one more.
 */
export class Throttle {
  private busy = false;
  private wanted = false;
  private last = -Infinity;

  constructor(
    private readonly work: () => Promise<void>,
    private readonly every: () => number,
    private readonly clock: { now(): number; wait(ms: number): Promise<void> } = {
      now: () => performance.now(),
      wait: (ms) => new Promise((done) => setTimeout(done, ms)),
    },
  ) {}

  poke(): void {
    this.wanted = true;
    if (!this.busy) void this.run();
  }

  private async run(): Promise<void> {
    this.busy = true;
    while (this.wanted) {
      const rest = this.last + this.every() - this.clock.now();
      if (rest > 0) await this.clock.wait(rest);
      this.wanted = false;
      this.last = this.clock.now();
      try {
        await this.work();
      } catch {
        // The server is away; its return is told by the stream.
      }
    }
    this.busy = false;
  }
}
