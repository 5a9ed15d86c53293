/** The tables of two traces: rows of tracediff in the page's tables, each row opening both traces at its place. */

import type { CellValue } from "./cells";
import { fromTemplate, maybeRole, role } from "./dom";
import { columnUnit, exactNs, integer, inUnit, percentNumber, time } from "./format";
import { harmless, showName } from "./names";
import { d } from "./pairstrings";
import { change, relative } from "./pairverdict";
import { t } from "./strings";
import { shapeRows, type ShapeRow } from "./shapediff";
import type { StepKind, Summary } from "./summary";
import { DataTable, type TableSpec } from "./table";
import {
  classRows, collectiveRows, gpuRows, groupRows, kernelRows, kindRows, phaseRows, stepFigures,
  type Compared, type DiffRow, type KindRow, type KindSide, type Pair, type Side, type StepFigure,
} from "./tracediff";

/** Where in the viewer a row is: the block to scroll to, and its state. */
export interface Place {
  at: string;
  state: Record<string, string>;
}

/** Opens a side's trace at a place; null: that side has no trace to open. */
export type Opener = (side: Side, place: Place) => { href: string; onClick?: (event: MouseEvent) => void } | null;

const letters: Record<Side, string> = { a: "A", b: "B" };

interface KindLine {
  id: string;
  kind: StepKind;
  side: Side | "delta";
  steps: number | undefined;
  n: number | null | undefined;
  of: KindSide | null;
  pairs: Record<StepFigure, Pair> | null;
}

export class PairTables {
  private readonly kinds: DataTable<KindLine>;
  private readonly gpu: DataTable<DiffRow>;
  private readonly phases: DataTable<DiffRow>;
  private readonly shapes: DataTable<ShapeRow>;
  private readonly kernels: DataTable<DiffRow>;
  private readonly comm: DataTable<DiffRow>;
  private shown: Compared | null = null;

  constructor(private readonly opener: Opener) {
    this.kinds = new DataTable<KindLine>("dkinds", {
      value: kindValue,
      id: (r) => r.id,
      text: (r) => `${r.kind} ${t.tag(r.kind)}`,
      reason: () => d.noFigure,
      samples: (r, key) => spreadText(r.of, key),
      group: (r) => r.kind,
      groupRow: (kind, rows) => this.kindGroup(kind, rows),
      decorate: (tr, r) => this.decorateKind(tr, r),
    });
    this.gpu = this.sums("dgpu", (r) => d.figure[r.name] ?? r.name, () => ({ at: "gpu", state: {} }));
    this.phases = this.sums("dphases", (r) => r.name, (r) => ({ at: "phases", state: { "phases.view": "flat", "phases.q": r.name.replaceAll("…", " ") } }));
    this.kernels = this.sums("dkernels", (r) => r.name, (r) => ({ at: "kernels", state: { "kernels.q": r.name } }));
    this.comm = this.sums("dcomm", (r) => r.name, (r) => ({ at: "collectives", state: { "collectives.q": r.id.split(" ")[0] ?? "" } }));
    this.shapes = new DataTable<ShapeRow>("dshapes", {
      value: shapeValue,
      id: (r) => r.id,
      text: (r) => `${shapeName(r)} ${r.a?.name ?? ""} ${r.b?.name ?? ""}`,
      reason: (r, key) => (r.bucket !== null && (key === "n" || key === "b") ? d.classed : key.startsWith("a_") && r.a === null ? d.notSide("A") : key.startsWith("b_") && r.b === null ? d.notSide("B") : d.noFigure),
      samples: (r) =>
        [d.samples(r.a?.count ?? 0, r.b?.count ?? 0), ...(r.bucket === null ? [] : [d.shapesIn(r.a?.shapes ?? 0, r.b?.shapes ?? 0)])].join(" · "),
      open: () => undefined,
      decorate: (tr, r) => {
        const only = r.a === null ? "b" : r.b === null ? "a" : null;
        if (only !== null) mark(tr, d.only(letters[only]));
        this.links(tr, (side) => {
          const shape = r[side];
          return shape === null ? null : { at: "shapes", state: shape.shapes > 1 ? {} : { "shapes.q": shape.name } };
        }, shapeName(r));
      },
    });
  }

