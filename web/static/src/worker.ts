/** A reading worker: one instance of the module, one range of a file at a time. */

import { TraceModule, Status } from "./module";
import { asFailure, failure, toEnd, type Caps, type FromWorker, type Range, type RangeResult, type Request, type Source, type ToWorker } from "./protocol";
import { BlobSource, FetchSource, type ByteSource } from "./source";
import type { Preview } from "./summary";
import { warmText } from "./warm";

interface WorkerScope {
  postMessage(message: FromWorker, transfer?: Transferable[]): void;
  onmessage: ((event: MessageEvent<ToWorker>) => void) | null;
}

const scope = self as unknown as WorkerScope;
const progressMs = 100;
const previewMs = 250;

let module: TraceModule | null = null;
let source: Source | null = null;

function reader(): TraceModule {
  if (module === null) throw failure("crash", "the reader is not started");
  return module;
}

/** Feeds the module until its range is complete. */
async function feed(source: ByteSource, total: number | null, base: number): Promise<RangeResult> {
  const m = reader();
  let bytes = 0;
  let lastProgress = 0;
  // The first preview comes early, so that a small or slow file shows rows at once.
  let lastPreview = performance.now() - previewMs;
  let shown = false;
  try {
    for (let status = Status.More; status !== Status.Done; ) {
      const chunk = await source.next();
      if (chunk === null) {
        status = m.eof();
        if (status === Status.Failed) throw m.error();
        break;
      }
      bytes += chunk.byteLength;
      status = m.feed(chunk, () => source.release(chunk));
      if (status === Status.Failed) throw m.error();
      const now = performance.now();
      if (now - lastProgress >= progressMs) {
        lastProgress = now;
        scope.postMessage({ progress: base + bytes, total });
      }
      const due = now - lastPreview >= previewMs;
      if (due || !shown) {
        const preview = m.preview();
        // Annotations may be rare in a file: the first ones are told when they come.
        const rows: boolean = shown || (JSON.parse(preview) as Preview).phases.length > 0;
        if (due || rows) {
          lastPreview = now;
          scope.postMessage({ preview });
        }
        shown = rows;
      }
    }
  } finally {
    source.close();
  }
  scope.postMessage({ progress: base + bytes, total });
  fed = base + bytes;
  return m.result();
}

/** Bytes this worker has fed for its range so far, over its extensions. */
let fed = 0;

async function open(from: Source, start: number): Promise<{ bytes: ByteSource; total: number | null }> {
  if ("blob" in from) return { bytes: new BlobSource(from.blob, start), total: null };
  const bytes = await FetchSource.open(from.url, start, from.version);
  return { bytes, total: bytes.total };
}

async function read(from: Source, range: Range, caps: Caps): Promise<RangeResult> {
  source = from;
  reader().open(range, caps);
  const { bytes, total } = await open(from, range.start);
  return feed(bytes, total, 0);
}

async function extend(end: number): Promise<RangeResult> {
  if (source === null) throw failure("crash", "nothing to read on from");
  const m = reader();
  m.extend(end);
  const { bytes, total } = await open(source, m.consumed());
  return feed(bytes, total, fed);
}

/** Reads a made-up trace, plain and packed, through to its summary: what follows finds fast code. */
async function warmUp(m: TraceModule, bytes: number): Promise<void> {
  const text = new TextEncoder().encode(warmText(bytes));
  readAll(m, text);
  const packed = new Blob([text]).stream().pipeThrough(new CompressionStream("gzip"));
  readAll(m, new Uint8Array(await new Response(packed).arrayBuffer()));
}

function readAll(m: TraceModule, bytes: Uint8Array): void {
  m.open({ start: 0, end: toEnd, root: 0 }, { columns: 0, rows: 0, nextn: 5 });
  const piece = 1 << 20;
  let status = Status.More;
  for (let at = 0; at < bytes.length && status === Status.More; at += piece) {
    status = m.feed(bytes.subarray(at, at + piece), () => undefined);
  }
  if (status === Status.More) status = m.eof();
  if (status === Status.Failed) throw m.error();
  m.preview();
  m.summary("made up", bytes.length);
}

async function answer(request: Request): Promise<{ value: unknown; transfer?: Transferable[] }> {
  switch (request.op) {
    case "init":
      module = await TraceModule.start(request.module);
      return { value: null };
    case "warm":
      await warmUp(reader(), request.bytes);
      return { value: null };
    case "read":
      return { value: await read(request.source, request.range, request.caps) };
    case "extend":
      return { value: await extend(request.end) };
    case "partial": {
      const partial = reader().partial();
      return { value: partial, transfer: [partial] };
    }
    case "merge":
      return { value: reader().merge(request.partial) };
    case "columns":
      return { value: reader().columns() };
    case "summary":
      return { value: reader().summary(request.name, request.bytes) };
    case "slices":
      return { value: reader().slices(request.name, request.gpu, request.limit) };
  }
}

scope.onmessage = async (event) => {
  const { id, request } = event.data;
  try {
    const { value, transfer } = await answer(request);
    scope.postMessage({ id, ok: value, memory: module?.memory ?? 0 }, transfer ?? []);
  } catch (err) {
    scope.postMessage({ id, failure: asFailure(err) });
  }
};
