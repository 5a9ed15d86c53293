/** Facts and health of both files, one row a fact, with a mark where the sides differ. */

import { bytes, exactNs, integer, time, wallTime } from "./format";
import { gpuText, producerName } from "./facts";
import { decodeGraphs, replayed } from "./graphuse";
import { healthText } from "./health";
import { harmless } from "./names";
import type { PairSide } from "./pairside";
import { d } from "./pairstrings";
import { mix } from "./pairverdict";
import { t } from "./strings";
import type { ReadSummary } from "./summary";

interface Fact {
  key: string;
  text: string;
  title?: string;
  level?: string;
  /** What sides are compared by; without it their text. */
  by?: string;
}

/** The facts of one side, in order. */
export function sideFacts(read: ReadSummary, label: string): Fact[] {
  const s = read.summary;
  const { facts, health, links } = s;
  const kernels = s.kernels.reduce((sum, k) => sum + k.count, 0);
  const versions = Object.entries(facts.versions).filter(([k]) => k !== "schema").map(([k, v]) => `${k.replaceAll("_", " ")} ${v}`);
  const graphs = decodeGraphs(s);
  const rank = facts.rank === null ? "–" : facts.world_size === null ? String(facts.rank) : t.facts.rankOf(facts.rank, facts.world_size);
  return [
    { key: "file", text: s.file.name },
    { key: "deployment", text: label === "" ? "–" : label },
    { key: "size", text: bytes(s.file.bytes), title: `${integer(s.file.bytes)} B` },
    { key: "health", text: `${t.health.verdicts[health.verdict] ?? health.verdict}: ${healthText(health)}`, level: health.verdict },
    { key: "engine", text: producerName(facts.producer) },
    { key: "gpu", text: gpuText(facts.gpu_names, facts.gpu_count) || "–" },
    { key: "devices", text: String(s.devices.filter((x) => x.kernels > 0 || x.busy_ns > 0).length) },
    { key: "rank", text: rank },
    { key: "versions", text: versions.join(", ") || "–" },
    { key: "start", text: read.start === null ? "–" : wallTime(read.start) },
    { key: "span", text: s.span_ns === null ? "–" : time(s.span_ns), ...(s.span_ns === null ? {} : { title: exactNs(s.span_ns) }) },
    { key: "steps", text: mix(s) },
    { key: "launches", text: `${integer(links.launches)} · ${integer(links.graph_launches)} graph` },
    graphs === null
      ? { key: "graphs", text: "–" }
      : { key: "graphs", text: d.graphs(graphs.replays, graphs.launches), by: `${Math.round(replayed(graphs) * 10)}` },
    { key: "kernels", text: integer(kernels) },
  ];
}

/** Facts whose difference is expected. */
const own: ReadonlySet<string> = new Set(["file", "deployment", "size", "start", "health", "span", "kernels", "launches"]);

export function showPairFacts(table: HTMLElement, a: PairSide, b: PairSide): void {
  const of = (side: PairSide) => (side.read === null ? null : sideFacts(side.read, side.chosen?.kind === "kept" ? side.chosen.trace.label : ""));
  const [fa, fb] = [of(a), of(b)];
  const body = table.querySelector("tbody")!;
  const keys = (fa ?? fb ?? []).map((f) => f.key);
  body.replaceChildren(
    ...keys.map((key, i) => {
      const tr = document.createElement("tr");
      const th = document.createElement("th");
      th.scope = "row";
      th.textContent = d.facts[key] ?? key;
      tr.append(th, factCell(fa?.[i]), factCell(fb?.[i]));
      if (fa !== null && fb !== null && !own.has(key) && compared(fa[i]!) !== compared(fb[i]!)) {
        tr.classList.add("differs");
        const mark = document.createElement("span");
        mark.className = "only";
        mark.textContent = d.differs;
        th.append(" ", mark);
      }
      return tr;
    }),
  );
}

function compared(f: Fact): string {
  return f.by ?? f.text;
}

function factCell(f: Fact | undefined): HTMLElement {
  const td = document.createElement("td");
  td.className = "text";
  td.textContent = f === undefined ? "" : harmless(f.text);
  if (f?.title !== undefined) td.title = f.title;
  if (f?.level !== undefined) td.dataset["level"] = f.level;
  return td;
}