  show(c: Compared, name: string): void {
    this.shown = c;
    for (const table of [this.kinds, this.gpu, this.phases, this.shapes, this.kernels, this.comm]) table.traceName = name;
    this.kinds.set(kindRows(c.a, c.b).flatMap(kindLines));
    this.gpu.set(c.hasGPU.a || c.hasGPU.b ? gpuRows(c) : []);
    const classes = classRows(c);
    const groups = groupRows(c);
    this.phases.spec = { ...this.phases.spec, ...grouped(groups, (g, rows) => this.sumRow("dphases", t.group[g] ?? g, groups.find((r) => r.name === g), rows.length, d.groupPhases)) };
    this.kernels.spec = { ...this.kernels.spec, ...grouped(classes, (g, rows) => this.sumRow("dkernels", t.tag(g), classes.find((r) => r.name === g), rows.length, "")) };
    this.phases.set(phaseRows(c));
    const shapes = shapeRows(c.a, c.b);
    this.shapes.set(shapes);
    const kinds = new Set(shapes.flatMap((r) => (r.bucket === null ? [] : [d.kinds[r.bucket.kind] ?? r.bucket.kind])));
    const why = document.getElementById("dshapes-classed");
    if (why !== null) {
      why.hidden = kinds.size === 0;
      why.textContent = kinds.size === 0 ? "" : d.classedWhy([...kinds]);
    }
    this.kernels.set(kernelRows(c));
    this.comm.set(collectiveRows(c));
    for (const id of ["dcomm", "dshapes"]) document.getElementById(id)!.hidden = (id === "dcomm" ? this.comm : this.shapes).size === 0;
  }

  private sums(id: string, name: (r: DiffRow) => string, place: (r: DiffRow) => Place): DataTable<DiffRow> {
    const spec: TableSpec<DiffRow> = {
      value: (r, key) => (key === "name" ? name(r) : sumValue(r, key)),
      id: (r) => r.id,
      text: (r) => `${name(r)} ${r.group}`,
      reason: (r, key) => this.missing(r, key),
      samples: (r, key) => (r.count.a === null && r.count.b === null ? "" : key.endsWith("count") ? "" : d.samples(r.count.a ?? 0, r.count.b ?? 0)),
      open: () => undefined,
      decorate: (tr, r) => {
        const cell = tr.querySelector<HTMLElement>("[data-key=name]")!;
        if (id === "dkernels") showName(role(cell, "text"), cell, r.name);
        if (r.only !== null) mark(tr, d.only(letters[r.only]));
        this.links(tr, (side) => (r.only !== null && r.only !== side ? null : place(r)), name(r));
      },
    };
    return new DataTable<DiffRow>(id, spec);
  }

  private missing(r: DiffRow, key: string): string {
    const side = key.startsWith("a_") ? "a" : key.startsWith("b_") ? "b" : null;
    const { hasGPU } = this.shown!;
    const blind = !hasGPU.a ? "a" : !hasGPU.b ? "b" : null;
    if (side !== null && r.only !== null && r.only !== side) return d.notSide(letters[side]);
    if (blind !== null && (side === blind || side === null)) return d.notRecorded(letters[blind]);
    return d.noFigure;
  }

  /** The links at the end of a row; Enter follows A's, Shift and Enter B's. */
  private links(tr: HTMLElement, place: (side: Side) => Place | null, what: string): void {
    const cell = tr.querySelector<HTMLElement>("[data-key=open]");
    if (cell === null) return;
    const made: Partial<Record<Side, HTMLAnchorElement>> = {};
    for (const side of ["a", "b"] as const) {
      const at = place(side);
      const to = at === null ? null : this.opener(side, at);
      if (to === null) {
        const gap = document.createElement("span");
        gap.className = "absent";
        gap.textContent = "–";
        cell.append(gap);
        continue;
      }
      const a = document.createElement("a");
      a.href = to.href;
      a.target = "_blank";
      a.dataset["letter"] = side;
      a.className = "letter";
      a.textContent = letters[side];
      a.title = harmless(d.open(letters[side], what));
      a.setAttribute("aria-label", harmless(d.open(letters[side], what)));
      if (to.onClick !== undefined) a.addEventListener("click", to.onClick);
      a.tabIndex = -1;
      cell.append(a);
      made[side] = a;
    }
    delete tr.dataset["open"];
    tr.addEventListener("keydown", (event) => {
      if (event.key !== "Enter" || event.target instanceof HTMLAnchorElement) return;
      const link = event.shiftKey ? made.b : (made.a ?? made.b);
      if (link === undefined) return;
      event.preventDefault();
      link.click();
    });
  }

