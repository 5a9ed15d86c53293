/** How a value of each column type is shown, named exactly, and exported. */

import { columnUnit, exactNs, integer, inUnit, percentNumber, bytes, sig3, type Unit } from "./format";
import { harmless } from "./names";
import type { Value } from "./order";
import { t } from "./strings";
import { sparkline } from "./spark";
import type { Histogram } from "./summary";

export type CellType = "ns" | "int" | "milli" | "ppm" | "text" | "name" | "bytes" | "hist" | "tag";

/** A column as the page's header declares it. */
export interface Column {
  key: string;
  type: CellType;
  label: string;
  def: string;
  head: HTMLTableCellElement;
  /** For times: the one unit of the column; set anew whenever the rows change, as is span. */
  unit: Unit | null;
  /** For histograms: the first bucket of all rows and the one after the last, so that rows can be compared. */
  span: { from: number; to: number };
}

/** undefined: not known yet or not meant for this row (blank). null: does not exist (–, with its reason). */
export type CellValue = Value | Histogram;

const numeric: ReadonlySet<CellType> = new Set(["ns", "int", "milli", "ppm", "bytes"]);

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
    span: { from: 0, to: 0 },
  }));
}

/**
 * Fits a column to its values: times get one unit for all, histograms one axis. The unit is written into
 * the header.
 */
export function fitColumn(column: Column, values: readonly CellValue[]): void {
  if (column.type === "hist") {
    const all = values.filter((v): v is Histogram => typeof v === "object" && v !== null && v.counts.length > 0);
    column.span = {
      from: Math.min(...all.map((h) => h.first)),
      to: Math.max(...all.map((h) => h.first + h.counts.length)),
    };
    return;
  }
  const place = column.head.querySelector("[data-role=unit]");
  const sizes = column.type === "ns" ? [...numbers(values)] : [];
  if (column.type === "ns") column.unit = columnUnit(sizes);
  const name = column.type === "ns" ? (sizes.length > 0 ? column.unit?.name : "") : column.type === "ppm" ? "%" : undefined;
  if (place !== null && name !== undefined) place.textContent = name;
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

/** The exact value with its unit, for the title and the inspect line. */
export function exact(column: Column, value: CellValue): string {
  if (value === undefined || value === null) return "";
  if (typeof value === "object") return histogramText(value);
  if (typeof value === "string") return harmless(value);
  switch (column.type) {
    case "ns":
      return exactNs(value);
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
  if (column.type === "text") td.title = shown(column, value); // it may be cut
  if (isNumeric(column.type)) td.title = exact(column, value);
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
