/** The line of facts and the small blocks of plain figures. */

import { byID, maybeID, role } from "./dom";
import { addFact } from "./fact";
import { bytes, exactNs, integer, percent, ppm, time, wallTime } from "./format";
import { t } from "./strings";
import type { Columns, ReadSummary, Summary } from "./summary";
import { DataTable } from "./table";

/** How the reading went, for the last fact. */
export interface ReadStats {
  ms: number;
  bytes: number;
  workers: number;
  memory: number;
  columns: Columns;
}

export function showFacts(read: ReadSummary, stats: ReadStats): void {
  const { summary: s, start } = read;
  const dl = byID("facts");
  dl.replaceChildren();
  const { file, facts, health } = s;
  addFact(dl, t.fact.file, file.name, file.name);
  const packed = file.compression !== "none" || file.json_bytes !== file.bytes;
  addFact(
    dl,
    t.fact.size,
    packed ? t.facts.unpacked(bytes(file.bytes), bytes(file.json_bytes)) : bytes(file.bytes),
    `${integer(file.bytes)} B${packed ? `, JSON ${integer(file.json_bytes)} B` : ""}`,
  );
  addFact(dl, t.fact.start, start === null ? "–" : wallTime(start), start === null ? t.facts.noStart : `${integer(start)} ns`, t.why.start);
  addFact(dl, t.fact.span, s.span_ns === null ? "–" : time(s.span_ns), s.span_ns === null ? t.absent.none : exactNs(s.span_ns), t.why.span);
  if (facts.producer !== "unknown") addFact(dl, t.fact.engine, producerName(facts.producer));
  if (facts.rank !== null) {
    const rank = facts.world_size === null ? String(facts.rank) : t.facts.rankOf(facts.rank, facts.world_size);
    addFact(dl, t.fact.rank, facts.backend === null || facts.backend === "" ? rank : `${rank}, ${facts.backend}`);
  }
  const gpus = gpuText(facts.gpu_names, facts.gpu_count);
  if (gpus !== "") addFact(dl, t.fact.gpu, gpus);
  if (facts.host !== null && facts.host !== "") addFact(dl, t.fact.host, facts.host);
  const versions = Object.entries(facts.versions)
    .filter(([k]) => k !== "schema") // of the file's layout, not of anything that ran
    .map(([k, v]) => `${k.replaceAll("_", " ")} ${v}`);
  if (versions.length > 0) addFact(dl, t.fact.versions, versions.join(", "));
  addFact(dl, t.fact.events, t.facts.events(health.events, health.slices), categoriesText(s), t.why.events);
  const { columns } = stats;
  if (columns.capped) addFact(dl, t.fact.columns, t.facts.columns(columns.kept, columns.total), "", t.why.columns);
  // A rate of a small file would be that of starting up.
  const rate = file.json_bytes >= 1e6 ? bytes(file.json_bytes / (stats.ms / 1e3)) : null;
  addFact(dl, t.fact.read, t.facts.read(time(stats.ms * 1e6), rate, stats.workers, bytes(stats.memory)), "", t.why.read);
}

/** "8 × NVIDIA H100 80GB HBM3"; different models each on its own. */
export function gpuText(names: readonly string[], count: number): string {
  const models = new Map<string, number>();
  for (const n of names.filter((name) => name.trim() !== "")) models.set(n, (models.get(n) ?? 0) + 1);
  if (models.size === 0) return count === 0 ? "" : String(count);
  if (models.size === 1) return count > 1 ? `${count} × ${[...models.keys()][0]!}` : [...models.keys()][0]!;
  return [...models].map(([name, n]) => (n > 1 ? `${n} × ${name}` : name)).join(", ");
}

/** What an engine is called. */
export function producerName(id: string): string {
  const names: Record<string, string> = {
    deepinfer: "DeepInfer",
    vllm: "vLLM",
    sglang: "SGLang",
    "tensorrt-llm": "TensorRT-LLM",
    pytorch: "PyTorch",
  };
  return names[id] ?? id;
}

function categoriesText(s: Summary): string {
  return Object.entries(s.categories)
    .sort((a, b) => b[1] - a[1])
    .map(([name, n]) => `${name} ${integer(n)}`)
    .join("\n");
}

/** Launches, links, graphs, overhead: figures without a table. */
export function showLaunches(s: Summary): void {
  const dl = byID("launches");
  const block = dl.closest<HTMLElement>("[data-block]") ?? dl;
  dl.replaceChildren();
  const { links, graph } = s;
  const any = links.launches + links.linked_kernels + links.unlinked_kernels > 0 || s.counters > 0;
  block.hidden = !any;
  if (any) {
    addFact(dl, t.launches.launches, integer(links.launches), "", t.why.launches);
    addFact(dl, t.launches.graphLaunches, integer(links.graph_launches), "", t.why.graphLaunches);
    addFact(dl, t.launches.linked, integer(links.linked_kernels), "", t.why.linked);
    if (links.unlinked_kernels > 0) addFact(dl, t.launches.unlinked, integer(links.unlinked_kernels), "", t.why.unlinked);
    if (links.unlinked_launches > 0) addFact(dl, t.launches.unlinkedLaunches, integer(links.unlinked_launches), "", t.why.unlinkedLaunches);
    const l = links.latency;
    if (l !== null) {
      const all = [l.p50_ns, l.p95_ns, l.p99_ns, l.max_ns].filter((v) => v !== null);
      if (all.length > 0) addFact(dl, t.launches.latency, all.map(time).join(" / "), all.map(exactNs).join(" / "), `${t.launches.latencyOver(l.count)} ${t.why.latency}`);
      if (l.negative > 0) addFact(dl, t.launches.negative, integer(l.negative), "", t.launches.negativeWhy);
    }
  }
  if (graph.kernels > 0) {
    const share = ppm(graph.kernel_ns, graph.kernel_total_ns);
    addFact(
      dl,
      t.launches.graph,
      share === null ? "–" : percent(share),
      `${exactNs(graph.kernel_ns)} / ${exactNs(graph.kernel_total_ns)}`,
      t.launches.graphOf(graph.kernels),
    );
  }
  if (s.overhead.count > 0) {
    addFact(dl, t.launches.overhead, t.launches.overheadOf(time(s.overhead.total_ns), s.overhead.count), exactNs(s.overhead.total_ns), t.why.overhead);
  }
  if (s.counters > 0) addFact(dl, t.launches.counters, integer(s.counters), "", t.why.counters);
}

interface CategoryRow {
  name: string;
  count: number;
  total_ns: number | null;
}

export class CategoriesView {
  private readonly table = new DataTable<CategoryRow>("categories", {
    value: (r, key) => r[key as keyof CategoryRow],
    id: (r) => r.name,
    text: (r) => r.name,
    samples: (r, key) => (key === "total_ns" ? t.samples.slices(r.count) : ""),
    decorate: (tr, r) => {
      if (r.name === "") role(tr, "text").textContent = t.noCategory;
    },
  });

  show(s: Summary, name: string): void {
    this.table.traceName = name;
    this.table.set(Object.entries(s.categories).map(([cat, count]) => ({ name: cat, count, total_ns: s.category_ns[cat] ?? null })));
    const block = maybeID("categories");
    if (block !== null) block.hidden = this.table.size === 0;
  }
}