  private kindGroup(kind: string, rows: readonly KindLine[]): HTMLElement {
    const tr = fromTemplate("tpl-dkinds-group");
    role(tr, "text").textContent = d.kindTitle[kind] ?? kind;
    const count = (side: Side) => rows.find((r) => r.side === side)?.steps ?? 0;
    role(tr, "note").textContent = d.groupKinds(count("a"), count("b"));
    return tr;
  }

  private decorateKind(tr: HTMLElement, r: KindLine): void {
    if (r.side === "delta") {
      tr.classList.add("delta-row");
      for (const key of stepFigures) {
        const cell = tr.querySelector<HTMLElement>(`[data-key="${key}"]`);
        const p = r.pairs?.[key];
        if (cell === null || p === undefined || p.delta === null) continue;
        cell.dataset["sign"] = p.delta > 0 ? "more" : p.delta < 0 ? "less" : "same";
        if (p.delta > 0) cell.textContent = `+${cell.textContent}`;
        if (p.rel !== null && p.delta !== 0) {
          const small = document.createElement("small");
          small.textContent = relative(p.rel);
          cell.append(small);
        }
      }
      return;
    }
    const cell = tr.querySelector<HTMLElement>("[data-key=name] [data-role=text]");
    if (cell !== null) {
      const letter = document.createElement("b");
      letter.className = "letter";
      letter.dataset["letter"] = r.side;
      letter.textContent = letters[r.side];
      cell.replaceChildren(letter);
    }
    this.links(tr, (side) => (side === r.side && r.of !== null ? { at: "steps", state: { "steps.q": r.kind } } : null), d.kindTitle[r.kind] ?? r.kind);
  }

  /** The row above a group: the sums of both sides. */
  private sumRow(table: string, title: string, sum: DiffRow | undefined, rows: number, note: string): HTMLElement {
    const tr = fromTemplate(`tpl-${table}-group`);
    role(tr, "text").textContent = title;
    const about = maybeRole(tr, "note");
    if (about !== null) about.textContent = [integer(rows), note].filter((s) => s !== "").join(" · ");
    if (sum === undefined) return tr;
    // Own times add up, whole ones of nested sections do not.
    const keys = table === "dphases" ? { a: "a_self_ns", b: "b_self_ns", delta: "self_ns", rel: "" } : { a: "a_ns", b: "b_ns", delta: "delta_ns", rel: "rel" };
    const { total } = sum;
    const unit = columnUnit([total.a, total.b]);
    const put = (key: string, text: string | null, exact: string) => {
      const cell = key === "" ? null : tr.querySelector<HTMLElement>(`[data-col="${key}"]`);
      if (cell === null) return;
      cell.textContent = text ?? "–";
      cell.title = exact;
    };
    const shown = (v: number | null) => (v === null ? null : `${inUnit(v, unit)} ${unit.name}`);
    put(keys.a, shown(total.a), total.a === null ? d.notSide("A") : exactNs(total.a));
    put(keys.b, shown(total.b), total.b === null ? d.notSide("B") : exactNs(total.b));
    put(keys.delta, total.delta === null ? null : change(total.delta), total.delta === null ? "" : exactNs(total.delta));
    put(keys.rel, total.rel === null ? null : (total.rel > 0 ? "+" : "") + percentNumber(total.rel).replace("-", "−"), "");
    return tr;
  }
}

function mark(tr: HTMLElement, text: string): void {
  const tag = document.createElement("span");
  tag.className = "only";
  tag.textContent = text;
  tr.querySelector("[data-key=name]")?.append(" ", tag);
}

