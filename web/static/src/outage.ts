/** Says that the server is away, and since when: what the page shows is of then. */

import { t } from "./fleetstrings";
import type { LiveEvents } from "./live";

/** When the connection was lost first; each try that fails after that is the same outage. */
export class Outage {
  private since: number | null = null;

  /** Another try failed, now being ms since 1970. Returns when the outage began. */
  lost(now: number): number {
    return (this.since ??= now);
  }

  /** The connection stands again. */
  over(): void {
    this.since = null;
  }
}

/** What the page tells of a lost connection, in UTC as all times on the pages. */
export function lostText(since: number): string {
  return t.lost(new Date(since).toISOString().slice(11, 19));
}

/** The two ends of the live connection, told in a line; open is called besides. */
export function tellOutage(line: HTMLElement, open: () => void): Required<Pick<LiveEvents, "open" | "lost">> {
  const outage = new Outage();
  return {
    open: () => {
      outage.over();
      line.textContent = "";
      line.hidden = true;
      open();
    },
    lost: () => {
      const text = lostText(outage.lost(Date.now()));
      if (line.textContent !== text) line.textContent = text; // read out once, not with each try
      line.hidden = false;
    },
  };
}

/** A line for that above a part that follows the server. */
export function outageLine(root: HTMLElement): HTMLElement {
  const line = document.createElement("p");
  line.className = "banner outage";
  line.setAttribute("role", "status");
  line.hidden = true;
  root.before(line);
  return line;
}

/** Whether the server answers, asked before a form leaves the page: the browser's own error page would lose what is in it. */
export async function reachable(ask: typeof fetch = fetch, patience = 5000): Promise<boolean> {
  try {
    // Any answer will do: what is wrong with the form is the server's to say.
    await ask("/healthz", { method: "HEAD", mode: "same-origin", cache: "no-store", signal: AbortSignal.timeout(patience) });
    return true;
  } catch {
    return false;
  }
}
