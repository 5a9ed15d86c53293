/** What a chart says of its data, in the page's language. */

import { t } from "./fleetstrings";
import { integer, sig3 } from "./format";
import { harmless } from "./names";
import { bound, type Band, type Line } from "./series";

/** What a band's middle line is called. */
export function bandName(b: Band): string {
  return [t.plot.median, ...(b.label ? [harmless(b.label)] : []), ...(b.steps === "" ? [] : [t.steps[b.steps] ?? b.steps])].join(" · ");
}

/** Value k of a line with its extremes, or its bucket and how many values it is of. */
export function valueText(line: Pick<Line, "v" | "lo" | "hi" | "n" | "clip">, k: number): string {
  const [lo, hi, n] = [line.lo?.[k], line.hi?.[k], line.n?.[k]];
  let text = `${bound(line, k)}${sig3(line.v[k]!)}`;
  if (typeof lo === "number" && typeof hi === "number" && lo < hi) text += `  (${sig3(lo)} – ${sig3(hi)})`;
  return n === undefined ? text : `${text}  ${t.plot.of(integer(n))}`;
}