/** Groups by the size of their difference. */
function grouped(sums: readonly DiffRow[], row: (group: string, rows: readonly DiffRow[]) => HTMLElement): Partial<TableSpec<DiffRow>> {
  const size = (r: DiffRow) => Math.abs(r.total.delta ?? r.total.a ?? r.total.b ?? 0);
  return {
    group: (r) => r.group,
    groups: [...sums].sort((x, y) => size(y) - size(x)).map((r) => r.name),
    groupRow: row,
  };
}

function sumValue(r: DiffRow, key: string): CellValue {
  switch (key) {
    case "a_ns":
      return r.total.a;
    case "b_ns":
      return r.total.b;
    case "delta_ns":
      return r.total.delta;
    case "rel":
      return r.total.rel;
    case "a_self_ns":
      return r.self.a;
    case "b_self_ns":
      return r.self.b;
    case "self_ns":
      return r.self.delta;
    case "a_count":
      return r.count.a;
    case "b_count":
      return r.count.b;
    case "a_mean_ns":
      return r.mean.a;
    case "b_mean_ns":
      return r.mean.b;
    default:
      return undefined;
  }
}

function shapeName(r: ShapeRow): string {
  if (r.bucket === null) return (r.a ?? r.b)!.name;
  return d.shapeClass(d.kinds[r.bucket.kind] ?? r.bucket.kind, r.bucket.from, r.bucket.to);
}

function shapeValue(r: ShapeRow, key: string): CellValue {
  switch (key) {
    case "name":
      return shapeName(r);
    case "n":
      return r.bucket !== null ? null : (r.a ?? r.b)!.n;
    case "b":
      return r.bucket !== null ? null : (r.a ?? r.b)!.b;
    case "a_count":
      return r.a?.count ?? null;
    case "b_count":
      return r.b?.count ?? null;
    case "a_span_ns":
      return r.span.a;
    case "b_span_ns":
      return r.span.b;
    case "span_ns":
      return r.span.delta;
    case "rel":
      return r.span.rel;
    case "a_cpu_ns":
      return r.cpu.a;
    case "b_cpu_ns":
      return r.cpu.b;
    case "cpu_ns":
      return r.cpu.delta;
    case "a_kernels":
      return r.kernels.a;
    case "b_kernels":
      return r.kernels.b;
    case "a_graph":
      return r.a?.graph ?? null;
    case "b_graph":
      return r.b?.graph ?? null;
    default:
      return undefined;
  }
}

function kindLines(row: KindRow): KindLine[] {
  const line = (side: Side): KindLine => {
    const of = row[side];
    return { id: `${row.kind} ${side}`, kind: row.kind, side, steps: of?.steps ?? 0, n: of?.n ?? null, of, pairs: null };
  };
  const lines = [line("a"), line("b")];
  if (row.a === null || row.b === null) return lines;
  const pairs = {} as Record<StepFigure, Pair>;
  for (const key of stepFigures) {
    const a = row.a.figures[key]?.median ?? null;
    const b = row.b.figures[key]?.median ?? null;
    const delta = a === null || b === null ? null : b - a;
    pairs[key] = { a, b, delta, rel: delta === null || a === null || a === 0 ? null : Math.round((delta / a) * 1e6) };
  }
  return [...lines, { id: `${row.kind} delta`, kind: row.kind, side: "delta", steps: undefined, n: undefined, of: null, pairs }];
}

function kindValue(r: KindLine, key: string): CellValue {
  if (key === "name") return r.side === "delta" ? d.minus : letters[r.side];
  if (key === "steps") return r.steps;
  if (key === "n") return r.n;
  if (key === "open") return undefined;
  if (r.side === "delta") return r.pairs?.[key as StepFigure]?.delta ?? null;
  return r.of?.figures[key as StepFigure]?.median ?? null;
}

function spreadText(of: KindSide | null, key: string): string {
  const s = of?.figures[key as StepFigure];
  if (s === null || s === undefined) return "";
  const show = (v: number) => (key.endsWith("_ns") ? time(v) : integer(v));
  return d.spread(s.n, show(s.mean), show(s.min), show(s.max));
}

/** A summary's name for file names: without folders. */
export function pairName(a: Summary, b: Summary): string {
  return `${a.file.name} vs ${b.file.name}`;
}
