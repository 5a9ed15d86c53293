/** What the page of two traces says before its tables: conditions of the comparison, and the verdict sentence. */

import type { Part } from "./dom";
import { percent, time } from "./format";
import { decodeGraphs, replayed } from "./graphuse";
import { healthText } from "./health";
import { harmless } from "./names";
import { d } from "./pairstrings";
import { t } from "./strings";
import type { Summary, StepKind } from "./summary";
import { batches, classRows, kindRows, mainKind, phaseRows, type Compared, type DiffRow, type Side, type StepFigure } from "./tracediff";

export interface Note {
  level: "bad" | "warn";
  title: string;
  text: string;
}

/** Fewer steps than this tell little. */
const fewSteps = 3;

/** A batch that differs by more than this part is another load. */
const otherLoad = 0.1;

/** So much of all steps must be of one kind for sums over all of them to explain it. */
const mostSteps = 0.9;

/** Graph use is told where its shares differ by more than this part of the decode launches. */
const otherGraphs = 0.1;

/** Causes that the verdict names. */
const told = 4;

const letters: Record<Side, string> = { a: "A", b: "B" };

/** Everything a reader should know before believing a difference, worst first. */
export function notes(c: Compared): Note[] {
  const out: Note[] = [];
  const sides = [["a", c.a], ["b", c.b]] as const;
  for (const [side, s] of sides) {
    if (s.health.verdict === "unusable") out.push({ level: "bad", title: d.notes.unusable(letters[side]), text: healthText(s.health) });
    if (!c.hasGPU[side]) out.push({ level: "bad", title: d.noGPU(letters[side]), text: d.noGPUWhy(s.links.launches) });
  }
  for (const row of kindRows(c.a, c.b)) {
    const [a, b] = [row.a?.n ?? null, row.b?.n ?? null];
    if (a !== null && b !== null && Math.abs(b - a) > otherLoad * Math.max(1, a)) {
      out.push({ level: "warn", title: d.notes.load, text: d.notes.loadWhy(d.verdict.kinds[row.kind] ?? row.kind, String(a), String(b)) });
    }
  }
  if (c.norm === "step" && mixDiffers(c)) out.push({ level: "warn", title: d.notes.mix, text: d.notes.mixWhy(mix(c.a), mix(c.b)) });
  for (const [side, s] of sides) {
    const n = batches(s);
    if (n > 0 && n < fewSteps) out.push({ level: "warn", title: d.notes.few, text: d.notes.fewWhy(letters[side], n) });
    if (s.health.warnings.some((w) => /_capped$/.test(w.code))) out.push({ level: "warn", title: d.notes.capped(letters[side]), text: d.notes.cappedWhy });
  }
  const [ga, gb] = [gpus(c.a), gpus(c.b)];
  if (ga !== "" && gb !== "" && ga !== gb) out.push({ level: "warn", title: d.notes.gpus, text: d.notes.gpusWhy(ga, gb) });
  if (c.hasGPU.a && c.hasGPU.b && c.a.devices.length !== c.b.devices.length) {
    out.push({ level: "warn", title: d.notes.count, text: d.notes.countWhy(c.a.devices.length, c.b.devices.length) });
  }
  return out;
}

function gpus(s: Summary): string {
  return [...new Set(s.facts.gpu_names.filter((n) => n.trim() !== ""))].map(harmless).join(", ");
}

/** Shares of kinds that differ by more than a tenth of all steps. */
function mixDiffers(c: Compared): boolean {
  const share = (s: Summary, kind: StepKind) => s.steps.filter((x) => x.kind === kind).length / Math.max(1, batches(s));
  return (["decode", "prefill", "mixed"] as const).some((k) => Math.abs(share(c.a, k) - share(c.b, k)) > 0.1);
}

/** "20 steps: 18 decode, 2 prefill". */
export function mix(s: Summary): string {
  const order: StepKind[] = ["decode", "prefill", "mixed", "idle", "unknown"];
  const parts = order
    .map((kind) => ({ kind, n: s.steps.filter((x) => x.kind === kind).length }))
    .filter(({ n }) => n > 0)
    .map(({ kind, n }) => `${n} ${d.kinds[kind] ?? kind}`);
  return parts.length === 0 ? d.steps(0) : parts.join(", ");
}

/** A difference of times with its sign: "+0.47 ms". */
export function change(ns: number): string {
  return ns > 0 ? `+${time(ns)}` : ns < 0 ? `−${time(-ns)}` : "±0";
}

