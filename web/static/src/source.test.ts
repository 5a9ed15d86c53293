import assert from "node:assert/strict";
import { test } from "node:test";
import { ReadError } from "./protocol";
import { BlobSource } from "./source";

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
