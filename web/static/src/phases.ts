/** The table of CPU annotations: nested per thread, or flat by group, or what a preview has of them. */

import type { Behind } from "./behind";
import { fromTemplate, role } from "./dom";
import { folded, plain, type Folded } from "./fold";
import { percent, ppm, time } from "./format";
import { harmless } from "./names";
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
  p50_ns?: number | null;
  p95_ns?: number | null;
  p99_ns?: number | null;
  max_ns?: number;
  share_ppm?: number | null;
  hist?: Histogram | null;
  /** How many rows of the tree it sums up. */
  rows?: number;
  fold?: Folded["fold"];
}

export class PhasesView {
  private readonly table: DataTable<Row>;
  private readonly buttons = [...document.querySelectorAll<HTMLElement>("[data-action=phases-view]")];
  private summary: Summary | null = null;

  constructor(private readonly behind: Behind) {
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
    const { steps, shapes, tree, threads } = this.summary;
    const whole = stepTime(steps);
    this.table.spec = {
      ...this.spec(),
      group: (r) => r.group,
      groups,
      groupRow: (group, rows) => this.groupRow(group, rows, whole),
    };
    const name = new Map(threads.map((th) => [th.id, threadLabel(th)]));
    if (flat) {
      this.table.spec.open = (r) => this.openFlat(r);
      this.table.set(flatRows(this.summary));
      return;
    }
    const steplike = new Set([...shapes.map((s) => s.name), ...steps.flatMap((s) => [s.name, ...s.names])]);
    const place = (r: Folded): Row => ({ ...r, group: r.root, thread: name.get(r.thread) ?? String(r.thread) });
    const short = folded(tree, (n) => steplike.has(n), isOpen, whole).map(place);
    const all = plain(tree).map(place);
    Object.assign(this.table.spec, {
      depth: (r: Row) => r.depth,
      // Words are looked for in every single row, and files get every single row.
      rows: (each: boolean) => (each ? all : short),
      canOpen: (r: Row) => r.fold !== undefined,
      open: (r: Row) => this.toggle(r),
    });
    const single = short.filter((r) => r.fold === undefined && r.rows === 1).length;
    const { thread } = all[0]!;
    const one = all.every((r) => r.thread === thread);
    if (one) this.table.spec.hide = ["thread"];
    this.table.spec.note = (each) =>
      [...(single < all.length && !each ? [t.folded(all.length - single)] : []), ...(one ? [t.onThread(thread!)] : [])].join(" · ");
    this.table.set(short);
  }

  /** Opens a fold into its single rows, or closes it. */
  private toggle(row: Row): void {
    const open = openFolds();
    if (!open.delete(row.id)) open.add(row.id);
    setState("phases.open", open.size === 0 ? null : [...open].join(" "), true);
    this.render();
  }

  /** The rows behind a phase: the same name in each place where it is nested. */
  private openFlat(row: Row): void {
    setState("phases.view", null, true);
    this.table.setFilter(row.name);
    this.render();
  }

  private count(name: string): number {
    return this.summary?.phases.find((p) => p.name === name)?.count ?? 0;
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
      reason: (r, key) => (key === "share_ppm" ? t.absent.noSteps : (r.rows ?? 1) > 1 ? t.absent.summed : t.absent.none),
      samples: (r, key) => this.samples(r, key),
      // A row of the tree stands for its place in the nesting, the slices are all of its name.
      behind: (r) => (r.fold === undefined && this.summary !== null ? this.behind.of(r.name, false, this.count(r.name)) : null),
      decorate: (tr, r) => {
        dimPrefix(tr, r.name);
        if (r.fold !== undefined) markFold(tr, r.fold);
      },
    };
  }
}

/** What shares of phases relate to: all steps' time. */
function stepTime(steps: Summary["steps"]): number {
  return steps.reduce((sum, s) => sum + s.dur_ns, 0);
}

/** Folds that are open, by id. */
function openFolds(): Set<string> {
  return new Set((getState("phases.open") ?? "").split(" ").filter((id) => id !== ""));
}

function isOpen(id: string): boolean {
  return openFolds().has(id);
}

function markFold(tr: HTMLElement, fold: NonNullable<Row["fold"]>): void {
  tr.classList.add("folds");
  const button = document.createElement("button");
  button.type = "button";
  button.className = "twist";
  button.tabIndex = -1; // Enter on the row does the same
  button.setAttribute("aria-expanded", String(fold.open));
  button.textContent = t.foldNames(fold.names);
  tr.querySelector("[data-key=name]")!.append(" ", button);
}

/** Names are shown whole, with the prefix that all of an engine's names share set back. */
function dimPrefix(tr: HTMLElement, name: string): void {
  const prefix = /^deepinfer:/.exec(name)?.[0];
  if (prefix === undefined) return;
  const place = role(tr, "text");
  const dim = document.createElement("span");
  dim.className = "prefix";
  dim.textContent = prefix;
  place.replaceChildren(dim, harmless(name.slice(prefix.length)));
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
