/** The line at the bottom of the page that says what the number under the pointer or the focus means. */

import { maybeID, role } from "./dom";

export interface Inspection {
  label: string;
  value: string;
  def: string;
  samples: string;
}

const about = new WeakMap<Element, () => Inspection>();

/** Lets the inspect line explain el. */
export function inspectable(el: Element, what: () => Inspection): void {
  about.set(el, what);
}

/** Starts listening; one pair of listeners serves all cells. */
export function startInspect(): void {
  const line = maybeID("inspect");
  if (line === null) return;
  const show = (target: EventTarget | null) => {
    let el = target instanceof Element ? target : null;
    while (el !== null && !about.has(el)) el = el.parentElement;
    const what = el === null ? null : about.get(el)!();
    role(line, "value").textContent = what === null ? "" : [what.label, what.value].filter((s) => s !== "").join(": ");
    role(line, "def").textContent = what?.def ?? "";
    role(line, "samples").textContent = what?.samples ?? "";
    line.toggleAttribute("data-on", what !== null);
  };
  document.addEventListener("mouseover", (e) => show(e.target));
  document.addEventListener("focusin", (e) => show(e.target));
}
