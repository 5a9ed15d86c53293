/** One of the page's tables: fills, sorts, filters, groups, exports; its state is in the address. */

import { columnsOf, exact, fillCell, fitColumns, isNumeric, shown, type CellValue, type Column } from "./cells";
import { fromTemplate, maybeRole, role } from "./dom";
import { download, exportName, toCSV, toJSON, toMarkdown, type Cell } from "./exports";
import { inspectable } from "./inspect";
import { harmless } from "./names";
import { arrange, matcher, type Placed } from "./order";
import { getState, onState, setState } from "./state";
import { t } from "./strings";

/**
 * Rows shown at first: the page scrolls, so a table must not push the next ones out of reach. Once all are
 * asked for, so many are added per frame: more at once would freeze the page.
 */
const firstRows = 60;
const rowsPerFrame = 400;

export interface TableSpec<R> {
  /** The value of a column, by the column's key. */
  value(row: R, key: string): CellValue;
  id(row: R): string;
  /** What the filter looks at. */
  text(row: R): string;
  /** Why a value is absent. */
  reason?(row: R, key: string): string;
  /** How many samples stand behind a value, for the inspect line. */
  samples?(row: R, key: string): string;
  group?: (row: R) => string;
  groups?: readonly string[];
  groupRow?(group: string, rows: readonly R[]): HTMLElement;
  depth?: (row: R) => number;
  decorate?(tr: HTMLElement, row: R): void;
  /** Opens the rows behind a row: on click and Enter. */
  open?(row: R): void;
  /** Which rows open, where not all of them do. */
  canOpen?(row: R): boolean;
  /** What stands behind a row's figures, shown below it on a click on one; null: nothing. */
  behind?(row: R): HTMLElement | null;
  /** A further condition on rows, beside the filter's words. */
  only?: (row: R) => boolean;
  /** The rows, where some are sums of others: each single one (for words and files), or those to look at. */
  rows?(each: boolean): readonly R[];
  /** Said beside the count of rows. */
  note?(each: boolean): string;
  /** Keys of columns that say the same in every row, which the note says instead. */
  hide?: readonly string[];
}

/** Whether a click was on a figure, not on a row's name. */
function onFigure(event: MouseEvent): boolean {
  return event.target instanceof Element && event.target.closest("td.num, td.share, td.hist") !== null;
}

export class DataTable<R> {
  private readonly section: HTMLElement;
  private readonly table: HTMLTableElement;
  private readonly body: HTMLElement;
  private readonly filter: HTMLInputElement | null;
  readonly columns: Column[];
  private rows: readonly R[] = [];
  private placed: Placed<R>[] = [];
  private partial = false;
  private all = false;
  private turn = 0;
  /** Names the exported files. */
  traceName = "trace";

  constructor(
    readonly name: string,
    public spec: TableSpec<R>,
  ) {
    this.section = document.querySelector<HTMLElement>(`[data-block="${name}"]`)
      ?? document.querySelector<HTMLElement>(`table[data-table="${name}"]`)!.parentElement!;
    this.table = document.querySelector<HTMLTableElement>(`table[data-table="${name}"]`)!;
    this.body = role(this.table, "rows");
    this.filter = maybeRole<HTMLInputElement>(this.section, "filter");
    this.columns = columnsOf(this.table);
    this.watchWidth();
    this.listen();
    this.readState();
    onState(() => {
      this.readState();
      this.render();
    });
  }

  /** Shows rows. partial: the file is still being read. */
  set(rows: readonly R[], partial = false): void {
    this.rows = rows;
    this.partial = partial;
    this.render();
  }

  get size(): number {
    return this.rows.length;
  }

  /** Rows in the order shown, filtered. */
  get visible(): readonly R[] {
    return this.placed.map((p) => p.row);
  }

  setFilter(words: string): void {
    setState(`${this.name}.q`, words === "" ? null : words);
    if (this.filter !== null) this.filter.value = words;
    this.render();
  }

  render(): void {
    const { spec } = this;
    const all = spec.rows === undefined ? this.rows : [...spec.rows(true), ...spec.rows(false)];
    fitColumns(this.columns, (c) => all.map((r) => spec.value(r, c.key)));
    const sort = this.sorting();
    this.placed = this.arranged(this.source(this.filtering));
    for (const c of this.columns) {
      const dir = c === sort?.column ? (sort.descending ? "descending" : "ascending") : "none";
      c.head.setAttribute("aria-sort", dir);
    }
    this.table.dataset["hide"] = spec.hide?.join(" ") ?? "";
    this.fill();
    this.notes();
  }

  private get filtering(): boolean {
    return (this.filter?.value ?? "").trim() !== "";
  }

