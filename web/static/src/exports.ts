/** Tables as files: CSV with exact values, JSON, Markdown as shown. */

import type { Value } from "./order";

export type Cell = Value | object;

/**
 * A CSV field. Spreadsheets run text that begins like a formula, and names in traces are anybody's:
 * such text gets a quote mark in front. Numbers stay numbers, also negative ones.
 */
export function csvField(value: Cell): string {
  if (value === null || value === undefined) return "";
  if (typeof value === "number") return String(value);
  let text = typeof value === "string" ? value : JSON.stringify(value);
  if (/^[=+\-@\t\r]/.test(text)) text = "'" + text;
  return /[",\r\n]/.test(text) || text !== text.trim() ? `"${text.replaceAll('"', '""')}"` : text;
}

export function toCSV(header: readonly string[], rows: readonly (readonly Cell[])[]): string {
  return [header, ...rows].map((row) => row.map(csvField).join(",")).join("\r\n") + "\r\n";
}

/** A Markdown cell: pipes, backslashes and markup marks escaped, one line. Underscores inside words are no markup. */
export function markdownField(text: string): string {
  return text
    .replace(/[\\|`*[\]<>]/g, (c) => (c === "<" ? "&lt;" : c === ">" ? "&gt;" : "\\" + c))
    .replace(/\s*[\r\n]+\s*/g, " ");
}

/** numeric[i] right-aligns column i. */
export function toMarkdown(
  header: readonly string[],
  numeric: readonly boolean[],
  rows: readonly (readonly string[])[],
): string {
  const line = (cells: readonly string[]) => `| ${cells.map(markdownField).join(" | ")} |`;
  const rule = `|${numeric.map((n) => (n ? " ---: " : " --- ")).join("|")}|`;
  return [line(header), rule, ...rows.map(line)].join("\n") + "\n";
}

/** An array of objects, one per row; what is absent is null. */
export function toJSON(keys: readonly string[], rows: readonly (readonly Cell[])[]): string {
  const objects = rows.map((row) => Object.fromEntries(keys.map((k, i) => [k, row[i] ?? null])));
  return JSON.stringify(objects, null, 2) + "\n";
}

/** A file name made of a trace's name and a table's: nothing but letters, digits, dot, dash and underscore. */
export function exportName(trace: string, table: string, extension: string): string {
  const base = trace
    .replace(/\.(json|gz|zst)\b/gi, "")
    .replace(/[^\p{L}\p{N}._-]+/gu, "_")
    .replace(/^[._]+/, "")
    .slice(0, 80);
  return `${base === "" ? "trace" : base}-${table}.${extension}`;
}

/** Offers text as a download. */
export function download(name: string, type: string, text: string): void {
  const url = URL.createObjectURL(new Blob([text], { type }));
  const a = document.createElement("a");
  a.href = url;
  a.download = name;
  a.click();
  // The browser has its own hold on the data once the click was handled.
  setTimeout(() => URL.revokeObjectURL(url), 10_000);
}
