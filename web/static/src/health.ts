/** The health strip and its list of repairs. */

import { byID } from "./dom";
import { integer } from "./format";
import { harmless } from "./names";
import { t } from "./strings";
import type { Health, Summary, Warning } from "./summary";
import { DataTable } from "./table";

/** Warnings that the counts of the health strip say already. */
const counted: ReadonlySet<string> = new Set(["truncated", "skipped", "repaired", "clipped", "unfinished", "unresolved"]);

/** So many of the others are told in the strip; all are in the list below it. */
const toldWarnings = 3;

/** A warning without its explanation, which the list has. */
function brief(message: string): string {
  return message.split(/[:;：]/)[0]!.trim();
}

/** What a warning says in the strip: its text and of how many, where the text does not say of what. */
function told(w: Warning): string {
  if (w.code === "no_gpu") return t.verdict.noGPULaunches(w.count);
  return t.health.warning(brief(t.warning(w.code, w.message)), w.count);
}

/** What the reader met, in words: counts that are not zero, then the first warnings. */
export function healthText(h: Health): string {
  const parts: string[] = [];
  if (h.truncated) {
    parts.push(h.truncated_at === null ? t.health.truncatedNowhere : t.health.truncated(integer(h.truncated_at)));
  }
  for (const key of ["skipped", "repaired", "clipped", "unfinished", "unresolved"] as const) {
    if (h[key] > 0) parts.push(t.health[key](h[key]));
  }
  const rest = h.warnings.filter((w) => !counted.has(w.code));
  for (const w of rest.slice(0, toldWarnings)) parts.push(told(w));
  if (rest.length > toldWarnings) parts.push(t.health.more(rest.length - toldWarnings));
  if (h.slices === 0) parts.unshift(t.health.noSlices(h.events));
  return parts.length === 0 ? t.health.clean(h.events) : parts.join(" · ");
}

export class HealthView {
  private readonly repairs = new DataTable<Warning>("repairs", {
    value: (w, key) => {
      switch (key) {
        case "code":
          return w.code;
        case "message":
          return t.warning(w.code, w.message);
        case "count":
          return w.count;
        default:
          return w.offset;
      }
    },
    id: (w) => w.code,
    text: (w) => `${w.code} ${t.warning(w.code, w.message)}`,
    reason: () => t.health.noOffset,
    samples: (_, key) => (key === "offset" ? t.health.offset : ""),
  });

  reading(): void {
    this.put("reading", "");
    this.repairs.set([], true);
    byID("repairs").hidden = true;
  }

  show(s: Summary, name: string): void {
    const h = s.health;
    this.put(h.verdict, healthText(h));
    byID("health-text").title = (["skipped", "repaired", "clipped", "unfinished", "unresolved"] as const)
      .filter((k) => h[k] > 0)
      .map((k) => `${t.health[k](h[k])}: ${t.health.definition[k]}`)
      .join("\n");
    byID("repairs").hidden = h.warnings.length === 0;
    this.repairs.traceName = name;
    this.repairs.set(h.warnings);
  }

  private put(verdict: string, text: string): void {
    byID("health").dataset["verdict"] = verdict;
    byID("health-verdict").textContent = t.health.verdicts[verdict] ?? verdict;
    byID("health-text").textContent = harmless(text);
  }
}
