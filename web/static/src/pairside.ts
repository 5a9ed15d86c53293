/** One side of the page of two traces: a kept trace or a dropped file, on its way to a summary. */

import { role } from "./dom";
import { explain } from "./errors";
import { bytes } from "./format";
import { harmless } from "./names";
import { d } from "./pairstrings";
import { Reading } from "./pool";
import { asFailure, type Source } from "./protocol";
import type { Standby } from "./standby";
import { parseSummary, type ReadSummary } from "./summary";
import type { Side } from "./tracediff";

export interface Stored {
  id: string;
  name: string;
  label: string;
  /** Whether the server has its summary; undefined: not known. */
  summary?: boolean;
}

export type Chosen = { kind: "kept"; trace: Stored } | { kind: "file"; file: File };

export class PairSide {
  readonly element: HTMLElement;
  chosen: Chosen | null = null;
  read: ReadSummary | null = null;
  private reading: Reading | null = null;
  private turn = 0;

  /** changed is called whenever the side has a summary, or none any more. */
  constructor(
    readonly side: Side,
    private readonly api: { traces: string },
    private readonly standby: Standby,
    private readonly changed: () => void,
  ) {
    this.element = document.querySelector<HTMLElement>(`[data-side="${side}"]`)!;
    role(this.element, "cancel").addEventListener("click", () => {
      this.stop();
      this.fail(d.cancelled);
    });
    const picker = role<HTMLInputElement>(this.element, "file");
    picker.addEventListener("change", () => {
      const file = picker.files?.[0];
      picker.value = "";
      if (file !== undefined) void this.choose({ kind: "file", file });
    });
  }

  get name(): string {
    if (this.chosen === null) return d.none;
    return harmless(this.chosen.kind === "kept" ? this.chosen.trace.name : this.chosen.file.name);
  }

  /** Where the viewer finds it; null for a dropped file. */
  get path(): string | null {
    return this.chosen?.kind === "kept" ? `${this.api.traces}/${this.chosen.trace.id}/content` : null;
  }

  async choose(chosen: Chosen | null): Promise<void> {
    this.stop();
    const turn = ++this.turn;
    this.chosen = chosen;
    this.read = null;
    role(this.element, "name").textContent = this.name;
    this.fail("");
    this.changed();
    if (chosen === null) return;
    this.busy(chosen.kind === "kept" ? d.loading : d.progress(bytes(0), bytes(chosen.file.size)), null);
    try {
      const read = await this.summary(chosen, turn);
      if (turn !== this.turn) return;
      this.read = read;
    } catch (err) {
      if (turn !== this.turn) return;
      const shown = explain(asFailure(err), this.name, 0);
      this.fail([shown.title, shown.detail, shown.hint].filter((s) => s !== "").join(" · "));
    } finally {
      if (turn === this.turn) {
        role(this.element, "reading").hidden = true;
        this.changed();
      }
    }
  }

  private async summary(chosen: Chosen, turn: number): Promise<ReadSummary> {
    if (chosen.kind === "kept" && chosen.trace.summary !== false) {
      const kept = await this.keptSummary(chosen.trace);
      if (kept !== null) return kept;
    }
    const source: Source = chosen.kind === "file" ? { blob: chosen.file } : { url: `${this.api.traces}/${chosen.trace.id}/content` };
    const name = chosen.kind === "file" ? chosen.file.name : chosen.trace.name;
    this.reading = new Reading(this.standby, name, source, {
      progress: (p) => {
        if (turn !== this.turn) return;
        const text = p.total === null ? d.reading(bytes(p.bytes)) : d.progress(bytes(p.bytes), bytes(p.total));
        this.busy(text, p.total === null || p.total === 0 ? null : p.bytes / p.total);
      },
      preview: () => undefined,
    });
    const read = await this.reading.run();
    // Two traces' columns at once would double the memory, and nothing here draws them.
    this.reading.release();
    this.reading = null;
    return read;
  }

  /** The summary the server computed when it stored the trace; null: none yet, so the trace itself is read. */
  private async keptSummary(trace: Stored): Promise<ReadSummary | null> {
    try {
      const response = await fetch(`${this.api.traces}/${trace.id}/summary`, { mode: "same-origin" });
      if (response.status !== 200) return null;
      return parseSummary(await response.text());
    } catch {
      return null; // reading the trace itself will say what is wrong
    }
  }

  private stop(): void {
    this.reading?.cancel();
    this.reading = null;
    this.turn++;
  }

  private busy(text: string, share: number | null): void {
    const place = role(this.element, "reading");
    place.hidden = false;
    role(place, "progress").textContent = text;
    const bar = place.querySelector("progress")!;
    if (share === null) bar.removeAttribute("value");
    else bar.value = share;
  }

  private fail(text: string): void {
    role(this.element, "reading").hidden = true;
    const place = role(this.element, "error");
    place.textContent = harmless(text);
    place.hidden = text === "";
  }
}
