/** How far decode launches came out of graphs: what the sentences about one trace and about two say of it. */

import type { Summary } from "./summary";

export interface GraphUse {
  /** Decode launches. */
  launches: number;
  /** Those that replayed a graph. */
  replays: number;
  /** Those without any work of a graph. */
  misses: number;
  /** Mean CPU time of a decode launch, in ns; null where a shape's CPU time is that of whole steps. */
  cpu: number | null;
}

/** Graph use of a trace's decode launches; null: the trace does not tell. */
export function decodeGraphs(s: Summary): GraphUse | null {
  // Graphs are captured for decode sizes: a prompt step that ran without one missed nothing.
  const shapes = s.shapes.filter((sh) => sh.kind === "decode" && sh.graph !== null && sh.count > 0);
  const add = (of: (sh: (typeof shapes)[number]) => number) => shapes.reduce((sum, sh) => sum + of(sh), 0);
  const launches = add((sh) => sh.count);
  if (launches === 0) return null;
  const cpu = shapes.every((sh) => sh.source === "deepinfer") ? Math.round(add((sh) => sh.cpu_total_ns) / launches) : null;
  return { launches, replays: add((sh) => sh.replays), misses: add((sh) => sh.misses), cpu };
}

/** Share of the launches that replayed a graph, 0 to 1. */
export function replayed(g: GraphUse): number {
  return g.replays / g.launches;
}
