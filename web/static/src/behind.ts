/** The single slices behind a row of phases or kernels: the longest ones, each with its place and its step. */

import { exactNs, integer, time } from "./format";
import { harmless } from "./names";
import { threadLabel } from "./phases";
import { t } from "./strings";
import type { SingleSlice, Slices, Step, Summary } from "./summary";

const longest = 20;

/** What answers: the reading that keeps the trace's rows, or null once it was let go. */
export type AskSlices = (name: string, gpu: boolean, limit: number) => Promise<Slices | null>;

export class Behind {
  private summary: Summary | null = null;
  private ask: AskSlices = () => Promise.resolve(null);

  /** toStep narrows the page to a step. */
  constructor(private readonly toStep: (index: number) => void) {}

  show(summary: Summary, ask: AskSlices): void {
    this.summary = summary;
    this.ask = ask;
  }

  /** The slices of a name, as an element that fills itself. */
  of(name: string, gpu: boolean, count: number): HTMLElement {
    const box = document.createElement("div");
    box.className = "behind";
    box.textContent = t.behind.asking;
    this.ask(name, gpu, longest).then(
      (found) => {
        if (found === null) box.textContent = t.behind.gone;
        else box.replaceChildren(...this.content(found, gpu, count));
      },
      () => (box.textContent = t.behind.gone),
    );
    return box;
  }

  private content(found: Slices, gpu: boolean, count: number): Node[] {
    const title = document.createElement("p");
    title.textContent = [
      t.behind.title(found.longest.length, found.count),
      found.count < count ? t.behind.capped(count - found.count) : "",
    ].join(" ").trim();
    const list = document.createElement("ol");
    for (const s of found.longest) list.append(this.line(s, gpu));
    return [title, list];
  }

  private line(s: SingleSlice, gpu: boolean): HTMLElement {
    const li = document.createElement("li");
    const duration = document.createElement("b");
    duration.textContent = time(s.dur_ns);
    duration.title = exactNs(s.dur_ns);
    const start = document.createElement("span");
    start.textContent = t.behind.at(time(s.start_ns));
    start.title = exactNs(s.start_ns);
    const place = document.createElement("span");
    place.textContent = gpu ? t.behind.stream(s.device ?? "", integer(s.stream ?? 0)) : harmless(this.thread(s));
    li.append(duration, start, place);
    const step = stepAt(this.summary?.steps ?? [], s.start_ns);
    if (step !== null) {
      const button = document.createElement("button");
      button.type = "button";
      button.textContent = t.behind.step(step.index);
      button.title = gpu ? t.behind.stepByTime : "";
      button.addEventListener("click", (event) => {
        event.stopPropagation();
        this.toStep(step.index);
      });
      li.append(button);
    }
    return li;
  }

  private thread(s: SingleSlice): string {
    const known = this.summary?.threads.find((th) => th.pid === s.pid && th.tid === s.tid);
    return known === undefined ? `${s.pid} / ${s.tid}` : threadLabel(known);
  }
}

/** The step in whose time a moment lies; the innermost where several do. */
export function stepAt(steps: readonly Step[], ns: number): Step | null {
  let found: Step | null = null;
  for (const s of steps) {
    if (s.start_ns <= ns && ns < s.start_ns + s.dur_ns && (found === null || s.dur_ns < found.dur_ns)) found = s;
  }
  return found;
}
