import assert from "node:assert/strict";
import { test } from "node:test";
import { ReadError } from "./protocol";
import { BlobSource, FetchSource, firstPart } from "./source";

/** A blob whose streams deliver chunk bytes at a time; the first one stops delivering after stallAt bytes. */
function stallingBlob(data: Uint8Array, chunk: number, stallAt: number, opened: number[], endsAt = data.length): Blob {
  let first = true;
  const slice = (at: number) => ({
    stream: () => {
      opened.push(at);
      const stalls = first;
      first = false;
      let pos = at;
      return new ReadableStream({
        type: "bytes",
        pull(controller) {
          if (stalls && pos >= stallAt) return new Promise<void>(() => undefined);
          if (pos >= endsAt) {
            controller.close();
            controller.byobRequest?.respond(0);
            return undefined;
          }
          controller.enqueue(data.slice(pos, (pos = Math.min(endsAt, pos + chunk))));
          return undefined;
        },
      });
    },
  });
  return { size: data.length, slice } as unknown as Blob;
}

async function readAll(source: BlobSource): Promise<number[]> {
  const out: number[] = [];
  for (let chunk = await source.next(); chunk !== null; chunk = await source.next()) {
    out.push(...chunk);
    source.release(chunk);
  }
  source.close();
  return out;
}

const data = Uint8Array.from({ length: 1000 }, (_, i) => i & 255);

test("a file is read from an offset to its end", async () => {
  const opened: number[] = [];
  const got = await readAll(new BlobSource(stallingBlob(data, 64, Infinity, opened), 100));
  assert.deepEqual(got, [...data.subarray(100)]);
  assert.deepEqual(opened, [100]);
});

test("a stalled stream is opened again where it stood, and no byte is lost or doubled", async () => {
  const opened: number[] = [];
  const got = await readAll(new BlobSource(stallingBlob(data, 64, 400, opened), 0, 20));
  assert.deepEqual(got, [...data]);
  assert.equal(opened.length, 2);
  assert.ok(opened[1]! >= 384 && opened[1]! <= 448, `opened at ${opened[1]}`);
});

test("a file that ends early is an error with its offset", async () => {
  const blob = stallingBlob(data, 64, Infinity, [], 512);
  await assert.rejects(readAll(new BlobSource(blob, 0)), (err: ReadError) => {
    assert.equal(err.failure.code, "read");
    assert.equal(err.failure.offset, 512);
    return true;
  });
});

test("a real blob", async () => {
  assert.deepEqual(await readAll(new BlobSource(new Blob([data]), 990)), [...data.subarray(990)]);
});

/** A server of one text that answers ranges, under the entity tag given by tag(). */
function serving(text: string, tag: () => string, ranges = true): void {
  globalThis.fetch = async (_url, init) => {
    const asked = new Headers(init?.headers);
    const range = /^bytes=(\d+)-(\d*)$/.exec(asked.get("Range") ?? "");
    const fits = asked.get("If-Range") === null || asked.get("If-Range") === tag();
    const headers: Record<string, string> = { ETag: tag() };
    if (!ranges || range === null || !fits) return new Response(text, { headers: { ...headers, "Content-Length": String(text.length) } });
    const end = range[2] === "" ? text.length - 1 : Math.min(text.length - 1, Number(range[2]));
    headers["Content-Range"] = `bytes ${range[1]}-${end}/${text.length}`;
    return new Response(text.slice(Number(range[1]), end + 1), { status: 206, headers });
  };
}

async function textOf(source: FetchSource): Promise<string> {
  let out = "";
  for (let chunk = await source.next(); chunk !== null; chunk = await source.next()) {
    out += new TextDecoder().decode(chunk);
    source.release(chunk);
  }
  source.close();
  return out;
}

test("an address is read in parts of one version", async () => {
  let tag = '"a"';
  serving("0123456789", () => tag);
  const part = await firstPart("/x", 4);
  assert.deepEqual([part!.size, part!.version, new TextDecoder().decode(part!.head)], [10, '"a"', "0123"]);
  const whole = await FetchSource.open("/x", 0, '"a"');
  assert.equal(whole.total, 10);
  assert.equal(await textOf(whole), "0123456789");
  const rest = await FetchSource.open("/x", 7, '"a"');
  assert.equal(rest.total, null);
  assert.equal(await textOf(rest), "789");
  tag = '"b"';
  const other = (err: { failure?: { code: string } }) => err.failure?.code === "changed";
  for (const start of [0, 7]) await assert.rejects(FetchSource.open("/x", start, '"a"'), other);
});

test("a server without ranges is read as a whole", async () => {
  serving("0123456789", () => '"a"', false);
  assert.equal(await firstPart("/x", 4), null);
  serving("0123456789", () => 'W/"a"');
  assert.equal(await firstPart("/x", 4), null);
  assert.equal(await textOf(await FetchSource.open("/x")), "0123456789");
});
