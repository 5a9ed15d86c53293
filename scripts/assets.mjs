// Names the built files by their content, compresses them once, and writes the
// manifest the server reads. Only the .gz forms are kept: every browser takes
// them, and the server unpacks for the rare client that does not.
// Usage: node assets.mjs BUILT DIST
import { createHash } from "node:crypto";
import { mkdirSync, readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { extname, join } from "node:path";
import { gzipSync } from "node:zlib";

const [built, dist] = process.argv.slice(2);
if (!built || !dist) {
  console.error("usage: node assets.mjs BUILT DIST");
  process.exit(2);
}

const manifest = {};
const files = [];
for (const name of readdirSync(built).sort()) {
  const bytes = readFileSync(join(built, name));
  const ext = extname(name);
  const hash = createHash("sha256").update(bytes).digest("hex").slice(0, 12);
  const hashed = `${name.slice(0, -ext.length)}-${hash}${ext}`;
  const packed = gzipSync(bytes, { level: 9 });
  manifest[name] = hashed;
  files.push([`${hashed}.gz`, packed]);
  console.log(`  ${hashed.padEnd(32)} ${kb(bytes.length)}, ${kb(packed.length)} gzipped`);
}

// The old files go last, so that a failed build leaves the working ones.
mkdirSync(dist, { recursive: true });
const keep = new Set([".gitkeep", "manifest.json", ...files.map(([name]) => name)]);
for (const [name, packed] of files) writeFileSync(join(dist, name), packed);
writeFileSync(join(dist, "manifest.json.new"), JSON.stringify(manifest, null, 2) + "\n");
renameSync(join(dist, "manifest.json.new"), join(dist, "manifest.json"));
for (const name of readdirSync(dist)) {
  if (!keep.has(name)) rmSync(join(dist, name));
}

function kb(n) {
  return `${(n / 1000).toFixed(1)} kB`;
}
