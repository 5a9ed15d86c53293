/** The page of captures: states follow live; the form says at once what its choice would bring. */

import { maybeID } from "./dom";
import { startKeys } from "./keys";
import { follow, Throttle } from "./live";
import { refresh, tick } from "./patch";
import { startSwitches } from "./theme";

const refreshEvery = 500;

startSwitches();
startKeys({ step: () => undefined, escape: () => undefined });

const root = document.querySelector<HTMLElement>("[data-live-root]")!;

/** The record's address: the page's own. */
function part(): string {
  const url = new URL(location.href);
  url.searchParams.set("part", "body");
  url.searchParams.delete("started");
  return `/captures${url.search}`;
}

// A form's answer has the address of the form; whoever reloads it must not send it again.
if (location.pathname === "/captures") {
  const update = new Throttle(() => refresh(root, part()), () => refreshEvery);
  follow({ capture: () => update.poke(), open: () => update.poke() });
}
setInterval(() => tick(), 1000);
tick();

document.addEventListener("keydown", (event) => {
  if (event.key !== "Enter" || !(event.target instanceof HTMLElement) || !event.target.matches("[data-key]")) return;
  event.target.closest("tr")?.querySelector<HTMLElement>(".result a")?.click();
});

const choose = maybeID<HTMLFormElement>("choose");
choose?.querySelector("select")?.addEventListener("change", () => choose.requestSubmit());

const form = maybeID<HTMLFormElement>("capture-form");
if (form !== null) startForm(form);

function startForm(form: HTMLFormElement): void {
  const boxes = [...form.querySelectorAll<HTMLInputElement>("input[name=engine]:not(:disabled)")];
  const steps = form.querySelector<HTMLInputElement>("input[name=steps]")!;
  const submit = form.querySelector<HTMLButtonElement>("button[type=submit]")!;
  const expect = maybeID("expect")!;
  const recording = maybeID("recording")!;
  const seconds = Number(recording.dataset["step"]);
  const fill = (template: string, values: readonly string[]) => template.replace(/\{(\d)\}/g, (_, i: string) => values[Number(i)] ?? "");
  const short = (x: number) => String(x < 10 ? Number(x.toFixed(2)) : Math.round(x));
  const say = () => {
    const chosen = boxes.filter((b) => b.checked);
    submit.disabled = chosen.length === 0;
    const n = steps.valueAsNumber;
    if (!Number.isInteger(n) || n < 1 || n > Number(steps.max)) return;
    // Sizes are known of some kinds of engines only; those have the same size a step.
    const known = chosen.map((b) => Number(b.dataset["bytes"]) / 1e6).filter((mb) => mb > 0);
    const each = n * (known[0] ?? 0);
    expect.textContent =
      known.length === 0 ? expect.dataset["unknown"]! : fill(expect.dataset["template"]!, [String(n), short(each), String(known.length), short(each * known.length)]);
    if (seconds > 0) recording.textContent = fill(recording.dataset["template"]!, [`${short(n * seconds)} s`, short(seconds * 1000)]);
  };
  form.addEventListener("input", say);
  for (const [action, on] of [["all", true], ["none", false]] as const) {
    form.querySelector(`[data-action=${action}]`)?.addEventListener("click", () => {
      for (const box of boxes) box.checked = on;
      say();
    });
  }
  form.addEventListener("submit", () => {
    submit.disabled = true; // a second click would ask for a second capture
  });
}
