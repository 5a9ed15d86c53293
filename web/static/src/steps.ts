/** The steps: chart, table, and the panel of the step the page is narrowed to. */

import type { ChartSet } from "./charting";
import { byID, role } from "./dom";
import { addFact, definition } from "./fact";
import { exactNs, integer, median, percent, time } from "./format";
import { harmless } from "./names";
import { getState, onState, setState } from "./state";
import { t } from "./strings";
import type { Step, StepGpu, Summary } from "./summary";
import { DataTable } from "./table";

export class StepsView {
  private readonly table: DataTable<Step>;
  private readonly panel = byID("step");
  private steps: readonly Step[] = [];

  /** narrow is told the selected step, or null. */
  constructor(private readonly charts: ChartSet, private readonly narrow: (step: Step | null) => void) {
    this.table = new DataTable<Step>("steps", {
      value: (s, key) => stepValue(s, key),
      id: (s) => String(s.index),
      text: (s) => `${s.index} ${s.name} ${s.names.join(" ")} ${s.kind} ${s.graph ?? ""}`,
      reason: (_, key) => (key === "n" || key === "b" ? t.absent.noSize : key === "graph" ? t.absent.noGraph : t.absent.noGPU),
      open: (s) => this.select(s.index),
      decorate: (tr, s) => {
        tr.classList.toggle("idle", s.kind === "idle");
        tr.classList.toggle("selected", String(s.index) === getState("step"));
      },
    });
    for (const [action, run] of Object.entries({
      "step-prev": () => this.move(-1),
      "step-next": () => this.move(1),
      "step-close": () => this.select(null),
    })) {
      this.panel.querySelector(`[data-action=${action}]`)?.addEventListener("click", run);
    }
    onState(() => this.render());
  }

  preview(): void {
    this.steps = [];
    this.table.set([], true);
    this.charts.hide("steps");
    this.panel.hidden = true;
  }

  show(summary: Summary, name: string): void {
    this.steps = summary.steps;
    this.table.traceName = name;
    this.table.set(summary.steps);
    this.render();
    if (summary.steps.filter((s) => s.gpu !== null).length < 2) this.charts.hide("steps");
    else this.charts.steps(summary.steps, t.chart.steps(summary.steps.length), (index) => this.select(index));
  }

  /** Shows the steps with this name. */
  filter(name: string): void {
    this.table.setFilter(name);
    byID("steps").scrollIntoView({ block: "start" });
  }

  select(index: number | null): void {
    setState("step", index === null ? null : String(index), true);
    this.table.render();
    this.render();
  }

  /** To the previous (−1) or next (+1) step. */
  move(by: number): void {
    if (this.steps.length === 0) return;
    const at = this.steps.findIndex((s) => String(s.index) === getState("step"));
    const to = at < 0 ? (by > 0 ? 0 : this.steps.length - 1) : at + by;
    const step = this.steps[to];
    if (step !== undefined) this.select(step.index);
  }

  get selected(): Step | null {
    return this.steps.find((s) => String(s.index) === getState("step")) ?? null;
  }

  private render(): void {
    const step = this.selected;
    this.panel.hidden = step === null;
    this.narrow(step);
    this.charts.mark(step === null ? null : this.steps.indexOf(step));
    if (step === null) return;
    role(this.panel, "title").textContent = t.step.title(step.index, harmless(step.name));
    for (const [action, end] of [["step-prev", this.steps[0]], ["step-next", this.steps.at(-1)]] as const) {
      const button = this.panel.querySelector<HTMLButtonElement>(`[data-action=${action}]`);
      if (button !== null) button.disabled = step === end;
    }
    const dl = byID("step-facts");
    dl.replaceChildren();
    this.facts(dl, step);
  }

  private facts(dl: HTMLElement, step: Step): void {
    const def = (key: string) => definition("steps", key);
    const add = (label: string, ns: number, key: string) => addFact(dl, label, time(ns), exactNs(ns), def(key));
    addFact(dl, t.step.duration, time(step.dur_ns) + this.comparison(step), exactNs(step.dur_ns), def("dur_ns"));
    add(t.step.start, step.start_ns, "start_ns");
    addFact(dl, t.step.kind, t.tag(step.kind), "", def("kind"));
    if (step.n !== null || step.b !== null) addFact(dl, t.step.size, `${step.n ?? "–"}, ${step.b ?? "–"}`, "", `N: ${def("n")} B: ${def("b")}`);
    add(t.step.cpu, step.cpu_ns, "cpu_ns");
    const also = step.names.filter((n) => n !== step.name);
    if (also.length > 0) addFact(dl, t.step.also, also.map(harmless).join(", "));
    if (step.gpu === null) {
      addFact(dl, t.step.span, "–", t.step.noGPU);
      return;
    }
    if (step.graph !== null) addFact(dl, t.step.graph, t.tag(step.graph), "", def("graph"));
    addFact(dl, t.step.kernels, integer(step.kernels), "", def("kernels"));
    add(t.step.span, step.gpu.span_ns, "span_ns");
    add(t.step.compute, step.gpu.compute_ns, "compute_ns");
    add(t.step.comm, step.gpu.exposed_comm_ns, "exposed_comm_ns");
    add(t.step.copy, step.gpu.copy_ns, "copy_ns");
    add(t.step.idle, step.gpu.idle_ns, "idle_ns");
  }

  /** How the step compares with the others of its name. */
  private comparison(step: Step): string {
    const same = this.steps.filter((s) => s.name === step.name).map((s) => s.dur_ns);
    if (same.length < 3) return "";
    const middle = median(same);
    const off = Math.round((step.dur_ns / middle - 1) * 1e6);
    const sign = off > 0 ? "+" : off < 0 ? "−" : "±";
    return ` (${t.step.ofShape(time(middle), same.length, sign + percent(Math.abs(off)))})`;
  }
}

function stepValue(s: Step, key: string): number | string | null {
  switch (key) {
    case "index":
    case "name":
    case "kind":
    case "n":
    case "b":
    case "start_ns":
    case "dur_ns":
    case "cpu_ns":
    case "graph":
    case "kernels":
      return s[key];
    default:
      return s.gpu?.[key as keyof StepGpu] ?? null;
  }
}
