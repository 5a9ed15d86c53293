// Runs the reader's WASM module under Node, for the tests and benchmarks of this folder.
//
//   node harness.mjs MODULE WASM_EXEC READERS < list of files, a line each
//
// Prints one line of JSON a file: {"summary": "..."} or {"error": {...}}, with the time of
// the whole read in ns. READERS is how many ranges a plain file is split into; each range
// has an instance of its own, as in a browser's workers.
import { openSync, readSync, fstatSync, closeSync, readFileSync } from "node:fs";
import { basename } from "node:path";
import { pathToFileURL } from "node:url";

const [modulePath, execPath, readersText] = process.argv.slice(2);
await import(pathToFileURL(execPath));
const module = await WebAssembly.compile(readFileSync(modulePath));
const readers = Number(readersText);
const chunk = 1 << 20;

async function instantiate() {
  const go = new globalThis.Go();
  const instance = await WebAssembly.instantiate(module, go.importObject);
  go.run(instance);
  return instance.exports;
}

const text = (x, length) => Buffer.from(x.mem.buffer, x.ss_out(), length).toString();

// feed reads the file from where the reader wants to go on until it has enough.
function feed(x, fd, size) {
  for (let at = x.ss_consumed(); ; ) {
    const want = Math.min(chunk, size - at);
    if (want <= 0) return x.ss_eof();
    const p = x.ss_space(want);
    const n = readSync(fd, new Uint8Array(x.mem.buffer, p, want), 0, want, at);
    if (n === 0) return x.ss_eof();
    at += n;
    const state = x.ss_commit(n);
    if (state !== 0) return state;
  }
}

function splittable(fd, size) {
  const head = Buffer.alloc(Math.min(size, 4096));
  readSync(fd, head, 0, head.length, 0);
  if (head[0] === 0x1f || head[1] === 0 || head[0] >= 0xfe || head[0] === 0x28) return 0;
  let i = head[0] === 0xef ? 3 : 0;
  while (i < head.length && [9, 10, 13, 32].includes(head[i])) i++;
  return head[i] === 0x7b || head[i] === 0x5b ? head[i] : 0;
}

async function read(name, instances) {
  const fd = openSync(name, "r");
  const size = fstatSync(fd).size;
  const fail = (x) => ({ error: JSON.parse(text(x, x.ss_error())) });
  try {
    const root = splittable(fd, size);
    const k = root && readers > 1 ? readers : 1;
    const cut = (i) => (i >= k ? 1e300 : Math.floor((size / k) * i));
    for (let i = 0; i < k; i++) {
      instances[i].ss_open(cut(i), cut(i + 1), root, 0, 0, 0);
      if (feed(instances[i], fd, size) === 2 && i === 0) return fail(instances[0]);
    }
    let last = instances[0];
    for (let i = 1; i < k; i++) {
      const next = instances[i];
      if (last.ss_at_event() === 1 && last.ss_stop() === next.ss_start()) {
        last = next;
        continue;
      }
      next.dropped = true;
      last.ss_extend(cut(i + 1));
      if (last.ss_at_event() !== 1 && feed(last, fd, size) === 2) return fail(last);
    }
    for (let i = 1; i < k; i++) {
      if (instances[i].dropped) {
        instances[i].dropped = false;
        continue;
      }
      const n = instances[i].ss_partial();
      const partial = Uint8Array.from(new Uint8Array(instances[i].mem.buffer, instances[i].ss_out(), n));
      const p = instances[0].ss_merge_space(n);
      new Uint8Array(instances[0].mem.buffer, p, n).set(partial);
      if (instances[0].ss_merge(n) === 2) return fail(instances[0]);
    }
    const label = Buffer.from(basename(name));
    const p = instances[0].ss_space(label.length);
    new Uint8Array(instances[0].mem.buffer, p, label.length).set(label);
    return { summary: text(instances[0], instances[0].ss_summary(label.length, size)) };
  } finally {
    closeSync(fd);
  }
}

// cpu is this thread's time on a CPU in ns: what a loaded machine does not change.
function cpu() {
  try {
    return Number(readFileSync(`/proc/self/task/${process.pid}/schedstat`, "utf8").split(" ")[0]);
  } catch {
    return null;
  }
}

const instances = [];
for (let i = 0; i < Math.max(1, readers); i++) instances.push({ ...(await instantiate()) });
for (const name of readFileSync(0, "utf8").split("\n")) {
  if (name === "") continue;
  const begin = process.hrtime.bigint();
  const busy = cpu();
  const result = await read(name, instances);
  result.ns = Number(process.hrtime.bigint() - begin);
  result.cpu_ns = busy === null ? null : cpu() - busy;
  console.log(JSON.stringify(result));
}
process.stdout.write("", () => process.exit(0)); // the Go instances would keep it alive
