/** The table of CPU annotations: nested per thread, or flat by group, or what a preview has of them. */

import { fromTemplate, role } from "./dom";
import { percent, ppm, time } from "./format";
import { getState, onState, setState } from "./state";
import { t } from "./strings";
import type { Group, Histogram, PreviewPhase, Summary, Thread } from "./summary";
import { DataTable, type TableSpec } from "./table";

const groups: readonly Group[] = ["scheduling", "execution", "post-processing", "other"];

interface Row {
  id: string;
  name: string;
  group: string;
  depth: number;
  thread: string | undefined;
  count: number;
  total_ns: number;
  self_ns?: number;
  mean_ns?: number;
  p50_ns?: number;
  p95_ns?: number;
  p99_ns?: number;
  max_ns?: number;
  share_ppm?: number | null;
  hist?: Histogram | null;
}

export class PhasesView {
  private readonly table: DataTable<Row>;
  private readonly buttons = [...document.querySelectorAll<HTMLElement>("[data-action=phases-view]")];
  private summary: Summary | null = null;

  constructor() {
    this.table = new DataTable<Row>("phases", this.spec());
    for (const b of this.buttons) {
      b.addEventListener("click", () => {
        setState("phases.view", b.dataset["view"] === "flat" ? "flat" : null, true);
        this.render();
      });
    }
    onState(() => this.render());
  }

  preview(phases: readonly PreviewPhase[]): void {
    this.summary = null;
    const rows = phases.map((p) => ({ ...p, id: p.name, group: "", depth: 0, thread: undefined }));
    this.table.spec = this.spec();
    this.table.set(rows, true);
    this.press();
  }

  show(summary: Summary, name: string): void {
    this.summary = summary;
    this.table.traceName = name;
    this.render();
  }

  private get flat(): boolean {
    return getState("phases.view") === "flat" || this.summary?.tree.length === 0;
  }

  private press(): void {
    for (const b of this.buttons) {
      b.setAttribute("aria-pressed", String((b.dataset["view"] === "flat") === this.flat));
    }
  }

  private render(): void {
    this.press();
    if (this.summary === null) return;
    const { flat } = this;
    const whole = stepTime(this.summary.steps);
    this.table.spec = {
      ...this.spec(),
      group: (r) => r.group,
      groups,
      groupRow: (group, rows) => this.groupRow(group, rows, whole),
      ...(flat
        ? { open: (r: Row) => this.openFlat(r) }
        : { depth: (r: Row) => r.depth }),
    };
    this.table.set(flat ? flatRows(this.summary) : treeRows(this.summary));
  }

  /** The rows behind a phase: the same name in each place where it is nested. */
  private openFlat(row: Row): void {
    setState("phases.view", null, true);
    this.table.setFilter(row.name);
    this.render();
  }

  private groupRow(group: string, rows: readonly Row[], whole: number): HTMLElement {
    const tr = fromTemplate("tpl-phases-group");
    role(tr, "text").textContent = t.group[group] ?? group;
    const own = this.flat
      ? rows.reduce((sum, r) => sum + (r.self_ns ?? 0), 0)
      : rows.filter((r) => r.depth === 0).reduce((sum, r) => sum + r.total_ns, 0);
    const share = ppm(own, whole);
    const note = role(tr, "note");
    note.textContent = t.groupNote(time(own), share === null ? null : percent(share));
    note.title = this.flat ? t.groupFlat : t.groupTree;
    return tr;
  }

  private samples(row: Row, key: string): string {
    if (key === "name" || key === "thread" || key === "count") return "";
    if (key !== "share_ppm") return t.samples.slices(row.count);
    const steps = this.summary?.steps ?? [];
    return steps.length === 0 ? "" : t.samples.share(time(stepTime(steps)));
  }

  private spec(): TableSpec<Row> {
    return {
      value: (r, key) => r[key as keyof Row] as number | string | null | undefined | Histogram,
      id: (r) => r.id,
      text: (r) => `${r.name} ${r.thread ?? ""}`,
      reason: (_, key) => (key === "share_ppm" ? t.absent.noSteps : t.absent.none),
      samples: (r, key) => this.samples(r, key),
      decorate: (tr, r) => dimPrefix(tr, r.name),
    };
  }
}

/** What shares of phases relate to: all steps' time. */
function stepTime(steps: Summary["steps"]): number {
  return steps.reduce((sum, s) => sum + s.dur_ns, 0);
}

/** Names are shown whole, with the prefix that all of an engine's names share set back. */
function dimPrefix(tr: HTMLElement, name: string): void {
  const prefix = /^deepinfer:/.exec(name)?.[0];
  if (prefix === undefined) return;
  const place = role(tr, "text");
  const dim = document.createElement("span");
  dim.className = "prefix";
  dim.textContent = prefix;
  place.replaceChildren(dim, name.slice(prefix.length));
}

export function threadLabel(thread: Thread | undefined): string {
  if (thread === undefined) return "";
  const { tid } = thread;
  const name = thread.name.trim();
  // PyTorch names a thread "thread 123 (python)": the number is in it already.
  return name === "" ? tid : name.includes(tid) ? name : `${name} ${tid}`;
}

function flatRows(s: Summary): Row[] {
  return s.phases.map((p) => ({ ...p, id: p.name, depth: 0, thread: t.threadsNote(p.threads) }));
}

function treeRows(s: Summary): Row[] {
  const threads = new Map(s.threads.map((th) => [th.id, threadLabel(th)]));
  let root = "";
  return s.tree.map((n, i) => {
    if (n.depth === 0) root = n.group;
    return {
      ...n,
      id: `${i}`,
      group: root,
      thread: threads.get(n.thread) ?? String(n.thread),
    };
  });
}
