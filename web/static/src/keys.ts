/** Keys: / searches, j and k go through rows, [ and ] through steps, ? lists them. */

import { maybeID } from "./dom";

export interface KeyActions {
  /** To the previous (−1) or next (+1) step. */
  step(by: number): void;
  /** Leaves what the page is narrowed to. */
  escape(): void;
}

export function startKeys(actions: KeyActions): void {
  document.addEventListener("keydown", (event) => {
    if (event.defaultPrevented || event.ctrlKey || event.metaKey || event.altKey) return;
    const at = event.target instanceof HTMLElement ? event.target : null;
    if (at !== null && at.matches("input, textarea, select")) {
      if (event.key === "Escape") at.blur();
      return;
    }
    if (handle(event.key, at, actions)) event.preventDefault();
  });
}

function handle(key: string, at: HTMLElement | null, actions: KeyActions): boolean {
  switch (key) {
    case "/":
      return search(at);
    case "j":
      return row(at, 1);
    case "k":
      return row(at, -1);
    case "ArrowRight":
      return cell(at, 1);
    case "ArrowLeft":
      return cell(at, -1);
    case "Enter":
      return open(at);
    case "[":
      actions.step(-1);
      return true;
    case "]":
      actions.step(1);
      return true;
    case "Escape":
      actions.escape();
      return true;
    case "?":
      return help();
    default:
      return false;
  }
}

/** The filter of the table one is in, or of the first one on the screen. */
function search(at: HTMLElement | null): boolean {
  const own = at?.closest("[data-block]")?.querySelector<HTMLInputElement>("[data-role=filter]");
  const all = [...document.querySelectorAll<HTMLInputElement>("[data-role=filter]")].filter(onPage);
  const seen = all.find((f) => f.getBoundingClientRect().bottom > 0) ?? all[0];
  const filter = own ?? seen ?? maybeID<HTMLInputElement>("url-input");
  filter?.focus();
  filter?.select();
  return filter !== null && filter !== undefined;
}

/** Not so what a closed details holds, although it has its place in the layout. */
function onPage(el: HTMLElement): boolean {
  return el.offsetParent !== null && el.closest("details:not([open]) > :not(summary)") === null;
}

const rowsOf = (table: Element) => [...table.querySelectorAll<HTMLElement>("tbody tr[data-id]:not([hidden])")];

function row(at: HTMLElement | null, by: number): boolean {
  const here = at?.closest<HTMLElement>("tr[data-id]") ?? null;
  if (here === null) return enter();
  const rows = rowsOf(here.closest("table")!);
  const next = rows[rows.indexOf(here) + by];
  const key = at?.closest<HTMLElement>("[data-key]")?.dataset["key"];
  const target = next?.querySelector<HTMLElement>(`[data-key="${key}"]`) ?? next?.querySelector<HTMLElement>("[data-key]");
  focus(target ?? null);
  return true;
}

/** Into the first table on the screen. */
function enter(): boolean {
  const tables = [...document.querySelectorAll<HTMLElement>("table[data-table]")];
  const seen = tables.find((t) => onPage(t) && t.getBoundingClientRect().bottom > 80 && rowsOf(t).length > 0);
  const first = seen === undefined ? null : (rowsOf(seen)[0]?.querySelector<HTMLElement>("[data-key]") ?? null);
  focus(first);
  return first !== null;
}

function cell(at: HTMLElement | null, by: number): boolean {
  const fact = at?.closest<HTMLElement>("dl.facts dd") ?? null;
  if (fact !== null) {
    const all = [...fact.closest("dl")!.querySelectorAll("dd")];
    move(fact, all[all.indexOf(fact) + by] ?? null);
    return true;
  }
  const here = at?.closest<HTMLElement>("tr[data-id] [data-key]") ?? null;
  if (here === null) return false;
  const cells = [...here.parentElement!.querySelectorAll<HTMLElement>("[data-key]")].filter((c) => c.offsetParent !== null);
  focus(cells[cells.indexOf(here) + by] ?? null);
  return true;
}

/** Focus by hand and a single stop for the Tab key in each table. */
function focus(target: HTMLElement | null): void {
  if (target === null) return;
  target.closest("table")?.querySelector("tbody [tabindex='0']")?.setAttribute("tabindex", "-1");
  target.tabIndex = 0;
  target.focus({ preventScroll: true });
  target.scrollIntoView({ block: "nearest", inline: "nearest" });
}

/** From one stop of a row of figures to the next, which is then the one the Tab key finds. */
function move(from: HTMLElement, to: HTMLElement | null): void {
  if (to === null) return;
  from.tabIndex = -1;
  to.tabIndex = 0;
  to.focus();
}

function open(at: HTMLElement | null): boolean {
  const here = at?.matches("[data-key]") ? at.closest<HTMLElement>("tr[data-open], tr[data-behind]") : null;
  if (here != null) at!.click(); // what the row does may depend on the cell
  return here != null;
}

function help(): boolean {
  const keys = maybeID<HTMLDetailsElement>("keys");
  if (keys === null) return false;
  keys.open = !keys.open;
  if (keys.open) {
    keys.querySelector<HTMLElement>("summary")?.focus();
    keys.scrollIntoView({ block: "nearest" });
  }
  return true;
}
