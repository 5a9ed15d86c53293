import assert from "node:assert/strict";
import { test } from "node:test";
import { encodeMetadata, Upload, UploadError, type UploadEnv } from "./tus";

const size = 20 << 20; // three pieces of 8 MiB
const piece = 8 << 20;

/** A server that keeps what it gets; break_ makes a request fail before or after it was taken. */
class FakeServer implements UploadEnv {
  got = 0;
  readonly log: string[] = [];
  readonly waits: number[] = [];
  break_: (method: string, n: number) => "before" | "after" | Response | null = () => null;
  private n = 0;

  async fetch(url: string, init: RequestInit): Promise<Response> {
    const method = init.method!;
    const headers = new Headers(init.headers);
    const how = this.break_(method, this.n++);
    this.log.push(`${method} ${headers.get("Upload-Offset") ?? ""}`.trim());
    assert.equal(headers.get("Tus-Resumable"), "1.0.0");
    if (how instanceof Response) return how;
    if (how === "before") throw new TypeError("network error");
    const response = this.answer(method, url, headers, init.body as Blob | undefined);
    if (how === "after") throw new TypeError("network error");
    return response;
  }

  async sleep(ms: number): Promise<void> {
    this.waits.push(ms);
  }

  private answer(method: string, url: string, headers: Headers, body?: Blob): Response {
    if (method === "POST") {
      assert.equal(headers.get("Upload-Length"), String(size));
      return new Response(null, { status: 201, headers: { Location: "/api/uploads/1" } });
    }
    assert.equal(url, "/api/uploads/1");
    if (method === "PATCH") {
      if (Number(headers.get("Upload-Offset")) !== this.got) return new Response(null, { status: 409 });
      this.got += body!.size;
    }
    const answer = new Headers({ "Upload-Offset": String(this.got) });
    if (this.got === size) {
      answer.set("X-Trace-Id", "abc");
      answer.set("X-Trace-Existing", "true");
    }
    return new Response(null, { status: method === "PATCH" ? 204 : 200, headers: answer });
  }
}

function upload(server: FakeServer): { run: () => Promise<unknown>; progress: number[] } {
  const progress: number[] = [];
  const u = new Upload(
    new Blob([new Uint8Array(size)]),
    "/api/uploads",
    { filename: "a.json" },
    { progress: (sent) => progress.push(sent), waiting: () => undefined },
    server,
  );
  return { run: () => u.run(), progress };
}

test("sends in pieces and returns the stored trace", async () => {
  const server = new FakeServer();
  const { run, progress } = upload(server);
  assert.deepEqual(await run(), { id: "abc", existing: true });
  assert.deepEqual(server.log, ["POST", "PATCH 0", `PATCH ${piece}`, `PATCH ${2 * piece}`]);
  assert.deepEqual(progress, [piece, 2 * piece, size]);
});

test("asks where to go on after a broken connection, waiting longer each time", async () => {
  const server = new FakeServer();
  server.break_ = (_, n) => (n === 2 || n === 3 ? "before" : null);
  const { run } = upload(server);
  await run();
  assert.deepEqual(server.log, ["POST", "PATCH 0", `PATCH ${piece}`, "HEAD", "HEAD", `PATCH ${piece}`, `PATCH ${2 * piece}`]);
  assert.deepEqual(server.waits, [1000, 2000]);
});

test("a lost answer to the last piece is found out by asking", async () => {
  const server = new FakeServer();
  server.break_ = (_, n) => (n === 3 ? "after" : null);
  assert.deepEqual(await upload(server).run(), { id: "abc", existing: true });
  assert.equal(server.log.at(-1), "HEAD");
});

test("a refusal ends it with the server's words", async () => {
  const server = new FakeServer();
  server.break_ = (method) =>
    method === "PATCH" ? Response.json({ error: "the quota of 50 GiB is used up", hint: "delete traces" }, { status: 507 }) : null;
  await assert.rejects(upload(server).run(), (err: UploadError) => {
    assert.equal(err.message, "the quota of 50 GiB is used up");
    assert.equal(err.hint, "delete traces");
    return true;
  });
  assert.deepEqual(server.waits, []);
});

test("a server in trouble is tried again, not for ever", async () => {
  const server = new FakeServer();
  server.break_ = () => new Response(null, { status: 503 });
  await assert.rejects(upload(server).run(), UploadError);
  assert.equal(server.waits.length, 11);
  assert.equal(Math.max(...server.waits), 30_000);
});

test("metadata is UTF-8 in base64, empty values left out", () => {
  assert.equal(encodeMetadata({ filename: "追踪.json", label: "", note: "a" }), "filename 6L+96LiqLmpzb24=,note YQ==");
});