  private source(each: boolean): readonly R[] {
    return this.spec.rows?.(each) ?? this.rows;
  }

  private arranged(rows: readonly R[]): Placed<R>[] {
    const { spec } = this;
    const sort = this.sorting();
    const matches = matcher(this.filter?.value ?? "");
    return arrange(rows, {
      value: (r) => {
        const v = sort === null ? 0 : spec.value(r, sort.column.key);
        if (typeof v === "object" && v !== null) return undefined;
        // Of differences the large ones are looked for, whichever way they go.
        return sort?.column.type === "delta" && typeof v === "number" ? Math.abs(v) : v;
      },
      descending: sort?.descending ?? false,
      keep: (r) => (spec.only?.(r) ?? true) && matches(spec.text(r)),
      group: spec.group,
      groups: spec.groups,
      depth: spec.depth,
    });
  }

  private fill(): void {
    const turn = ++this.turn;
    const focused = this.body.contains(document.activeElement)
      ? (document.activeElement as HTMLElement).closest("tr")?.dataset["id"]
      : undefined;
    this.body.replaceChildren();
    let at = 0;
    const step = (count: number) => {
      const part = document.createDocumentFragment();
      for (const end = Math.min(this.placed.length, at + count); at < end; at++) this.append(part, at);
      this.body.append(part);
    };
    step(firstRows);
    if (focused !== undefined) {
      this.body.querySelector<HTMLElement>(`tr[data-id="${CSS.escape(focused)}"] [tabindex]`)?.focus({ preventScroll: true });
    }
    const more = () => {
      if (turn !== this.turn || at >= this.placed.length) return;
      step(rowsPerFrame);
      requestAnimationFrame(more);
    };
    if (this.all) requestAnimationFrame(more);
  }

  private append(to: DocumentFragment, at: number): void {
    const { row, group } = this.placed[at]!;
    const { spec } = this;
    if (spec.groupRow !== undefined && (at === 0 || this.placed[at - 1]!.group !== group)) {
      to.append(spec.groupRow(group, this.placed.filter((p) => p.group === group).map((p) => p.row)));
    }
    const tr = fromTemplate<HTMLTableRowElement>(`tpl-${this.name}-row`);
    tr.dataset["id"] = spec.id(row);
    for (const column of this.columns) {
      const cell = tr.querySelector<HTMLElement>(`[data-key="${column.key}"]`);
      if (cell === null) continue;
      const value = spec.value(row, column.key);
      fillCell(cell, column, value, spec.reason?.(row, column.key) ?? t.absent.none);
      cell.tabIndex = -1;
      inspectable(cell, () => ({
        value: exact(column, value) || (value === null ? spec.reason?.(row, column.key) ?? t.absent.none : ""),
        label: column.label,
        def: column.def,
        samples: spec.samples?.(row, column.key) ?? "",
      }));
    }
    const first = tr.querySelector<HTMLElement>("[data-key]");
    if (first !== null && at === 0) first.tabIndex = 0;
    if (spec.depth !== undefined) tr.style.setProperty("--depth", String(spec.depth(row)));
    if (spec.open !== undefined && (spec.canOpen?.(row) ?? true)) {
      tr.dataset["open"] = "";
      tr.addEventListener("click", (event) => {
        if (spec.behind !== undefined && onFigure(event)) return;
        if (getSelection()?.isCollapsed !== false) spec.open!(row);
      });
    }
    spec.decorate?.(tr, row);
    to.append(tr);
    if (spec.behind !== undefined) this.appendBehind(to, tr, row);
  }

  /** Lets the row's figures be opened, and shows what is behind those of the row that is. */
  private appendBehind(to: DocumentFragment, tr: HTMLTableRowElement, row: R): void {
    const id = this.spec.id(row);
    const key = `${this.name}.at`;
    const open = getState(key) === id;
    const behind = open ? this.spec.behind!(row) : null;
    tr.dataset["behind"] = String(open);
    tr.addEventListener("click", (event) => {
      if (!onFigure(event) || getSelection()?.isCollapsed === false) return;
      setState(key, open ? null : id, true);
      this.render();
    });
    if (behind === null) return;
    const below = document.createElement("tr");
    below.className = "below";
    const cell = document.createElement("td");
    cell.colSpan = this.columns.length;
    cell.append(behind);
    below.append(cell);
    to.append(below);
  }

