/** The trace page's state: the traces that are open, the one being read, the one shown. */

import { keptID, nameOf, sameOriginPath } from "./address";
import { byID } from "./dom";
import { explain, showError, type Shown } from "./errors";
import type { ReadStats } from "./facts";
import { bytes, duration, integer } from "./format";
import { KeepView, type Keepable } from "./keep";
import { harmless } from "./names";
import { Reading, type Progress } from "./pool";
import { asFailure, type Source } from "./protocol";
import { Rate } from "./rate";
import { Results } from "./results";
import { Standby, type Assets } from "./standby";
import { t } from "./strings";
import type { Preview, ReadSummary } from "./summary";
import { Tabs, type Tab } from "./tabs";

export interface Config {
  assets: Assets & { charts: string };
  api: { traces: string; uploads: string };
}

interface Trace extends Tab {
  source: Source;
  /** Path on our server; null for a local file. */
  path: string | null;
  reading: Reading | null;
  rate: Rate;
  progress: Progress;
  preview: Preview | null;
  read: ReadSummary | null;
  stats: ReadStats | null;
  error: Shown | null;
}

/** Previews come from every worker; drawing them more often than this only takes time from reading. */
const drawMs = 400;

export class App {
  private traces: Trace[] = [];
  private shown: Trace | null = null;
  private current: Trace | null = null;
  private holding: Trace | null = null;
  private lastID = 0;
  private drawAt = 0;
  private drawLater: number | null = null;
  private readonly title = document.title;
  private readonly tabs = new Tabs({ select: (id) => this.selectID(id), close: (id) => this.close(id) });
  private readonly keep: KeepView;
  readonly results: Results;
  readonly standby: Standby;

  constructor(private readonly config: Config) {
    this.results = new Results(config.assets.charts);
    this.standby = new Standby(config.assets);
    this.keep = new KeepView(config.api);
    byID("progress-text").setAttribute("aria-live", "off");
    byID("progress-cancel").addEventListener("click", () => {
      if (this.shown !== null) this.close(this.shown.id);
    });
    byID("error-box").querySelector("[data-action=dismiss]")?.addEventListener("click", () => {
      if (this.shown?.state === "error") this.close(this.shown.id);
      else showError(null);
    });
    addEventListener("popstate", () => this.followAddress());
  }

  openFiles(files: readonly File[]): void {
    const added = files.map((file) => this.add(file.name, { blob: file }, null));
    this.select(added[0]!, true);
    void this.work();
  }

  /** Opens a file that another tab of this server hands over; the address stays, with the place to go to. */
  async openHanded(coming: Promise<File | null>): Promise<void> {
    const file = await coming;
    if (file === null) {
      this.refuse({ title: t.error.gone, detail: "", hint: t.error.goneHint });
      return;
    }
    this.select(this.add(file.name, { blob: file }, null), false);
    void this.work();
  }

  /** Opens an address of our own server; all others are refused. remember: as a step of the history. */
  openAddress(text: string, remember = true): void {
    const path = sameOriginPath(text, location.origin);
    if (path === null) {
      this.refuse({ title: t.error.foreign, detail: text.slice(0, 200), hint: t.error.foreignHint(location.origin) });
      return;
    }
    const open = this.traces.find((trace) => trace.path === path);
    this.select(open ?? this.add(nameOf(path), { url: path }, path), remember);
    void this.work();
  }

  refuse(what: Shown): void {
    showError(what);
    if (this.traces.length === 0) this.state("error");
  }

  private add(name: string, source: Source, path: string | null): Trace {
    const trace: Trace = {
      id: ++this.lastID,
      name,
      state: "queued",
      percent: null,
      source,
      path,
      reading: null,
      rate: new Rate(),
      progress: { bytes: 0, total: "blob" in source ? source.blob.size : null },
      preview: null,
      read: null,
      stats: null,
      error: null,
    };
    this.traces.push(trace);
    return trace;
  }

  /** Reads the waiting traces one after the other: all cores work on one of them. */
  private async work(): Promise<void> {
    if (this.current !== null) return;
    for (let next = this.waiting(); next !== undefined; next = this.waiting()) {
      this.current = next;
      try {
        await this.read(next);
      } finally {
        this.current = null; // whatever happened: the others wait for it
      }
    }
  }

  private waiting(): Trace | undefined {
    return this.traces.find((trace) => trace.state === "queued");
  }

  private async read(trace: Trace): Promise<void> {
    trace.state = "reading";
    const began = performance.now();
    trace.rate.add(0, began);
    if (trace === this.shown) this.draw();
    if (trace.path !== null) await this.nameKept(trace);
    if (!this.traces.includes(trace)) return;
    const reading = new Reading(this.standby, trace.name, trace.source, {
      progress: (p) => {
        trace.progress = p;
        trace.percent = p.total === null || p.total === 0 ? null : Math.floor((p.bytes / p.total) * 100);
        trace.rate.add(p.bytes, performance.now());
        if (trace === this.shown) this.drawProgress();
        else this.drawTabs();
      },
      preview: (p) => {
        if (trace.preview === null) performance.mark("stepscope:preview", { startTime: performance.now() });
        trace.preview = p;
        if (trace === this.shown) this.drawPreview();
      },
    });
    trace.reading = reading;
    try {
      const read = await reading.run();
      trace.read = read;
      if (!this.traces.includes(trace)) return;
      const ms = performance.now() - began;
      trace.stats = { ms, bytes: read.summary.file.bytes, workers: reading.workers, memory: reading.memory, columns: read.columns };
      trace.state = "done";
      // Seen in the browser's performance panel, and by measurements.
      performance.measure("stepscope:read", { start: began, detail: { name: trace.name, ...trace.stats } });
      this.hold(trace);
    } catch (err) {
      if (!this.traces.includes(trace)) return;
      trace.state = "error";
      trace.error = explain(asFailure(err), trace.name, trace.progress.bytes);
    }
    if (trace === this.shown) this.draw();
    else this.drawTabs();
  }

