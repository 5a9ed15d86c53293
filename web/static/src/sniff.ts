/** What a file's first bytes say about how to read it. The reader proper detects formats by itself. */

export type Sniffed =
  | { kind: "json"; root: number } // may be split over readers
  | { kind: "single" } // gzip, UTF-16, or something in front of the JSON: one reader from the first byte
  | { kind: "zstd" }
  | { kind: "empty" };

/** How much of the file sniff wants to see. */
export const sniffBytes = 4096;

export function sniff(head: Uint8Array): Sniffed {
  if (head.length === 0) return { kind: "empty" };
  if (head[0] === 0x28 && head[1] === 0xb5 && head[2] === 0x2f && head[3] === 0xfd) return { kind: "zstd" };
  let i = head[0] === 0xef && head[1] === 0xbb && head[2] === 0xbf ? 3 : 0;
  while (i < head.length && (head[i] === 0x20 || head[i] === 0x09 || head[i] === 0x0a || head[i] === 0x0d)) i++;
  const root = head[i];
  // A zero byte beside the bracket is UTF-16 without a byte-order mark.
  if ((root !== 0x7b && root !== 0x5b) || head[i + 1] === 0) return { kind: "single" };
  return { kind: "json", root };
}