  private notes(): void {
    const count = maybeRole(this.section, "count");
    const { filtering } = this;
    if (count !== null) count.textContent = t.rows(this.placed.length, this.source(filtering).length, this.partial);
    const note = maybeRole(this.section, "count-note");
    if (note !== null) {
      const text = this.spec.note?.(filtering) ?? "";
      note.textContent = text === "" ? "" : `· ${harmless(text)}`;
    }
    // A table without a single row is its reason, not a header.
    const bare = this.rows.length === 0;
    this.table.closest<HTMLElement>(".scroll")!.hidden = bare;
    for (const tools of this.section.querySelectorAll<HTMLElement>(".tools, .bar")) tools.hidden = bare;
    const empty = maybeRole(this.section, "empty");
    if (empty !== null) {
      empty.hidden = this.placed.length > 0;
      empty.textContent = this.rows.length > 0 ? t.empty.filtered : this.partial ? t.empty.reading : t.empty.table(this.name);
    }
    const more = maybeRole(this.section, "more");
    if (more !== null) {
      more.hidden = this.all || this.placed.length <= firstRows;
      const button = more.querySelector("button");
      if (button !== null) button.textContent = t.showAll(this.placed.length);
    }
  }

  private sorting(): { column: Column; descending: boolean } | null {
    const [key, dir] = (getState(`${this.name}.sort`) ?? "").split(":");
    const chosen = this.columns.find((c) => c.key === key);
    if (chosen !== undefined) return { column: chosen, descending: dir === "desc" };
    const byDefault = this.columns.find((c) => c.head.dataset["default"] !== undefined);
    if (byDefault === undefined) return null;
    return { column: byDefault, descending: byDefault.head.dataset["default"] === "descending" };
  }

  private sortBy(column: Column): void {
    const now = this.sorting();
    // Numbers first come largest first, text from A; a second click turns it round.
    const descending = now?.column === column ? !now.descending : isNumeric(column.type);
    setState(`${this.name}.sort`, `${column.key}:${descending ? "desc" : "asc"}`);
    this.render();
  }

  private readState(): void {
    if (this.filter !== null) this.filter.value = getState(`${this.name}.q`) ?? "";
  }

  /** Only a table wider than its place scrolls by itself, and only then the Tab key stops at it. */
  private watchWidth(): void {
    const place = this.table.parentElement!;
    const watch = new ResizeObserver(() => {
      const fits = this.table.offsetWidth <= place.clientWidth;
      place.toggleAttribute("data-fits", fits);
      place.tabIndex = fits ? -1 : 0;
    });
    watch.observe(place);
    watch.observe(this.table);
  }

  private listen(): void {
    for (const c of this.columns) {
      c.head.querySelector("[data-action=sort]")?.addEventListener("click", () => this.sortBy(c));
    }
    this.filter?.addEventListener("input", () => {
      const words = this.filter!.value;
      setState(`${this.name}.q`, words === "" ? null : words);
      this.render();
    });
    for (const button of this.section.querySelectorAll<HTMLElement>("[data-export]")) {
      button.addEventListener("click", () => this.export(button.dataset["export"]!));
    }
    maybeRole(this.section, "more")?.querySelector("button")?.addEventListener("click", () => {
      this.all = true;
      this.render();
    });
  }

  private export(format: string): void {
    const { depth } = this.spec;
    // Nesting is told by a column of its own, which only files have.
    const keys = (columns: Column[]) => [...columns.map((c) => c.key), ...(depth === undefined ? [] : ["depth"])];
    const values = (row: R, columns: Column[]): Cell[] => [
      ...columns.map((c) => this.spec.value(row, c.key)),
      ...(depth === undefined ? [] : [depth(row)]),
    ];
    // Files for computing hold the single rows; a table to paste is as shown.
    const each = this.arranged(this.source(true)).map((p) => p.row);
    if (format === "json") {
      const whole = this.columns.filter((c) => c.type !== "open");
      const text = toJSON(keys(whole), each.map((r) => values(r, whole)));
      download(exportName(this.traceName, this.name, "json"), "application/json", text);
      return;
    }
    const columns = this.columns.filter((c) => c.type !== "hist" && c.type !== "open");
    if (format === "csv") {
      const text = toCSV(keys(columns), each.map((r) => values(r, columns)));
      download(exportName(this.traceName, this.name, "csv"), "text/csv", text);
      return;
    }
    const header = columns.map((c) => {
      const unit = c.type === "ns" || c.type === "delta" ? c.unit?.name : c.type === "ppm" || c.type === "rel" ? "%" : undefined;
      return unit === undefined ? c.label : `${c.label} (${unit})`;
    });
    const cells = this.visible.map((r) =>
      columns.map((c) => (c.type === "name" ? "· ".repeat(depth?.(r) ?? 0) : "") + shown(c, this.spec.value(r, c.key))),
    );
    const text = toMarkdown(header, columns.map((c) => isNumeric(c.type)), cells);
    download(exportName(this.traceName, this.name, "md"), "text/markdown", text);
  }
}
