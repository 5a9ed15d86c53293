/** Figures outside of tables: a label, a value, and what stands behind it. */

import { fromTemplate } from "./dom";
import { inspectable } from "./inspect";
import { harmless } from "./names";

/** The definition that a table's header has for a column, also where its figure is told elsewhere. */
export function definition(table: string, key: string): string {
  return document.querySelector<HTMLElement>(`table[data-table="${table}"] th[data-key="${key}"]`)?.dataset["def"] ?? "";
}

/** Appends a label and a value to a dl of facts. title: the exact value. The Tab key stops at the first, arrows go on. */
export function addFact(dl: HTMLElement, label: string, value: string, title = "", def = ""): void {
  const item = fromTemplate("tpl-fact");
  item.querySelector("dt")!.textContent = label;
  const dd = item.querySelector("dd")!;
  dd.textContent = harmless(value);
  if (title !== "" || def !== "") dd.title = harmless([title, def].filter((s) => s !== "").join("\n"));
  dd.tabIndex = dl.childElementCount === 0 ? 0 : -1;
  inspectable(dd, () => ({ label, value: harmless(title === "" ? value : title), def, samples: "" }));
  dl.append(item);
}
