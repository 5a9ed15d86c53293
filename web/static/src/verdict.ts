/** The sentence a trace page opens with, composed from the summary's numbers. */

import type { Part } from "./dom";
import { exactNs, median, percent, ppm, time } from "./format";
import { decodeGraphs } from "./graphuse";
import { harmless } from "./names";
import { t } from "./strings";
import type { Phase, StepKind, Summary } from "./summary";

/** A phase with less than this of the CPU's time (in parts per million) is not worth a word. */
const notable = 50_000;

/** Half of the kernels start as soon after their launch as this: the GPU had nothing queued. */
const atOnce = 50_000;

/** Fewer launches say nothing of what the GPU waits for. */
const manyLaunches = 100;

/** GPU work that reaches this much beyond the step's time on the CPU ran on behind it. */
const behind = 1.1;

/** At most this many shapes are named as missing the graph. */
const namedMisses = 3;

export function verdict(s: Summary): Part[] {
  if (s.health.slices === 0) return [{ text: t.verdict.empty + t.verdict.stop }];
  const clauses = [steps(s), ...gpu(s), graph(s), starved(s), longest(s)].filter((c) => c.length > 0);
  if (s.health.truncated) clauses.push([{ text: t.verdict.truncated, href: "#health" }]);
  const out: Part[] = [];
  clauses.forEach((clause, i) => {
    if (i > 0) out.push({ text: t.verdict.next });
    out.push(...clause);
  });
  out.push({ text: t.verdict.stop });
  const first = out[0];
  if (first !== undefined) first.text = first.text.charAt(0).toUpperCase() + first.text.slice(1);
  return out;
}

function steps(s: Summary): Part[] {
  if (s.steps.length === 0) return [{ text: t.verdict.noSteps }];
  const order: StepKind[] = ["decode", "prefill", "mixed", "idle", "unknown"];
  const kinds = order.map((kind) => ({ kind, of: s.steps.filter((st) => st.kind === kind) })).filter((k) => k.of.length > 0);
  const text = kinds.map(({ kind, of }) => {
    const sizes = of.map((st) => st.n).filter((n) => n !== null);
    return t.verdict.kinds[kind](of.length) + (kind === "decode" && sizes.length > 0 ? t.verdict.atN(String(median(sizes))) : "");
  });
  const only = kinds.length === 1 && kinds[0]!.kind !== "unknown";
  const out: Part[] = [{ text: only ? t.verdict.ofKind(text[0]!, s.steps.length) : t.verdict.steps(s.steps.length), bold: true }];
  // A trace without batch sizes has steps of unknown kind only: that says nothing.
  if (!only && kinds.some((k) => k.kind !== "unknown")) out.push({ text: t.verdict.and + text.join(t.verdict.and) });
  const decode = s.steps.filter((st) => st.kind === "decode");
  const told = decode.length > 0 ? decode : s.steps;
  const some = told.map((st) => st.dur_ns);
  if (some.length === 2) {
    const [a, b] = [...some].sort((x, y) => x - y) as [number, number]; // a median of two is one of them
    out.push({ text: t.verdict.next }, { text: t.verdict.two(time(a), time(b), decode.length > 0), exact: `${exactNs(a)}, ${exactNs(b)}`, about: ["steps", "dur_ns"] });
    return out;
  }
  const middle = median(some);
  const say = decode.length > 0 ? t.verdict.median : t.verdict.medianAny;
  out.push({ text: t.verdict.next }, { text: say(time(middle), some.length), exact: exactNs(middle), about: ["steps", "dur_ns"] });
  // Where launching runs ahead, the step is over on the CPU long before its work is.
  const spans = told.flatMap((st) => (st.gpu === null ? [] : [st.gpu.span_ns]));
  const span = spans.length === 0 ? 0 : median(spans);
  if (span > behind * middle) out.push({ text: t.verdict.and }, { text: t.verdict.gpuSpan(time(span)), exact: exactNs(span), about: ["steps", "span_ns"] });
  return out;
}

function gpu(s: Summary): Part[][] {
  const busy = sum(s.devices.map((d) => d.busy_ns));
  const range = busy + sum(s.devices.map((d) => d.idle_ns));
  const share = ppm(busy, range);
  if (share === null) {
    const launches = s.links.launches;
    if (launches === 0 && s.links.linked_device_events > 0) return [[{ text: t.verdict.otherDevice(s.links.linked_device_events), bold: true }]];
    return [[{ text: launches > 0 ? t.verdict.noGPULaunches(launches) : t.verdict.noGPU, bold: true }]];
  }
  const clause: Part[] = [
    { text: t.verdict.gpuBusy(percent(share), s.devices.length), bold: true, exact: `${exactNs(busy)} / ${exactNs(range)}`, about: ["gpu", "busy_ppm"] },
  ];
  const waiting = sum(s.devices.map((d) => d.exposed_comm_ns));
  const exposed = ppm(waiting, range);
  if (exposed !== null && exposed >= 5000) {
    const exact = `${exactNs(waiting)} / ${exactNs(range)}`;
    clause.push({ text: t.verdict.and }, { text: t.verdict.comm(percent(exposed)), exact, about: ["gpu", "exposed_comm_ns"] });
  }
  return [clause];
}

