/** Go's glue, bundled from GOROOT/lib/wasm/wasm_exec.js by an alias of the build. */
declare module "wasm_exec";

interface GoRuntime {
  importObject: WebAssembly.Imports;
  exit: (code: number) => void;
  /** Runs main; main blocks for ever, after which the exports may be called. */
  run(instance: WebAssembly.Instance): Promise<void>;
}

declare var Go: { new (): GoRuntime };
