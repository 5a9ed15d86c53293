/** Small multiples: one curve for each column of a row, on one scale, drawn as SVG when they come into sight. */

import { sig3 } from "./format";
import { axisOf, nearest, placeText, runs, scaleOf, type Align, type Axis, type Point, type Trails } from "./trails";

const svg = "http://www.w3.org/2000/svg";
const height = 96;
const pad = { left: 48, right: 6, top: 6, bottom: 16 };

interface Drawn {
  place: HTMLElement;
  image: SVGSVGElement;
  cursor: SVGLineElement;
  dot: SVGCircleElement;
  said: SVGTextElement;
  all: Point[][];
  width: number;
  y(v: number): number;
}

/** Texts that the pictures need. */
export interface MultiplesText {
  none: string;
  failed: string;
  noAxis: string;
}

export class Multiples {
  private trails: Promise<Trails> | null = null;
  private align: Align;
  private axis: Axis | null = null;
  private readonly drawn = new Map<HTMLElement, Drawn[]>();
  private readonly seen = new Set<HTMLElement>();
  private readonly watch: IntersectionObserver;

  constructor(
    root: HTMLElement,
    private readonly url: string,
    align: Align,
    private readonly text: MultiplesText,
  ) {
    this.align = align;
    this.watch = new IntersectionObserver((entries) => {
      for (const e of entries) {
        if (!e.isIntersecting) continue;
        this.watch.unobserve(e.target);
        this.seen.add(e.target as HTMLElement);
        void this.draw(e.target as HTMLElement);
      }
    }, { rootMargin: "200px" });
    for (const figure of root.querySelectorAll<HTMLElement>("figure")) this.watch.observe(figure);
    root.addEventListener("pointermove", (event) => this.point(event));
    root.addEventListener("pointerleave", () => this.cursor(null));
    new ResizeObserver(() => this.redraw()).observe(root);
  }

  set(align: Align): void {
    this.align = align;
    this.redraw();
  }

  private redraw(): void {
    for (const figure of this.seen) void this.draw(figure);
  }

  private load(): Promise<Trails> {
    this.trails ??= fetch(this.url, { mode: "same-origin" }).then(async (r) => {
      if (!r.ok) throw new Error(String(r.status));
      return (await r.json()) as Trails;
    });
    this.trails.catch(() => {
      this.trails = null; // the next one that comes into sight tries again
    });
    return this.trails;
  }

  private async draw(figure: HTMLElement): Promise<void> {
    const places = [...figure.querySelectorAll<HTMLElement>(".plot")];
    let trails: Trails;
    try {
      trails = await this.load();
    } catch {
      for (const p of places) p.textContent = this.text.failed;
      return;
    }
    const series = trails.rows[figure.dataset["row"]!];
    this.axis = axisOf(trails.columns, this.align);
    const scale = series === undefined ? null : scaleOf(series);
    const by = Number(figure.dataset["scale"] ?? 1);
    this.drawn.delete(figure);
    const out: Drawn[] = [];
    places.forEach((p, i) => {
      const serie = series?.[i];
      if (this.axis === null) p.textContent = this.text.noAxis;
      else if (scale === null || serie === undefined || serie.t.length < 2) p.textContent = this.text.none;
      else out.push(draw(p, runs(serie, trails.columns[i]!, this.align), this.axis, scale, by));
    });
    this.drawn.set(figure, out);
  }

  /** The cursor goes over all curves at once: the place under the pointer in each of them. */
  private point(event: PointerEvent): void {
    const place = (event.target as Element).closest?.<HTMLElement>(".plot");
    if (place == null || this.axis === null) return this.cursor(null);
    const box = place.getBoundingClientRect();
    const part = (event.clientX - box.left - pad.left) / (box.width - pad.left - pad.right);
    this.cursor(part < 0 || part > 1 ? null : this.axis.from + part * (this.axis.to - this.axis.from));
  }

  private cursor(x: number | null): void {
    const { axis } = this;
    if (axis === null) return;
    for (const [figure, all] of this.drawn) {
      const by = Number(figure.dataset["scale"] ?? 1);
      for (const d of all) {
        const p = x === null ? null : nearest(d.all, x, (axis.to - axis.from) / 30);
        const at = x === null ? -10 : pad.left + ((x - axis.from) / (axis.to - axis.from)) * (d.width - pad.left - pad.right);
        d.cursor.setAttribute("x1", String(at));
        d.cursor.setAttribute("x2", String(at));
        const px = p === null ? -10 : pad.left + ((p.x - axis.from) / (axis.to - axis.from)) * (d.width - pad.left - pad.right);
        d.dot.setAttribute("cx", String(px));
        d.dot.setAttribute("cy", String(p === null ? -10 : d.y(p.y)));
        d.said.textContent = x === null ? "" : p === null ? placeText(axis.align, x) : `${placeText(axis.align, p.x)}  ${sig3(p.y * by)}`;
      }
    }
  }
}

