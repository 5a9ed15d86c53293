/** Spark histograms: the distribution of a row's durations, as inline SVG. */

import type { Histogram } from "./summary";

const svg = "http://www.w3.org/2000/svg";
const width = 72;
const height = 18;

/**
 * One bar per half octave, on the axis from..to that all rows of the table share. Heights go by the square root of the counts, so that a few slow ones,
 * which one looks for, are not lost beside the many; the exact counts are in the cell's title.
 */
export function sparkline(h: Histogram, span: { from: number; to: number }): SVGSVGElement {
  const image = document.createElementNS(svg, "svg");
  image.setAttribute("class", "spark");
  image.setAttribute("viewBox", `0 0 ${width} ${height}`);
  image.setAttribute("width", String(width));
  image.setAttribute("height", String(height));
  image.setAttribute("aria-hidden", "true");
  const max = Math.sqrt(Math.max(1, ...h.counts));
  const step = width / Math.max(12, span.to - span.from);
  h.counts.forEach((count, i) => {
    if (count === 0) return;
    const tall = Math.max(1.5, (Math.sqrt(count) / max) * height);
    const bar = document.createElementNS(svg, "rect");
    bar.setAttribute("x", ((h.first - span.from + i) * step).toFixed(2));
    bar.setAttribute("y", (height - tall).toFixed(2));
    bar.setAttribute("width", Math.max(1.5, step - 0.5).toFixed(2));
    bar.setAttribute("height", tall.toFixed(2));
    image.append(bar);
  });
  return image;
}
