/** Entry point of the page of two traces. */

import { byID, fromTemplate, partNode, role, scriptJSON } from "./dom";
import { offerFiles } from "./handover";
import { startInspect } from "./inspect";
import { startKeys } from "./keys";
import { harmless } from "./names";
import { showPairFacts } from "./pairfacts";
import { PairSide, type Stored } from "./pairside";
import { d } from "./pairstrings";
import { pairName, PairTables, type Place } from "./pairtables";
import { notes, pairVerdict } from "./pairverdict";
import { Standby, type Assets } from "./standby";
import { getState, onState, setState } from "./state";
import { startSwitches } from "./theme";
import { compared, type Compared, type Norm, type Side } from "./tracediff";

interface Config {
  assets: Assets;
  api: { traces: string };
  sides: Partial<Record<Side, Stored>>;
}

const config = scriptJSON<Config>("ss-config");
startSwitches();
startInspect();
const standby = new Standby(config.assets);
const offer = offerFiles();
const sides: Record<Side, PairSide> = {
  a: new PairSide("a", config.api, standby, show),
  b: new PairSide("b", config.api, standby, show),
};

/** A kept trace has an address; a dropped file is handed to the viewer's tab by a key. */
const tables = new PairTables((side, place) => {
  const { chosen, path } = sides[side];
  if (chosen === null) return null;
  const source = chosen.kind === "kept" ? `trace=${encodeURIComponent(path!)}` : `handover=${offer(chosen.file)}`;
  return { href: `/trace?${source}#${hash(place)}` };
});

function hash(place: Place): string {
  return new URLSearchParams({ at: place.at, ...place.state }).toString();
}

function norm(): Norm {
  return getState("norm") === "trace" ? "trace" : "step";
}

/** Shows what there is: nothing, the facts of one side, or the comparison. */
function show(): void {
  const { a, b } = sides;
  const main = byID("pair");
  const [ra, rb] = [a.read, b.read];
  main.dataset["state"] = ra !== null && rb !== null ? "done" : ra !== null || rb !== null ? "one" : "empty";
  const facts = byID("pair-facts");
  role(facts, "a").textContent = a.name;
  role(facts, "b").textContent = b.name;
  if (ra !== null || rb !== null) showPairFacts(facts, a, b);
  address();
  const list = byID("pair-notes");
  if (ra === null || rb === null) {
    list.replaceChildren();
    byID("pair-verdict").textContent = ra === null && rb === null ? "" : d.pickOther;
    return;
  }
  const c = compared(ra.summary, rb.summary, norm());
  const told = notes(c);
  if (a.chosen?.kind === "kept" && b.chosen?.kind === "kept" && a.chosen.trace.id === b.chosen.trace.id) {
    told.unshift({ level: "warn", title: d.notes.same[0]!, text: d.notes.same[1]! });
  }
  list.replaceChildren(
    ...told.map((note) => {
      const li = fromTemplate("tpl-pair-note");
      li.dataset["level"] = note.level;
      role(li, "title").textContent = note.title;
      role(li, "text").textContent = harmless(note.text);
      return li;
    }),
  );
  byID("pair-verdict").replaceChildren(...pairVerdict(c).map(partNode));
  for (const button of document.querySelectorAll<HTMLElement>("[data-norm]")) {
    button.setAttribute("aria-pressed", String(button.dataset["norm"] === c.norm));
  }
  byID("pair-norm").textContent =
    c.stepless.length > 0 ? d.stepless(c.stepless.map((s) => s.toUpperCase()).join(", ")) : c.norm === "step" ? d.perStep(d.steps(c.by.a), d.steps(c.by.b)) + cutSides(c) : d.perTrace;
  tables.show(c, pairName(ra.summary, rb.summary));
}

/** Kept traces are in the address; the swap link and the lists follow. */
function address(): void {
  const query = new URLSearchParams();
  const turned = new URLSearchParams();
  for (const [side, other] of [["a", "b"], ["b", "a"]] as const) {
    const { chosen } = sides[side];
    const id = chosen?.kind === "kept" ? chosen.trace.id : "";
    if (id !== "") {
      query.set(side, id);
      turned.set(other, id);
    }
    const list = role<HTMLSelectElement>(sides[side].element, "choice");
    if (list.value !== id) list.value = id;
  }
  const search = query.size === 0 ? "" : `?${query}`;
  if (location.search !== search) history.replaceState(history.state, "", location.pathname + search + location.hash);
  byID<HTMLAnchorElement>("swap").href = `/compare/traces${turned.size === 0 ? "" : `?${turned}`}`;
}

function swap(): void {
  const [a, b] = [sides.a.chosen, sides.b.chosen];
  void sides.a.choose(b);
  void sides.b.choose(a);
}

byID("swap").addEventListener("click", (event) => {
  event.preventDefault();
  swap();
});
for (const side of ["a", "b"] as const) {
  const list = role<HTMLSelectElement>(sides[side].element, "choice");
  list.addEventListener("change", () => {
    const option = list.selectedOptions[0];
    if (option === undefined || option.value === "") void sides[side].choose(null);
    else void sides[side].choose({ kind: "kept", trace: { id: option.value, name: option.dataset["name"] || option.text, label: option.dataset["label"] ?? "" } });
  });
}

/** Says which sides' GPU sums are divided by a step less. */
function cutSides(c: Compared): string {
  const cut = (["a", "b"] as const).filter((side) => c.byGPU[side] !== c.by[side]);
  return cut.map((side) => d.gpuSteps(side.toUpperCase(), d.steps(c.byGPU[side]))).join("");
}

for (const button of document.querySelectorAll<HTMLElement>("[data-norm]")) {
  button.addEventListener("click", () => {
    setState("norm", button.dataset["norm"] === "trace" ? "trace" : null, true);
    show();
  });
}
onState(show);
startKeys({ step: () => undefined, escape: () => undefined });
document.addEventListener("keydown", (event) => {
  const typing = event.target instanceof HTMLElement && event.target.matches("input, textarea, select");
  if (event.key === "c" && !typing && !event.ctrlKey && !event.metaKey && !event.altKey) swap();
});
dropping();
for (const side of ["a", "b"] as const) {
  const trace = config.sides[side];
  if (trace !== undefined) void sides[side].choose({ kind: "kept", trace });
}

/** Files dropped on the left half are A, on the right half B; two at once are both. */
function dropping(): void {
  const root = document.documentElement;
  const carries = (event: DragEvent) => event.dataTransfer?.types.includes("Files") ?? false;
  const sideOf = (event: DragEvent): Side => (event.clientX * 2 < innerWidth ? "a" : "b");
  addEventListener("dragenter", (event) => {
    if (carries(event)) root.dataset["dragging"] = "";
  });
  addEventListener("dragleave", (event) => {
    if (event.relatedTarget === null) delete root.dataset["dragging"];
  });
  addEventListener("dragover", (event) => {
    if (!carries(event)) return;
    event.preventDefault();
    event.dataTransfer!.dropEffect = "copy";
    root.dataset["dragging"] = sideOf(event);
  });
  addEventListener("drop", (event) => {
    delete root.dataset["dragging"];
    const files = [...(event.dataTransfer?.files ?? [])];
    if (files.length === 0) return;
    event.preventDefault();
    const first = files.length > 1 ? "a" : sideOf(event);
    void sides[first].choose({ kind: "file", file: files[0]! });
    if (files[1] !== undefined) void sides.b.choose({ kind: "file", file: files[1] });
  });
}