function el<K extends keyof SVGElementTagNameMap>(name: K, attributes: Record<string, string | number>): SVGElementTagNameMap[K] {
  const node = document.createElementNS(svg, name);
  for (const [key, value] of Object.entries(attributes)) node.setAttribute(key, String(value));
  return node;
}

function draw(place: HTMLElement, all: Point[][], axis: Axis, scale: { low: number; high: number }, by: number): Drawn {
  const width = Math.max(120, place.clientWidth);
  const inner = { w: width - pad.left - pad.right, h: height - pad.top - pad.bottom };
  const x = (v: number) => pad.left + ((v - axis.from) / (axis.to - axis.from)) * inner.w;
  const y = (v: number) => pad.top + (1 - (v - scale.low) / (scale.high - scale.low)) * inner.h;
  const image = el("svg", { width, height, viewBox: `0 0 ${width} ${height}`, class: "multiple-svg" });
  const base = pad.top + inner.h;
  image.append(el("path", { class: "rule", d: `M${pad.left} ${pad.top}V${base}H${pad.left + inner.w}` }));
  if (scale.low < 0 && scale.high > 0) image.append(el("path", { class: "zero", d: `M${pad.left} ${y(0)}H${pad.left + inner.w}` }));
  const label = (text: string, attributes: Record<string, string | number>) => {
    const t = el("text", { class: "axis-text", ...attributes });
    t.textContent = text;
    image.append(t);
    return t;
  };
  label(sig3(scale.high * by), { x: pad.left - 4, y: pad.top + 8, "text-anchor": "end" });
  label(sig3(scale.low * by), { x: pad.left - 4, y: base, "text-anchor": "end" });
  label(placeText(axis.align, axis.from), { x: pad.left, y: height - 3, "text-anchor": "start" });
  label(placeText(axis.align, axis.to), { x: pad.left + inner.w, y: height - 3, "text-anchor": "end" });
  const line = all
    .map((run) => (run.length === 1 ? `M${f(x(run[0]!.x) - 1)} ${f(y(run[0]!.y))}h2` : run.map((p, i) => `${i === 0 ? "M" : "L"}${f(x(p.x))} ${f(y(p.y))}`).join("")))
    .join("");
  image.append(el("path", { class: "curve", d: line }));
  const cursor = el("line", { class: "cursor", x1: -10, x2: -10, y1: pad.top, y2: base });
  const dot = el("circle", { class: "dot", cx: -10, cy: -10, r: 3 });
  image.append(cursor, dot);
  const said = label("", { x: pad.left + inner.w, y: pad.top + 8, "text-anchor": "end", class: "axis-text said" });
  place.replaceChildren(image);
  return { place, image, cursor, dot, said, all, width, y };
}

function f(v: number): string {
  return v.toFixed(1);
}

/** Draws a row's curves, with its title and the columns' names, into one PNG. */
export async function png(figure: HTMLElement, title: string, names: readonly string[]): Promise<Blob | null> {
  const images = [...figure.querySelectorAll<SVGSVGElement>(".multiple-svg")];
  if (images.length === 0) return null;
  const ratio = 2;
  const head = 22;
  const row = head + height + 8;
  const width = Math.max(...images.map((i) => i.width.baseVal.value));
  const canvas = document.createElement("canvas");
  canvas.width = width * ratio;
  canvas.height = (28 + images.length * row) * ratio;
  const ctx = canvas.getContext("2d")!;
  const style = getComputedStyle(document.documentElement);
  const color = (name: string) => style.getPropertyValue(name).trim();
  ctx.scale(ratio, ratio);
  ctx.fillStyle = color("--bg");
  ctx.fillRect(0, 0, width, canvas.height);
  ctx.fillStyle = color("--ink");
  ctx.font = `600 14px ${style.fontFamily}`;
  ctx.fillText(title, 8, 19, width - 16);
  ctx.font = `12px ${style.fontFamily}`;
  for (const [i, image] of images.entries()) {
    const top = 28 + i * row;
    ctx.fillText(names[i] ?? "", 8, top + 15, width - 16);
    ctx.drawImage(await picture(image), 0, top + head, image.width.baseVal.value, height);
  }
  return new Promise((resolve) => canvas.toBlob(resolve, "image/png"));
}

/** The SVG as an image, with the colours it has on the page: a picture by itself knows no style sheet. */
async function picture(image: SVGSVGElement): Promise<HTMLImageElement> {
  const copy = image.cloneNode(true) as SVGSVGElement;
  const from = [image, ...image.querySelectorAll("*")];
  const to = [copy, ...copy.querySelectorAll("*")];
  from.forEach((node, i) => {
    const style = getComputedStyle(node);
    for (const key of ["fill", "stroke", "stroke-width", "font-size", "font-family", "text-anchor"] as const) {
      to[i]!.setAttribute(key, style.getPropertyValue(key));
    }
  });
  copy.setAttribute("xmlns", svg);
  const out = new Image();
  out.src = `data:image/svg+xml;charset=utf-8,${encodeURIComponent(new XMLSerializer().serializeToString(copy))}`;
  await out.decode();
  return out;
}
