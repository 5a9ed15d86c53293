/**
 * The tree of annotations with the names of steps folded: ten shapes of one forward, or six ProfilerStep#n,
 * are one row whose figures are sums, over the merged tree of what is nested in them.
 */

import type { Histogram, TreeNode } from "./summary";

/** A row of the tree, or the sum of several: percentiles cannot be added up, so most sums have none. */
export type Folded = Omit<TreeNode, "p50_ns" | "p95_ns" | "p99_ns"> & {
  id: string;
  /** The group of the outermost row it is nested in. */
  root: TreeNode["group"];
  p50_ns: number | null;
  p95_ns: number | null;
  p99_ns: number | null;
  /** How many rows of the tree it sums up; 1 for a row as it is. */
  rows: number;
  /** Set on a row that opens into the single ones. */
  fold?: { names: number; open: boolean };
};

interface Node {
  row: Folded;
  children: Node[];
  /** Stands below its fold, which is open. */
  single?: boolean;
}

/** The name with everything that differs between steps of a kind replaced by "…". */
export function pattern(name: string): string {
  return name.replace(/\([^()]*\)/g, "(…)").replace(/\d+/g, "…");
}

/** All rows as they are, in pre-order. */
export function plain(tree: readonly TreeNode[]): Folded[] {
  let root: TreeNode["group"] = "other";
  return tree.map((node, i) => {
    if (node.depth === 0) root = node.group;
    return { ...node, id: String(i), root, rows: 1 };
  });
}

/**
 * Folds siblings that are steps and differ in their numbers only. open says which folds, by their id, show
 * their single rows. whole: the steps' time, for shares.
 */
export function folded(
  tree: readonly TreeNode[],
  isStep: (name: string) => boolean,
  open: (id: string) => boolean,
  whole: number,
): Folded[] {
  const out: Folded[] = [];
  const put = (nodes: readonly Node[], depth: number): void => {
    for (const node of foldSiblings(nodes, isStep, open, whole)) {
      out.push({ ...node.row, depth });
      put(node.children, depth + 1);
    }
  };
  put(forest(plain(tree)), 0);
  return out;
}

function forest(rows: readonly Folded[]): Node[] {
  const roots: Node[] = [];
  const path: Node[] = [];
  for (const row of rows) {
    const node: Node = { row, children: [] };
    path.length = Math.min(row.depth, path.length);
    (path.at(-1)?.children ?? roots).push(node);
    path.push(node);
  }
  return roots;
}

function foldSiblings(nodes: readonly Node[], isStep: (name: string) => boolean, open: (id: string) => boolean, whole: number): Node[] {
  const alike = bucket(nodes, (n) => (isStep(n.row.name) && n.single !== true ? `${n.row.thread} ${pattern(n.row.name)}` : null));
  return alike.map((members) => {
    const first = members[0]!;
    if (members.length === 1) return first;
    const id = `fold-${first.row.id}`;
    const isOpen = open(id);
    const row = { ...sum(members, whole), id, name: pattern(first.row.name), fold: { names: members.length, open: isOpen } };
    return { row, children: isOpen ? members.map((n) => ({ ...n, single: true })) : merge(members.flatMap((m) => m.children), whole) };
  });
}

/** Nodes of one name become one, and so do their children. */
function merge(nodes: readonly Node[], whole: number): Node[] {
  return bucket(nodes, (n) => n.row.name).map((same) =>
    same.length === 1 ? same[0]! : { row: sum(same, whole), children: merge(same.flatMap((n) => n.children), whole) },
  );
}

/** Nodes of equal key together, where the first of them stood; those without a key alone. */
function bucket(nodes: readonly Node[], key: (n: Node) => string | null): Node[][] {
  const out: Node[][] = [];
  const seen = new Map<string, Node[]>();
  for (const node of nodes) {
    const k = key(node);
    const members = k === null ? undefined : seen.get(k);
    if (members !== undefined) {
      members.push(node);
      continue;
    }
    const fresh = [node];
    out.push(fresh);
    if (k !== null) seen.set(k, fresh);
  }
  return out;
}

function sum(nodes: readonly Node[], whole: number): Folded {
  const rows = nodes.map((n) => n.row);
  const add = (key: "count" | "total_ns" | "self_ns" | "rows") => rows.reduce((n, r) => n + r[key], 0);
  const [count, total] = [add("count"), add("total_ns")];
  return {
    ...rows[0]!,
    id: `sum-${rows[0]!.id}`,
    rows: add("rows"),
    count,
    total_ns: total,
    self_ns: add("self_ns"),
    mean_ns: Math.floor(total / count),
    max_ns: Math.max(...rows.map((r) => r.max_ns)),
    ...percentiles(rows),
    // Rounded down as the reader does it; the product exceeds what a double holds exactly.
    share_ppm: rows[0]!.share_ppm === null || whole <= 0 ? null : Number((BigInt(total) * 1_000_000n) / BigInt(whole)),
    hist: sumHistograms(rows.map((r) => r.hist)),
  };
}

/** Of rows that ran once each the percentiles are known after all: nearest rank, as the reader takes them. */
function percentiles(rows: readonly Folded[]): Pick<Folded, "p50_ns" | "p95_ns" | "p99_ns"> {
  if (rows.some((r) => r.count !== 1)) return { p50_ns: null, p95_ns: null, p99_ns: null };
  const sorted = rows.map((r) => r.total_ns).sort((a, b) => a - b);
  const at = (percent: number) => sorted[Math.ceil((sorted.length * percent) / 100) - 1]!;
  return { p50_ns: at(50), p95_ns: at(95), p99_ns: at(99) };
}

function sumHistograms(all: readonly Histogram[]): Histogram {
  const some = all.filter((h) => h.counts.length > 0);
  const first = Math.min(...some.map((h) => h.first));
  if (!Number.isFinite(first)) return { first: 0, counts: [] };
  const counts = new Array<number>(Math.max(...some.map((h) => h.first + h.counts.length)) - first).fill(0);
  for (const h of some) h.counts.forEach((n, i) => (counts[h.first - first + i]! += n));
  return { first, counts };
}
