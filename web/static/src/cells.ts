/** How a value of each column type is shown, named exactly, and exported. */

import { columnUnit, exactNs, integer, inUnit, percentNumber, bytes, sig3, type Unit } from "./format";
import { harmless } from "./names";
import type { Value } from "./order";
import { t } from "./strings";
import { sparkline } from "./spark";
import type { Histogram } from "./summary";

export type CellType = "ns" | "int" | "milli" | "ppm" | "text" | "name" | "bytes" | "hist" | "tag" | "delta" | "rel" | "open";

/** A column as the page's header declares it. */
export interface Column {
  key: string;
  type: CellType;
  label: string;
  def: string;
  head: HTMLTableCellElement;
  /** For times: the one unit of the column; set anew whenever the rows change, as is span. */
  unit: Unit | null;
  /** Columns of one name share their unit; "": a column by itself. */
  unitGroup: string;
  /**
   * For histograms: the first bucket of all rows and the one after the last, so that rows can be compared; for
   * differences: the largest one, either way.
   */
  span: { from: number; to: number };
}

/** undefined: not known yet or not meant for this row (blank). null: does not exist (–, with its reason). */
export type CellValue = Value | Histogram;

const numeric: ReadonlySet<CellType> = new Set(["ns", "int", "milli", "ppm", "bytes", "delta", "rel"]);

export function isNumeric(type: CellType): boolean {
  return numeric.has(type);
}

/** What a name's column has room for, in letters, and how many of them are the name's last ones. */
const longestName = 56;
const nameTail = 18;

/** Reads the columns of a table's header. */
export function columnsOf(table: HTMLTableElement): Column[] {
  return [...table.querySelectorAll<HTMLTableCellElement>("thead th[data-key]")].map((head) => ({
    key: head.dataset["key"]!,
    type: (head.dataset["type"] ?? "text") as CellType,
    label: (head.querySelector("[data-role=label]") ?? head).textContent!.trim(),
    def: head.dataset["def"] ?? "",
    head,
    unit: null,
    unitGroup: head.dataset["unitGroup"] ?? "",
    span: { from: 0, to: 0 },
  }));
}

/**
 * Fits columns to their values: times get one unit for a column or a group of columns, histograms and differences
 * one axis. The unit is written into the header.
 */
export function fitColumns(columns: readonly Column[], values: (column: Column) => readonly CellValue[]): void {
  const groups = new Map<string, Column[]>();
  for (const c of columns) {
    if (c.type === "hist") fitHistogram(c, values(c));
    else if (c.type === "ppm" || c.type === "rel") showUnit(c, "%");
    else if (c.type === "ns" || c.type === "delta") {
      const key = c.unitGroup === "" ? `:${c.key}` : c.unitGroup;
      groups.set(key, [...(groups.get(key) ?? []), c]);
    }
  }
  for (const group of groups.values()) {
    const sizes = group.map((c) => [...numbers(values(c))]);
    const unit = columnUnit(sizes.flat());
    group.forEach((c, i) => {
      const most = sizes[i]!.reduce((a, b) => Math.max(a, Math.abs(b)), 0);
      c.unit = unit;
      if (c.type === "delta") c.span = { from: -most, to: most };
      showUnit(c, sizes[i]!.length > 0 ? unit.name : "");
    });
  }
}

function fitHistogram(column: Column, values: readonly CellValue[]): void {
  const all = values.filter((v): v is Histogram => typeof v === "object" && v !== null && v.counts.length > 0);
  column.span = {
    from: Math.min(...all.map((h) => h.first)),
    to: Math.max(...all.map((h) => h.first + h.counts.length)),
  };
}

function showUnit(column: Column, name: string): void {
  const place = column.head.querySelector("[data-role=unit]");
  if (place !== null) place.textContent = name;
}

function* numbers(values: readonly CellValue[]): Generator<number> {
  for (const v of values) if (typeof v === "number") yield v;
}

/** The value as the cell shows it. */
export function shown(column: Column, value: CellValue): string {
  if (value === undefined) return "";
  if (value === null) return "–";
  if (typeof value === "object") return "";
  if (typeof value === "string") return column.type === "tag" ? t.tag(value) : harmless(value);
  switch (column.type) {
    case "ns":
      return inUnit(value, column.unit ?? { name: "ns", scale: 1 });
    case "delta":
      return signed(value, inUnit(value, column.unit ?? { name: "ns", scale: 1 }));
    case "rel":
      return signed(value, percentNumber(value));
    case "milli":
      return sig3(value / 1000);
    case "ppm":
      return percentNumber(value);
    case "bytes":
      return bytes(value);
    default:
      return integer(value);
  }
}