  /** Only the trace read last keeps its workers and with them its columns: they hold up to a gigabyte. */
  private hold(trace: Trace): void {
    this.holding?.reading?.release();
    this.holding = trace;
  }

  /** A kept trace's address is its hash; its name is in the store. */
  private async nameKept(trace: Trace): Promise<void> {
    const id = keptID(trace.path!, this.config.api.traces);
    if (id === null) return;
    try {
      const response = await fetch(`${this.config.api.traces}/${id}`, { mode: "same-origin" });
      const { name } = (await response.json()) as { name?: string };
      if (name !== undefined && name !== "") trace.name = name;
    } catch {
      // The trace itself will be missing too, and that is reported with its reason.
    }
  }

  private selectID(id: number): void {
    const trace = this.traces.find((tr) => tr.id === id);
    if (trace !== undefined) this.select(trace, true);
  }

  private select(trace: Trace, remember: boolean): void {
    if (remember && (this.shown !== trace || history.state?.trace !== trace.id)) {
      const url = trace.path === null ? "/trace" : `/trace?trace=${encodeURIComponent(trace.path)}`;
      history.pushState({ trace: trace.id }, "", url);
    } else {
      history.replaceState({ trace: trace.id }, "");
    }
    this.shown = trace;
    this.draw();
  }

  /** After back or forward: the trace of that address, opened again if it was closed. */
  private followAddress(): void {
    const id = (history.state as { trace?: number } | null)?.trace;
    const open = this.traces.find((trace) => trace.id === id);
    const path = new URLSearchParams(location.search).get("trace");
    if (open !== undefined) {
      if (open !== this.shown) {
        this.shown = open;
        this.draw();
      }
    } else if (path !== null) this.openAddress(path, false);
    else {
      this.shown = null;
      this.draw();
    }
  }

  private close(id: number): void {
    const at = this.traces.findIndex((trace) => trace.id === id);
    const [trace] = this.traces.splice(at, 1);
    if (trace === undefined) return;
    trace.reading?.cancel();
    if (this.holding === trace) this.holding = null;
    if (this.shown !== trace) {
      this.drawTabs();
      return;
    }
    const next = this.traces[Math.min(at, this.traces.length - 1)];
    if (next !== undefined) {
      this.select(next, true);
      return;
    }
    this.shown = null;
    history.pushState(null, "", "/trace");
    this.draw();
  }

  private state(state: "empty" | Trace["state"]): void {
    byID("trace").dataset["state"] = state === "queued" ? "reading" : state;
  }

  private draw(): void {
    const trace = this.shown;
    showError(trace?.error ?? null);
    this.drawTabs();
    this.state(trace?.state ?? "empty");
    if (trace === null) {
      document.title = this.title;
      this.keep.show({ kind: "none" });
      return;
    }
    if (trace.state === "done") {
      this.results.show(trace.read!, trace.stats!, (name, gpu, limit) => trace.reading?.slices(name, gpu, limit) ?? Promise.resolve(null));
      document.title = `${harmless(trace.name)} · ${this.title}`;
    } else {
      this.results.clear();
      this.drawPreview();
      this.drawProgress();
    }
    this.keep.show(trace.state === "done" ? this.keepable(trace) : { kind: "none" });
  }

  private keepable(trace: Trace): Keepable {
    if ("blob" in trace.source) return { kind: "file", file: trace.source.blob as File };
    return { kind: trace.path !== null && keptID(trace.path, this.config.api.traces) !== null ? "kept" : "none" };
  }

  private drawTabs(): void {
    this.tabs.show(this.traces, this.shown?.id ?? null);
  }

  private drawPreview(): void {
    const preview = this.shown?.preview;
    if (preview === null || preview === undefined) return;
    const now = performance.now();
    if (now < this.drawAt) {
      // Readers tell in turn: what is left out now may be the only one with rows.
      this.drawLater ??= window.setTimeout(() => {
        this.drawLater = null;
        if (this.shown?.state === "reading") this.drawPreview();
      }, this.drawAt - now);
      return;
    }
    this.drawAt = preview.phases.length > 0 ? now + drawMs : 0; // nothing to see takes no turn
    this.results.preview(preview);
    byID("progress-events").textContent = t.progress.events(preview.events);
  }

  private drawProgress(): void {
    const trace = this.shown;
    if (trace === null || trace.state === "done" || trace.state === "error") return;
    this.drawTabs();
    const { bytes: done, total } = trace.progress;
    const bar = byID<HTMLProgressElement>("progress-bar");
    if (total === null) bar.removeAttribute("value");
    else bar.value = total === 0 ? 0 : done / total;
    byID("progress-text").textContent = progressText(trace);
    if (trace.preview === null) byID("progress-events").textContent = "";
    const name = harmless(trace.name);
    document.title = trace.percent === null ? name : t.progress.title(trace.percent, name);
  }
}

function progressText(trace: Trace): string {
  const { bytes: done, total } = trace.progress;
  if (trace.state === "queued") return `${t.tab.queued} · ${total === null ? integer(0) : bytes(total)}`;
  const rate = trace.rate.perSecond();
  if (total === null) return rate === null ? bytes(done) : t.progress.unknown(bytes(done), bytes(rate));
  if (done >= total && total > 0) return t.progress.summing(bytes(total));
  const left = trace.rate.secondsLeft(total);
  if (rate === null || left === null) return t.progress.starting(bytes(total));
  return t.progress.text(bytes(done), bytes(total), bytes(rate), duration(left));
}
