/** The page of captures: states follow live; the form says at once what its choice would bring. */

import { startBack } from "./back";
import { maybeID } from "./dom";
import { t } from "./fleetstrings";
import { startKeys } from "./keys";
import { follow, Throttle } from "./live";
import { outageLine, reachable, tellOutage } from "./outage";
import { refresh, tick } from "./patch";
import { startSwitches } from "./theme";

const refreshEvery = 500;
/** Collectors tell every few seconds which engines they reach. */
const enginesEvery = 3000;
let enginesSaid = "";

startSwitches();
startBack();
startKeys({ step: () => undefined, escape: () => undefined });

const root = document.querySelector<HTMLElement>("[data-live-root]")!;

/** The address of a part of the page. That of a form which was refused does not say whose engines it is about. */
function part(name: "body" | "form"): string {
  const url = new URL(location.href);
  const deployment = document.querySelector<HTMLInputElement>("#capture-form input[name=deployment]")?.value ?? "";
  if (deployment !== "") url.searchParams.set("deployment", deployment);
  url.searchParams.set("part", name);
  url.searchParams.delete("started");
  return `/captures${url.search}`;
}

const update = new Throttle(async () => {
  await refresh(root, part("body"));
  await renewEngines();
}, () => refreshEvery);
const engines = new Throttle(renewEngines, () => enginesEvery);
follow({ capture: () => update.poke(), collector: () => engines.poke(), ...tellOutage(outageLine(root), () => update.poke()) });
setInterval(() => tick(), 1000);
tick();

document.addEventListener("keydown", (event) => {
  if (event.key !== "Enter" || !(event.target instanceof HTMLElement) || !event.target.matches("[data-key]")) return;
  event.target.closest("tr")?.querySelector<HTMLElement>(".result a")?.click();
});

const choose = maybeID<HTMLFormElement>("choose");
choose?.querySelector("select")?.addEventListener("change", () => choose.requestSubmit());

const form = maybeID<HTMLFormElement>("capture-form");
const say = form === null ? () => undefined : startForm(form);

/** Which engines are free changes with each capture. What the reader ticked of those that were free stays. */
async function renewEngines(): Promise<void> {
  const list = maybeID("capture-engines");
  if (list === null) return;
  const response = await fetch(part("form"), { headers: { Accept: "text/html" }, mode: "same-origin", cache: "no-store" });
  if (!response.ok) return;
  const page = new DOMParser().parseFromString(await response.text(), "text/html");
  const old = new Map(boxesOf(list).map((box) => [box.value, box]));
  const said = page.getElementById("capture-engines")?.innerHTML ?? "";
  if (said === enginesSaid) return; // a box must not go away under the mouse for nothing
  enginesSaid = said;
  const fresh = [...page.querySelectorAll<HTMLElement>("#capture-engines > li")];
  for (const li of fresh) {
    const box = li.querySelector("input");
    const before = box === null ? undefined : old.get(box.value);
    if (box !== null && !box.disabled && before !== undefined && !before.disabled) box.checked = before.checked;
  }
  const focused = document.activeElement instanceof HTMLInputElement && list.contains(document.activeElement) ? document.activeElement.value : null;
  list.replaceChildren(...fresh.map((li) => document.importNode(li, true)));
  if (focused !== null) boxesOf(list).find((box) => box.value === focused)?.focus();
  // "Queued" has been said once all of them have ended.
  if (list.querySelector("a[href^='#capture-']") === null) maybeID("started")?.remove();
  say();
}

function boxesOf(list: ParentNode): HTMLInputElement[] {
  return [...list.querySelectorAll<HTMLInputElement>("input[name=engine]")];
}

/** Makes the form tell what it would bring; returns what tells it anew. */
function startForm(form: HTMLFormElement): () => void {
  const boxes = () => boxesOf(form).filter((box) => !box.disabled);
  const steps = form.querySelector<HTMLInputElement>("input[name=steps]")!;
  const submit = form.querySelector<HTMLButtonElement>("button[type=submit]")!;
  const expect = maybeID("expect")!;
  const recording = maybeID("recording")!;
  const seconds = Number(recording.dataset["step"]);
  const fill = (template: string, values: readonly string[]) => template.replace(/\{(\d)\}/g, (_, i: string) => values[Number(i)] ?? "");
  const short = (x: number) => String(x < 10 ? Number(x.toFixed(2)) : Math.round(x));
  const say = () => {
    const chosen = boxes().filter((b) => b.checked);
    submit.disabled = chosen.length === 0;
    const n = steps.valueAsNumber;
    if (!Number.isInteger(n) || n < 1 || n > Number(steps.max)) return;
    // Sizes are known of some kinds of engines only; those have the same size a step.
    const known = chosen.map((b) => Number(b.dataset["bytes"]) / 1e6).filter((mb) => mb > 0);
    const each = n * (known[0] ?? 0);
    if (chosen.length === 0) expect.textContent = expect.dataset["none"]!;
    else
      expect.textContent =
      known.length === 0 ? expect.dataset["unknown"]! : fill(expect.dataset["template"]!, [String(n), short(each), String(known.length), short(each * known.length)]);
    if (seconds > 0) recording.textContent = fill(recording.dataset["template"]!, [`${short(n * seconds)} s`, short(seconds * 1000)]);
  };
  form.addEventListener("input", say);
  for (const [action, on] of [["all", true], ["none", false]] as const) {
    form.querySelector(`[data-action=${action}]`)?.addEventListener("click", () => {
      for (const box of boxes()) box.checked = on;
      say();
    });
  }
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    submit.disabled = true; // a second click would ask for a second capture
    void reachable().then((there) => {
      maybeID("not-sent")?.remove();
      if (there) return form.submit();
      submit.closest("p")!.after(Object.assign(document.createElement("p"), { id: "not-sent", className: "bad", role: "alert", textContent: t.notSent }));
      say();
    });
  });
  // Back from where it led, out of the browser's memory: it can be sent again.
  addEventListener("pageshow", say);
  return say;
}
