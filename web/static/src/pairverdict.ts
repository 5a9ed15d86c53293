/** What the page of two traces says before its tables: conditions of the comparison, and the verdict sentence. */

import type { Part } from "./dom";
import { percent, time } from "./format";
import { decodeGraphs, replayed } from "./graphuse";
import { healthText } from "./health";
import { harmless } from "./names";
import { d } from "./pairstrings";
import { t } from "./strings";
import type { Summary, StepKind } from "./summary";
import { batches, classRows, cycleParts, kindRows, mainKind, phaseRows, type Compared, type DiffRow, type KindRow, type Side } from "./tracediff";

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

/** Parts that work against the difference: so many are named. */
const offsets = 2;

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
    out.push(...madeOf(main, delta, a));
  } else out.push({ text: d.verdict.kinds[main.kind] ?? main.kind });
  const single = main === null ? [] : singles(c, main);
  if (single.length > 0) out.push({ text: d.verdict.again }, { text: d.verdict.single }, ...joined(single));
  const graphs = graphUse(c);
  if (graphs.length > 0) out.push({ text: d.verdict.again }, ...graphs);
  out.push({ text: d.verdict.stop });
  return out;
}

function joined(parts: readonly Part[]): Part[] {
  return parts.flatMap((part, i) => (i === 0 ? [part] : [{ text: d.verdict.next }, part]));
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
 * What the difference of the two median cycles is made of, largest first, then what works against it. The parts are
 * those of the two steps that have the median cycle, so they add up; medians of each part would not.
 */
function madeOf(main: KindRow, delta: number, cycle: number): Part[] {
  const [a, b] = [main.a!.typical, main.b!.typical];
  if (a === null || b === null || delta === 0) return [];
  const changes = cycleParts
    .map((key) => ({ text: d.verdict.parts[key], by: b[key] - a[key] }))
    .sort((x, y) => Math.abs(y.by) - Math.abs(x.by));
  const clause = (list: typeof changes): Part[] => joined(list.map((x) => ({ text: x.text(change(x.by)), href: "#dkinds" })));
  const along = changes.filter((x) => x.by * delta > 0 && Math.abs(x.by) * 100 > cycle); // less explains nothing
  if (along.length === 0) return [];
  const told = along.reduce((sum, x) => sum + Math.abs(x.by), 0);
  const against = told * 50 > Math.abs(delta) * 51 ? changes.filter((x) => x.by * delta < 0).slice(0, offsets) : [];
  const out: Part[] = [{ text: d.verdict.next }, { text: d.verdict.most }, ...clause(along)];
  return against.length === 0 ? out : [...out, { text: d.verdict.next }, { text: d.verdict.offset }, ...clause(against)];
}

/**
 * Where nearly all steps are of the main kind: the class of kernels and the phase that changed most. They are no parts
 * of the cycle: kernels run beside each other, and the CPU beside the GPU.
 */
function singles(c: Compared, main: KindRow): Part[] {
  if (c.norm !== "step" || main.a!.steps < mostSteps * batches(c.a) || main.b!.steps < mostSteps * batches(c.b)) return [];
  const least = (main.a!.figures.cycle_ns?.median ?? 0) / 100;
  const out: { size: number; part: Part }[] = [];
  const add = (delta: number | null | undefined, text: (change: string) => string, href: string) => {
    if (delta !== null && delta !== undefined && Math.abs(delta) > least) out.push({ size: Math.abs(delta), part: { text: text(change(delta)), href } });
  };
  const kernel = top(classRows(c), (r) => r.total.delta);
  add(kernel?.total.delta, (x) => d.verdict.kernels(t.tag(kernel!.name), x), "#dkernels");
  const phase = top(phaseRows(c).filter((r) => r.only === null), (r) => r.self.delta);
  add(phase?.self.delta, (x) => d.verdict.phase(harmless(phase!.name), x), "#dphases");
  return out.sort((x, y) => y.size - x.size).map((x) => x.part);
}

function top(rows: readonly DiffRow[], of: (r: DiffRow) => number | null): DiffRow | null {
  return rows.reduce<DiffRow | null>((best, r) => (of(r) !== null && (best === null || Math.abs(of(r)!) > Math.abs(of(best) ?? 0)) ? r : best), null);
}
