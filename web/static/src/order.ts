/** Sorting, filtering and grouping of table rows, also of nested ones, without the page. */

export type Value = number | string | null | undefined;

export interface Placed<R> {
  row: R;
  group: string;
}

export interface Arrangement<R> {
  value: (row: R) => Value;
  descending: boolean;
  /** Rows to keep; a row whose descendant is kept stays, for its context. */
  keep: (row: R) => boolean;
  group?: ((row: R) => string) | undefined;
  /** Groups in this order first, others as they appear. */
  groups?: readonly string[] | undefined;
  /** Nesting of a row, in pre-order; siblings are sorted, children stay below their parent. */
  depth?: ((row: R) => number) | undefined;
}

interface Node<R> {
  row: R;
  kept: boolean;
  children: Node<R>[];
}

/** GPU 2 before GPU 10. */
const collator = new Intl.Collator("en", { numeric: true });

/** Numbers and strings in their order; what is absent comes last in both directions. */
export function compare(a: Value, b: Value, descending: boolean): number {
  const noA = a === null || a === undefined;
  const noB = b === null || b === undefined;
  if (noA || noB) return noA === noB ? 0 : noA ? 1 : -1;
  const c = typeof a === "string" && typeof b === "string" ? collator.compare(a, b) : a < b ? -1 : a > b ? 1 : 0;
  return descending ? -c : c;
}

/** Rows in the order they are shown. Stable: equal rows stay as they came. */
export function arrange<R>(rows: readonly R[], how: Arrangement<R>): Placed<R>[] {
  const placed: Placed<R>[] = [];
  for (const [group, members] of byGroup(rows, how)) {
    flatten(forest(members, how), how, group, placed);
  }
  return placed;
}

function byGroup<R>(rows: readonly R[], how: Arrangement<R>): Map<string, R[]> {
  const groups = new Map<string, R[]>();
  if (how.group === undefined) return groups.set("", [...rows]);
  for (const g of how.groups ?? []) groups.set(g, []);
  for (const row of rows) {
    const g = how.group(row);
    const members = groups.get(g);
    if (members === undefined) groups.set(g, [row]);
    else members.push(row);
  }
  return groups;
}

function forest<R>(rows: readonly R[], how: Arrangement<R>): Node<R>[] {
  const roots: Node<R>[] = [];
  const path: Node<R>[] = [];
  for (const row of rows) {
    const node: Node<R> = { row, kept: how.keep(row), children: [] };
    const depth = Math.min(how.depth?.(row) ?? 0, path.length);
    path.length = depth;
    const parent = path[depth - 1];
    (parent === undefined ? roots : parent.children).push(node);
    path.push(node);
    if (node.kept) for (const p of path) p.kept = true;
  }
  return roots;
}

function flatten<R>(nodes: Node<R>[], how: Arrangement<R>, group: string, out: Placed<R>[]): void {
  const sorted = nodes
    .filter((n) => n.kept)
    .sort((a, b) => compare(how.value(a.row), how.value(b.row), how.descending));
  for (const node of sorted) {
    out.push({ row: node.row, group });
    flatten(node.children, how, group, out);
  }
}

/** A filter's words, all of which must occur. */
export function matcher(query: string): (text: string) => boolean {
  const words = query.toLowerCase().split(/\s+/).filter((w) => w !== "");
  if (words.length === 0) return () => true;
  return (text) => {
    const lower = text.toLowerCase();
    return words.every((w) => lower.includes(w));
  };
}
