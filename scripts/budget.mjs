// Fails when the first load has grown over its budget: the reader, and the rest
// of the page beside it, in bytes as sent.
// Usage: node budget.mjs DIST
import { readdirSync, statSync } from "node:fs";
import { join } from "node:path";

const WASM = 900_000;
const REST = 400_000;

const dist = process.argv[2];
if (!dist) {
  console.error("usage: node budget.mjs DIST");
  process.exit(2);
}
let wasm = 0;
let rest = 0;
for (const name of readdirSync(dist)) {
  if (!name.endsWith(".gz")) continue;
  const { size } = statSync(join(dist, name));
  if (name.endsWith(".wasm.gz")) wasm += size;
  else rest += size;
}
if (wasm === 0 || rest === 0) {
  console.error(`budget: ${dist} is not built: run make build`);
  process.exit(1);
}
if (wasm > WASM || rest > REST) {
  console.error(`budget: over: the reader takes ${wasm} of ${WASM} bytes, the rest ${rest} of ${REST}; find what came in with the last change`);
  process.exit(1);
}