/** A difference always says its direction. */
export function signed(value: number, text: string): string {
  if (/^[<>−]/.test(text)) return text; // too small to print, which says its direction itself; or signed already
  return value > 0 ? `+${text}` : value < 0 ? `−${text.replace(/^-/, "")}` : text;
}

/** The exact value with its unit, for the title and the inspect line. */
export function exact(column: Column, value: CellValue): string {
  if (value === undefined || value === null) return "";
  if (typeof value === "object") return histogramText(value);
  if (typeof value === "string") return harmless(value);
  switch (column.type) {
    case "ns":
      return exactNs(value);
    case "delta":
      return signed(value, exactNs(value).replace("-", "−"));
    case "rel":
      return signed(value, `${(value / 1e4).toFixed(4)} %`.replace("-", "−"));
    case "milli":
      return (value / 1000).toFixed(3);
    case "ppm":
      return `${(value / 1e4).toFixed(4)} %`;
    case "bytes":
      return `${integer(value)} B`;
    default:
      return integer(value);
  }
}

/** Fills a cell of the row's template. reason says why an absent value is absent. */
export function fillCell(td: HTMLElement, column: Column, value: CellValue, reason: string): void {
  const place = td.querySelector<HTMLElement>("[data-role=text], .tag") ?? td;
  if (value === null || value === undefined) {
    const tag = place !== td && place.classList.contains("tag");
    if (tag) place.remove();
    (tag ? td : place).textContent = shown(column, value);
    if (value === null) {
      td.classList.add("absent");
      td.title = reason;
    }
    return;
  }
  if (column.type === "hist" && typeof value === "object") {
    td.title = histogramText(value);
    td.append(sparkline(value, column.span));
    return;
  }
  place.textContent = shown(column, value);
  if (column.type === "name") shorten(place, td, shown(column, value));
  if (column.type === "tag") place.dataset["tag"] = String(value);
  if (column.type === "ppm") td.style.setProperty("--share", String(Math.min(1, Math.max(0, Number(value) / 1e6))));
  if (column.type === "delta") bar(td, column, Number(value));
  if (column.type === "text") td.title = shown(column, value); // it may be cut
  if (isNumeric(column.type)) td.title = exact(column, value);
}

/** A bar from the middle of the cell, as long as the difference is beside the largest of the column. */
function bar(td: HTMLElement, column: Column, value: number): void {
  const most = column.span.to;
  const part = most > 0 ? Math.max(-1, Math.min(1, value / most)) : 0;
  td.dataset["sign"] = value > 0 ? "more" : value < 0 ? "less" : "same";
  td.style.setProperty("--from", String(50 + Math.min(0, part) * 50));
  td.style.setProperty("--to", String(50 + Math.max(0, part) * 50));
}

/**
 * A long name loses its middle, by style alone: copying gives the whole of it. Its end has what tells it from
 * its neighbours.
 */
function shorten(place: HTMLElement, td: HTMLElement, name: string): void {
  if (name.length <= longestName) return;
  td.title = name;
  place.classList.add("long");
  const parts = [name.slice(0, -nameTail), name.slice(-nameTail)].map((text) => {
    const part = document.createElement("span");
    part.textContent = text;
    return part;
  });
  place.replaceChildren(...parts);
}

/** Lower bound in ns of a half-octave bucket. */
export function bucketFloor(i: number): number {
  return i % 2 === 0 ? 2 ** (i / 2) : 1.5 * 2 ** ((i - 1) / 2);
}

function histogramText(h: Histogram): string {
  const unit = columnUnit([bucketFloor(h.first + h.counts.length)]);
  return h.counts
    .map((n, i) => ({ n, i: h.first + i }))
    .filter(({ n }) => n > 0)
    .map(({ n, i }) => `${sig3(bucketFloor(i) / unit.scale)}–${sig3(bucketFloor(i + 1) / unit.scale)} ${unit.name}: ${integer(n)}`)
    .join("\n");
}
