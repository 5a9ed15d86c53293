/** Spark histograms: the distribution of a row's durations, as inline SVG. */

import type { Histogram } from "./summary";

const svg = "http://www.w3.org/2000/svg";
const width = 64;
const height = 16;

/**
 * One bar per half octave. Heights go by the square root of the counts, so that a few slow ones,
 * which one looks for, are not lost beside the many; the exact counts are in the cell's title.
 */
export function sparkline(h: Histogram): SVGSVGElement {
  const image = document.createElementNS(svg, "svg");
  image.setAttribute("class", "spark");
  image.setAttribute("viewBox", `0 0 ${width} ${height}`);
  image.setAttribute("width", String(width));
  image.setAttribute("height", String(height));
  image.setAttribute("aria-hidden", "true");
  const max = Math.sqrt(Math.max(1, ...h.counts));
  const step = width / Math.max(8, h.counts.length);
  h.counts.forEach((count, i) => {
    if (count === 0) return;
    const tall = Math.max(1.5, (Math.sqrt(count) / max) * height);
    const bar = document.createElementNS(svg, "rect");
    bar.setAttribute("x", (i * step).toFixed(2));
    bar.setAttribute("y", (height - tall).toFixed(2));
    bar.setAttribute("width", Math.max(1, step - 1).toFixed(2));
    bar.setAttribute("height", tall.toFixed(2));
    image.append(bar);
  });
  return image;
}
