/** The trace page's entry point: ties the page's elements to the app. */

import { App, type Config } from "./app";
import { scriptJSON } from "./dom";
import { takeFile } from "./handover";
import { startInputs } from "./inputs";
import { startInspect } from "./inspect";
import { startKeys } from "./keys";
import { whenIdle } from "./standby";
import { t } from "./strings";
import { startSwitches } from "./theme";

const config = scriptJSON<Config>("ss-config");
startSwitches();
startInspect();
const app = new App(config);

if (typeof WebAssembly === "undefined" || typeof WebAssembly.compileStreaming !== "function") {
  app.refuse({ title: t.error.noWasm, detail: "", hint: t.error.noWasmHint });
} else {
  startInputs({
    files: (files) => app.openFiles(files),
    address: (text) => app.openAddress(text),
    refuse: (what) => app.refuse(what),
  });
  startKeys({
    step: (by) => app.results.steps.move(by),
    escape: () => app.results.steps.select(null),
  });
  // While the person looks for the file, the reader is already fetched, compiled and run in.
  app.standby.compile().catch(() => undefined);
  whenIdle(() => app.standby.prepare(navigator.hardwareConcurrency || 1).catch(() => undefined));
  const query = new URLSearchParams(location.search);
  const address = query.get("trace");
  const key = query.get("handover");
  if (address !== null && address !== "") app.openAddress(address, false);
  else if (key !== null) void app.openHanded(takeFile(key));
}
