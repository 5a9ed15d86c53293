/** All result blocks of the trace page: one set, filled anew for each trace that is shown. */

import { Behind, type AskSlices } from "./behind";
import { ChartSet } from "./charting";
import { byID, partNode, type Part } from "./dom";
import { download, exportName } from "./exports";
import { definition } from "./fact";
import { CategoriesView, showFacts, showLaunches, type ReadStats } from "./facts";
import { GPUView } from "./gpu";
import { HealthView } from "./health";
import { inspectable } from "./inspect";
import { KernelsView } from "./kernels";
import { PhasesView } from "./phases";
import { ShapesView } from "./shapes";
import { getState } from "./state";
import { StepsView } from "./steps";
import type { Preview, ReadSummary } from "./summary";
import { verdict } from "./verdict";

/** Blocks that are left out where a trace has nothing for them; the others say why they are empty. */
const optional = ["collectives", "kernels", "categories"];

export class Results {
  private readonly health = new HealthView();
  private readonly behind = new Behind((index) => this.steps.select(index));
  private readonly phases = new PhasesView(this.behind);
  private readonly shapes: ShapesView;
  readonly steps: StepsView;
  private readonly gpu = new GPUView();
  private readonly kernels = new KernelsView(this.behind);
  private readonly categories = new CategoriesView();
  private readonly saving = document.querySelector<HTMLButtonElement>("[data-export=summary]")!;
  private read: ReadSummary | null = null;
  /** The block that the address leads to; once there, the page stays where the reader scrolls it. */
  private goal = getState("at");

  constructor(chartsURL: string) {
    const charts = new ChartSet(chartsURL);
    this.saving.addEventListener("click", () => {
      if (this.read === null) return;
      // A line end as the command prints it: the two files are to be the same.
      download(exportName(this.read.summary.file.name, "summary", "json"), "application/json", `${this.read.text}\n`);
    });
    this.shapes = new ShapesView(charts, (name) => this.steps.filter(name));
    this.steps = new StepsView(charts, (step) => this.shapes.narrow(step?.name ?? null));
  }

  /** The state before anything is known. */
  clear(): void {
    this.read = null;
    this.saving.hidden = true;
    byID("facts").replaceChildren();
    byID("verdict").replaceChildren();
    this.health.reading();
    this.phases.preview([]);
    this.shapes.preview([]);
    this.steps.preview();
    this.gpu.preview();
    this.kernels.preview();
    for (const id of ["launch-facts", ...optional]) byID(id).hidden = true;
  }

  preview(p: Preview): void {
    this.phases.preview(p.phases);
    this.shapes.preview(p.shapes);
  }

  show(read: ReadSummary, stats: ReadStats, ask: AskSlices): void {
    const { summary } = read;
    this.behind.show(summary, ask);
    this.read = read;
    this.saving.hidden = false;
    const name = summary.file.name;
    showFacts(read, stats);
    this.health.show(summary, name);
    byID("verdict").replaceChildren(...verdict(summary).map(explained));
    this.phases.show(summary, name);
    this.shapes.show(summary, name);
    this.steps.show(summary, name);
    this.gpu.show(summary, name);
    this.kernels.show(summary, name);
    this.categories.show(summary, name);
    showLaunches(summary);
    byID("collectives").hidden = summary.collectives.length === 0;
    byID("kernels").hidden = summary.kernels.length === 0;
    const goal = this.goal === null ? null : document.querySelector(`[data-block="${CSS.escape(this.goal)}"]`);
    this.goal = null;
    goal?.scrollIntoView({ block: "start" });
  }
}

/** A part of the verdict; its figures answer to hovering and focus as those of the tables do. */
function explained(part: Part): Node {
  const node = partNode(part);
  if (part.about === undefined || !(node instanceof HTMLElement)) return node;
  const def = definition(...part.about);
  node.title = [part.exact ?? "", def].filter((s) => s !== "").join("\n");
  if (part.href === undefined) node.tabIndex = 0;
  inspectable(node, () => ({ label: "", value: part.exact ?? part.text, def, samples: "" }));
  return node;
}
