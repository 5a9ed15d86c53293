/** The form that keeps a trace on the server: sends the file's own bytes, pauses, resumes, cancels. */

import { byID, role } from "./dom";
import { sentence } from "./errors";
import { bytes, duration } from "./format";
import { changeMeta, differing, fields, keptMeta, type Meta } from "./kept";
import { Rate } from "./rate";
import { t } from "./strings";
import { Upload, UploadError, type Stored } from "./tus";

/** What the block can show for a trace. */
export type Keepable =
  | { kind: "file"; file: File }
  | { kind: "kept" } // it came from the server's own store
  | { kind: "none" };

interface Endpoints {
  traces: string;
  uploads: string;
}

/** One attempt at keeping one file; it goes on while other tabs are shown. */
interface Attempt {
  upload: Upload;
  rate: Rate;
  text: string;
  share: number;
  paused: boolean;
  running: boolean;
  stored: Stored | null;
  typed: Meta;
  /** What the server had for the same bytes, and what of the typed is otherwise. */
  before: { kept: Meta; change: Partial<Meta> } | null;
  applied: boolean;
  error: string | null;
}

export class KeepView {
  private readonly block = byID("keep");
  private readonly form = byID<HTMLFormElement>("keep-form");
  private readonly progress = byID("keep-progress");
  private readonly pause = this.progress.querySelector<HTMLButtonElement>("[data-action=keep-pause]")!;
  private readonly differs = byID("keep-differs");
  private readonly attempts = new Map<File, Attempt>();
  private shown: Keepable = { kind: "none" };

  constructor(private readonly api: Endpoints) {
    this.form.addEventListener("submit", (event) => {
      event.preventDefault();
      if (this.shown.kind === "file") void this.start(this.shown.file);
    });
    this.pause.addEventListener("click", () => this.togglePause());
    this.progress.querySelector("[data-action=keep-cancel]")?.addEventListener("click", () => this.cancel());
    this.differs.querySelector("button")!.addEventListener("click", () => void this.apply());
    addEventListener("beforeunload", (event) => {
      // The browser asks before a half-sent trace is lost; it has no other way to.
      if ([...this.attempts.values()].some((a) => a.running)) event.preventDefault();
    });
  }

  show(what: Keepable): void {
    this.shown = what;
    if (what.kind === "file" && !this.attempts.has(what.file)) {
      this.form.reset();
      this.field("name").value = what.file.name;
    }
    this.render();
  }

  private field(name: string): HTMLInputElement {
    return this.form.elements.namedItem(name) as HTMLInputElement;
  }

  private get attempt(): Attempt | null {
    return this.shown.kind === "file" ? (this.attempts.get(this.shown.file) ?? null) : null;
  }

  private async start(file: File): Promise<void> {
    const typed = { name: this.field("name").value || file.name, label: this.field("label").value, note: this.field("note").value };
    const metadata = { filename: typed.name, label: typed.label, note: typed.note };
    const attempt: Attempt = {
      upload: new Upload(file, this.api.uploads, metadata, {
        progress: (sent) => this.progressed(attempt, sent, file.size),
        waiting: (ms, why) => {
          attempt.text = t.keep.waiting(Math.round(ms / 1000), why);
          this.render();
        },
      }),
      rate: new Rate(),
      text: t.progress.starting(bytes(file.size)),
      share: 0,
      paused: false,
      running: true,
      stored: null,
      typed,
      before: null,
      applied: false,
      error: null,
    };
    this.attempts.set(file, attempt);
    await this.run(file, attempt);
  }

  private async run(file: File, attempt: Attempt): Promise<void> {
    attempt.running = true;
    attempt.rate.add(attempt.upload.sent, performance.now());
    this.render();
    try {
      const stored = await attempt.upload.run();
      if (stored.existing) {
        const kept = await keptMeta(this.address(stored));
        if (kept !== null) attempt.before = { kept, change: differing(kept, attempt.typed) };
      }
      attempt.stored = stored;
    } catch (err) {
      if (attempt.paused) return;
      if (!this.attempts.has(file)) return;
      attempt.error = saying(err, t.keep.failed);
    } finally {
      attempt.running = false;
      this.render();
    }
  }

