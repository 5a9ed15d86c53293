/** Rows to show while the file is still being read: sums over the readers of what each has seen. */

import type { Preview, PreviewPhase, PreviewShape } from "./summary";

/** Adds previews up by name, phases and shapes in descending order of time. */
export function mergePreviews(previews: Iterable<Preview>): Preview {
  const phases = new Map<string, PreviewPhase>();
  const shapes = new Map<string, PreviewShape>();
  const sum: Preview = { events: 0, slices: 0, json_bytes: 0, phases: [], shapes: [] };
  for (const p of previews) {
    sum.events += p.events;
    sum.slices += p.slices;
    sum.json_bytes += p.json_bytes;
    for (const phase of p.phases) {
      const seen = phases.get(phase.name);
      if (seen === undefined) {
        phases.set(phase.name, { ...phase });
        continue;
      }
      seen.count += phase.count;
      seen.total_ns += phase.total_ns;
      seen.max_ns = Math.max(seen.max_ns, phase.max_ns);
    }
    for (const shape of p.shapes) {
      const seen = shapes.get(shape.name);
      if (seen === undefined) {
        shapes.set(shape.name, { ...shape });
        continue;
      }
      seen.count += shape.count;
      seen.cpu_total_ns += shape.cpu_total_ns;
    }
  }
  sum.phases = [...phases.values()].sort((a, b) => b.total_ns - a.total_ns || order(a.name, b.name));
  sum.shapes = [...shapes.values()].sort((a, b) => b.cpu_total_ns - a.cpu_total_ns || order(a.name, b.name));
  return sum;
}

function order(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0;
}