export function relative(ppm: number): string {
  return ppm > 0 ? `+${percent(ppm)}` : ppm < 0 ? `−${percent(-ppm)}` : "±0 %";
}

/** The verdict: how the main kind of step differs, and what makes the most of it. */
export function pairVerdict(c: Compared): Part[] {
  const main = mainKind(kindRows(c.a, c.b));
  const out: Part[] = [];
  const cycle = main === null ? null : [main.a!.figures.cycle_ns?.median ?? null, main.b!.figures.cycle_ns?.median ?? null];
  if (main === null) out.push({ text: d.verdict.noKind });
  else if (cycle![0] !== null && cycle![1] !== null) {
    const [a, b] = cycle as [number, number];
    const delta = b - a;
    out.push({ text: d.verdict.cycle(d.verdict.kinds[main.kind] ?? main.kind, time(a), time(b)) }, { text: ": " });
    const text = delta === 0 || a === 0 ? d.verdict.same : d.verdict.change(change(delta), relative(Math.round((delta / a) * 1e6)));
    out.push({ text, bold: true, exact: `${delta} ns`, about: ["dkinds", "cycle_ns"] });
  } else out.push({ text: d.verdict.kinds[main.kind] ?? main.kind });
  const causes = main === null ? [] : found(c, main);
  if (causes.length > 0) out.push({ text: d.verdict.next }, { text: d.verdict.most });
  causes.forEach((part, i) => {
    if (i > 0) out.push({ text: d.verdict.next });
    out.push(part);
  });
  const graphs = graphUse(c);
  if (graphs.length > 0) out.push({ text: d.verdict.again }, ...graphs);
  out.push({ text: d.verdict.stop });
  return out;
}

/** That one side replays graphs where the other misses them, and what a launch takes there. */
function graphUse(c: Compared): Part[] {
  const [a, b] = [decodeGraphs(c.a), decodeGraphs(c.b)];
  if (a === null || b === null || Math.abs(replayed(a) - replayed(b)) <= otherGraphs) return [];
  const out: Part[] = [{ text: d.verdict.graphs(d.graphs(a.replays, a.launches), d.graphs(b.replays, b.launches)), href: "#dshapes", bold: true }];
  if (a.cpu !== null && b.cpu !== null) out.push({ text: d.verdict.launch(time(a.cpu), time(b.cpu)), exact: `${a.cpu} ns, ${b.cpu} ns` });
  return out;
}

/**
 * What made the difference, largest first: the parts of the main kind's cycle, and where nearly all steps are of that
 * kind also the class of kernels and the phase that changed most.
 */
function found(c: Compared, main: NonNullable<ReturnType<typeof mainKind>>): Part[] {
  const causes: { size: number; part: Part }[] = [];
  const add = (delta: number | null, text: (change: string) => string, href: string) => {
    if (delta !== null && delta !== 0) causes.push({ size: Math.abs(delta), part: { text: text(change(delta)), href } });
  };
  const delta = (key: StepFigure) => {
    const a = main.a!.figures[key]?.median ?? null;
    const b = main.b!.figures[key]?.median ?? null;
    return a === null || b === null ? null : b - a;
  };
  add(delta("compute_ns"), d.verdict.computing, "#dkinds");
  add(delta("exposed_comm_ns"), d.verdict.comm, "#dkinds");
  add(delta("idle_ns"), d.verdict.idle, "#dkinds");
  add(delta("gap_ns"), d.verdict.gap, "#dkinds");
  const all = c.norm === "step" && main.a!.steps >= mostSteps * batches(c.a) && main.b!.steps >= mostSteps * batches(c.b);
  const kernel = all ? top(classRows(c), (r) => r.total.delta) : null;
  if (kernel !== null) add(kernel.total.delta, (x) => d.verdict.kernels(t.tag(kernel.name), x), "#dkernels");
  const phase = all ? top(phaseRows(c).filter((r) => r.only === null), (r) => r.self.delta) : null;
  if (phase !== null) add(phase.self.delta, (x) => d.verdict.phase(harmless(phase.name), x), "#dphases");
  // What is less than a hundredth of the step explains nothing.
  const least = (main.a!.figures.cycle_ns?.median ?? 0) / 100;
  return causes.filter((x) => x.size > least).sort((x, y) => y.size - x.size).slice(0, told).map((x) => x.part);
}

function top(rows: readonly DiffRow[], of: (r: DiffRow) => number | null): DiffRow | null {
  return rows.reduce<DiffRow | null>((best, r) => (of(r) !== null && (best === null || Math.abs(of(r)!) > Math.abs(of(best) ?? 0)) ? r : best), null);
}