function graph(s: Summary): Part[] {
  // Graphs are captured for decode sizes: a prompt step that ran without one missed nothing.
  const missed = s.shapes.filter((sh) => sh.misses > 0 && sh.kind !== "prefill").sort((a, b) => b.misses - a.misses);
  if (!s.shapes.some((sh) => sh.replays > 0)) return unused(s);
  if (missed.length === 0) {
    return s.shapes.every((sh) => sh.graph === "replay" || sh.kind === "prefill") ? [{ text: t.verdict.allReplayed }] : [];
  }
  const names = missed.slice(0, namedMisses).map((sh) => (sh.n === null ? harmless(sh.name) : `N=${sh.n}`));
  const unique = [...new Set(names)].join(", ");
  const more = missed.length > namedMisses ? t.verdict.missMore(missed.length - namedMisses) : "";
  return [{ text: t.verdict.missed(unique) + more, href: "#shapes" }];
}

/** A trace whose decode launches all missed the graph: what they cost instead is the news. */
function unused(s: Summary): Part[] {
  const g = decodeGraphs(s);
  if (g === null || g.misses < g.launches) return [];
  const out: Part[] = [{ text: t.verdict.noneReplayed(g.launches), href: "#shapes", bold: true }];
  if (g.cpu !== null) out.push({ text: t.verdict.launchTakes(time(g.cpu)), exact: exactNs(g.cpu), about: ["shapes", "cpu_mean_ns"] });
  return out;
}

/** A GPU that idles for most of its time because kernels come one by one, each run at once. */
function starved(s: Summary): Part[] {
  const busy = sum(s.devices.map((d) => d.busy_ns));
  const idle = sum(s.devices.map((d) => d.idle_ns));
  const half = s.links.latency?.p50_ns ?? null;
  if (half === null || half > atOnce || s.links.launches < manyLaunches || idle <= busy) return [];
  return [{ text: t.verdict.starved(time(half)), href: "#launch-facts" }];
}

/** What most of the kernels' time is, where the CPU's phases say nothing. */
function kernels(s: Summary): Part[] {
  const classes = new Map<string, number>();
  for (const k of s.kernels) classes.set(k.class, (classes.get(k.class) ?? 0) + k.total_ns);
  const all = sum([...classes.values()]);
  const [name, ns] = [...classes].reduce((best, x) => (x[1] > best[1] ? x : best), ["", 0] as [string, number]);
  const share = ppm(ns, all);
  if (share === null || name === "other") return [];
  return [{ text: t.verdict.kernelTime(t.tag(name), percent(share)), exact: `${exactNs(ns)} / ${exactNs(all)}`, about: ["kernels", "share_ppm"] }];
}

/** The longest wait of a step, or what takes the most of the CPU's time. */
function longest(s: Summary): Part[] {
  const count = s.steps.filter((st) => st.kind !== "idle").length;
  const waits = s.phases.filter((p) => /(^|[.:_ ])(sync|wait)/i.test(p.name)).sort((a, b) => b.total_ns - a.total_ns);
  const wait = waits[0];
  if (wait !== undefined && count > 0) {
    return [{ text: harmless(wait.name), href: "#phases" }, { text: t.verdict.waits(time(Math.floor(wait.total_ns / count))), exact: `${exactNs(wait.total_ns)} / ${t.verdict.steps(count)}`, about: ["phases", "total_ns"] }];
  }
  const own = sum(s.phases.map((p) => p.self_ns));
  const top = s.phases.reduce<Phase | null>((best, p) => (best === null || p.self_ns > best.self_ns ? p : best), null);
  const share = top === null ? null : ppm(top.self_ns, own);
  if (top === null || share === null || share < notable || s.phases.length < 2) return kernels(s);
  // A step's own name says nothing here: all of its time is in it.
  const stepNames = new Set([...s.shapes.map((sh) => sh.name), ...s.steps.flatMap((st) => [st.name, ...st.names])]);
  if (stepNames.has(top.name)) return kernels(s);
  return [{ text: harmless(top.name), href: "#phases" }, { text: (share > 500_000 ? t.verdict.mostTime : t.verdict.largest)(percent(share)), exact: `${exactNs(top.self_ns)} / ${exactNs(own)}`, about: ["phases", "self_ns"] }];
}

function sum(values: readonly number[]): number {
  return values.reduce((a, b) => a + b, 0);
}