  private address(stored: Stored): string {
    return `${this.api.traces}/${stored.id}`;
  }

  /** Gives the trace that was kept before what was typed now. */
  private async apply(): Promise<void> {
    const { attempt } = this;
    if (attempt === null || attempt.stored === null || attempt.before === null) return;
    attempt.error = null;
    try {
      await changeMeta(this.address(attempt.stored), attempt.before.change);
      attempt.applied = true;
    } catch (err) {
      attempt.error = saying(err, (why) => why);
    }
    this.render();
  }

  private progressed(attempt: Attempt, sent: number, total: number): void {
    attempt.rate.add(sent, performance.now());
    attempt.share = total === 0 ? 1 : sent / total;
    const rate = attempt.rate.perSecond();
    const left = attempt.rate.secondsLeft(total);
    if (sent + (8 << 20) >= total) attempt.text = t.keep.checking;
    else if (rate !== null && left !== null) {
      attempt.text = t.keep.progress(bytes(sent), bytes(total), bytes(rate), duration(left));
    }
    this.render();
  }

  private togglePause(): void {
    const { attempt } = this;
    if (attempt === null || this.shown.kind !== "file") return;
    attempt.paused = !attempt.paused;
    if (attempt.paused) {
      attempt.upload.stop();
      this.render();
      return;
    }
    void this.run(this.shown.file, attempt);
  }

  private cancel(): void {
    if (this.shown.kind !== "file" || this.attempt === null) return;
    void this.attempt.upload.cancel();
    this.attempts.delete(this.shown.file);
    this.render();
    const error = byID("keep-error");
    error.textContent = t.keep.cancelled;
    error.hidden = false;
  }

  /** What is said beside the bar. An answer under way when one pauses must not look like going on. */
  private saysOf(attempt: Attempt): string {
    if (!attempt.paused || this.shown.kind !== "file") return attempt.text;
    return t.keep.paused(bytes(attempt.upload.sent), bytes(this.shown.file.size));
  }

  private render(): void {
    const { attempt } = this;
    const open = attempt !== null && attempt.stored === null && attempt.error === null;
    this.block.hidden = this.shown.kind === "none";
    byID("keep-url").hidden = this.shown.kind !== "kept";
    this.form.hidden = this.shown.kind !== "file" || open || attempt?.stored != null;
    this.progress.hidden = !open;
    const result = byID("keep-result");
    result.hidden = attempt?.stored == null;
    const change = attempt?.before?.change ?? {};
    this.differs.hidden = attempt?.applied === true || Object.keys(change).length === 0;
    byID("keep-applied").hidden = attempt?.applied !== true;
    const error = byID("keep-error");
    error.hidden = attempt?.error == null;
    error.textContent = attempt?.error ?? "";
    if (attempt === null) return;
    if (open) {
      this.progress.querySelector("progress")!.value = attempt.share;
      role(this.progress, "text").textContent = this.saysOf(attempt);
      this.pause.textContent = attempt.paused ? t.keep.resume : t.keep.pause;
    }
    if (attempt.stored !== null) {
      role(result, "text").textContent = attempt.stored.existing ? t.keep.existing : t.keep.kept;
      const link = role<HTMLAnchorElement>(result, "link");
      link.href = `/trace?trace=${this.address(attempt.stored)}/content`;
    }
    for (const field of fields) {
      const item = this.differs.querySelector<HTMLElement>(`[data-field=${field}]`)!;
      item.hidden = change[field] === undefined;
      role(item, "kept").textContent = attempt.before?.kept[field] || "–";
      role(item, "typed").textContent = change[field] ?? "";
    }
  }
}

/** What went wrong and what to do, as sentences. */
function saying(err: unknown, failed: (why: string) => string): string {
  const why = err instanceof Error ? err.message : String(err);
  const hint = err instanceof UploadError ? err.hint : "";
  return [failed(why), hint].filter((s) => s !== "").map(sentence).join(" ");
}
