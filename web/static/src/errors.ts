/** Errors in place: what happened, where, and what to do. */

import { byID, role } from "./dom";
import { bytes, integer } from "./format";
import { harmless } from "./names";
import type { Failure } from "./protocol";
import { t } from "./strings";

export interface Shown {
  title: string;
  detail: string;
  hint: string;
}

/** A reading failure in the page's words; the reader's own are kept as the detail. */
export function explain(f: Failure, name: string, readBytes: number): Shown {
  const at = f.offset === null ? "" : t.error.at(integer(f.offset));
  const title = t.error.title(name);
  const own = [f.message, at].filter((s) => s !== "").join(", ");
  switch (f.code) {
    case "memory":
      return { title, detail: t.error.memory(readBytes > 0 ? t.error.after(bytes(readBytes)) : ""), hint: t.error.memoryHint };
    case "zstd":
      return { title, detail: t.error.zstd, hint: t.error.zstdHint };
    case "read":
      return { title, detail: `${t.error.read} (${own})`, hint: t.error.readHint };
    case "fetch":
      return { title, detail: `${t.error.fetch} (${own})`, hint: f.hint === "" ? t.error.fetchHint : f.hint };
    case "changed":
      return { title, detail: [t.error.changed, at].filter((x) => x !== "").join(t.verdict.and), hint: t.error.readHint };
    case "updated":
      return { title, detail: t.error.updated, hint: t.error.updatedHint };
    case "offline":
      return { title, detail: `${t.error.offline} (${own})`, hint: t.error.offlineHint };
    case "empty":
      return { title, detail: t.error.empty, hint: t.error.emptyHint };
    case "trace": {
      const said = t.error.reader(f.reason ?? "", f.near ?? "");
      if (said !== null) return { title, detail: [said[0], at].filter((x) => x !== "").join(t.verdict.and), hint: said[1] };
      return { title, detail: own, hint: f.hint === "" ? t.error.traceHint : f.hint };
    }
    default:
      return { title, detail: `${t.error.crash} (${own})`, hint: t.error.crashHint };
  }
}

/** The reader's messages are parts of sentences; here they stand alone. An address or a name stays as it is. */
export function sentence(text: string): string {
  if (/^[\u4e00-\u9fff]/.test(text)) return /[。！？）…]$/.test(text) ? text : `${text}。`;
  if (!/^[A-Za-z]+ /.test(text)) return text;
  const first = text.charAt(0).toUpperCase() + text.slice(1);
  return /[.!?…)]$/.test(first) ? first : `${first}.`;
}

/** Shows or (null) hides the error box. */
export function showError(what: Shown | null): void {
  const box = byID("error-box");
  box.hidden = what === null;
  role(box, "title").textContent = harmless(what?.title ?? "");
  role(box, "detail").textContent = harmless(sentence(what?.detail ?? ""));
  role(box, "hint").textContent = harmless(sentence(what?.hint ?? ""));
}
