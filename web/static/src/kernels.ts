/** The kernels, by class and name. */

import type { Behind } from "./behind";
import { byID, fromTemplate, role } from "./dom";
import { definition } from "./fact";
import { exactNs, percent, ppm, time } from "./format";
import { inspectable } from "./inspect";
import { showName } from "./names";
import { getState, onState, setState } from "./state";
import { t } from "./strings";
import type { Kernel, Summary } from "./summary";
import { DataTable } from "./table";

export class KernelsView {
  private readonly table: DataTable<Kernel>;
  private readonly classes = role(byID("kernels"), "classes");
  private kernels: readonly Kernel[] = [];
  private total = 0;

  constructor(behind: Behind) {
    this.table = new DataTable<Kernel>("kernels", {
      value: (k, key) => (key === "share_ppm" ? ppm(k.total_ns, this.total) : k[key as keyof Kernel]),
      id: (k) => k.name,
      text: (k) => `${k.name} ${k.class}`,
      reason: () => t.absent.noBusy,
      samples: (k, key) =>
        key === "share_ppm" ? t.samples.gpuShare(time(this.total)) : key.endsWith("_ns") ? t.samples.kernels(k.count) : "",
      behind: (k) => (this.kernels.length > 0 ? behind.of(k.name, true, k.count) : null),
      only: (k) => this.chosen === null || k.class === this.chosen,
      decorate: (tr, k) => {
        const cell = tr.querySelector<HTMLElement>("[data-key=name]")!;
        showName(role(cell, "text"), cell, k.name);
      },
    });
    onState(() => this.buttons());
  }

  preview(): void {
    this.kernels = [];
    this.table.set([], true);
    this.classes.replaceChildren();
  }

  show(summary: Summary, name: string): void {
    this.kernels = summary.kernels;
    this.total = summary.kernels.reduce((sum, k) => sum + k.total_ns, 0);
    this.table.traceName = name;
    this.buttons();
    this.table.set(summary.kernels);
  }

  private get chosen(): string | null {
    const chosen = getState("kernels.class");
    return chosen !== null && this.kernels.some((k) => k.class === chosen) ? chosen : null;
  }

  /** One button per class, by time, with its share of all kernel time. */
  private buttons(): void {
    const times = new Map<string, number>();
    for (const k of this.kernels) times.set(k.class, (times.get(k.class) ?? 0) + k.total_ns);
    const sorted = [...times].sort((a, b) => b[1] - a[1]);
    this.classes.replaceChildren(
      ...sorted.map(([name, ns]) => {
        const button = fromTemplate("tpl-class");
        button.dataset["class"] = name;
        role(button, "text").textContent = t.tag(name);
        role(button, "share").textContent = percent(ppm(ns, this.total) ?? 0);
        const definitionOf = () => ({ label: t.tag(name), value: `${exactNs(ns)} / ${exactNs(this.total)}`, def: definition("kernels", "share_ppm"), samples: "" });
        button.title = definitionOf().value;
        inspectable(button, definitionOf);
        button.setAttribute("aria-pressed", String(this.chosen === name));
        button.addEventListener("click", () => {
          setState("kernels.class", this.chosen === name ? null : name, true);
          this.buttons();
          this.table.render();
        });
        return button;
      }),
    );
  }
}
