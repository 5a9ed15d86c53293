/** The tabs of several traces opened together, with the keys that tabs have. */

import { byID, fromTemplate, role } from "./dom";
import { harmless } from "./names";
import { t } from "./strings";

export interface Tab {
  id: number;
  name: string;
  state: "queued" | "reading" | "done" | "error";
  /** Whole percent while reading. */
  percent: number | null;
}

export interface TabActions {
  select(id: number): void;
  close(id: number): void;
}

export class Tabs {
  private readonly list = byID("tabs");

  constructor(private readonly actions: TabActions) {
    this.list.addEventListener("keydown", (event) => {
      const by = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
      const tabs = [...this.list.querySelectorAll<HTMLElement>("[role=tab]")];
      const at = tabs.indexOf(document.activeElement as HTMLElement);
      if (at < 0) return;
      if (event.key === "Delete") {
        this.actions.close(Number(tabs[at]!.dataset["id"]));
        event.preventDefault();
      }
      if (by === undefined) return;
      event.preventDefault();
      const next = tabs[(at + by + tabs.length) % tabs.length]!;
      this.actions.select(Number(next.dataset["id"]));
      this.list.querySelector<HTMLElement>(`[role=tab][data-id="${next.dataset["id"]}"]`)?.focus();
    });
  }

  /** Shows the tabs, in place where they are the same as before. One trace alone needs none. */
  show(tabs: readonly Tab[], selected: number | null): void {
    this.list.hidden = tabs.length < 2;
    const have = [...this.list.querySelectorAll<HTMLElement>("[role=tab]")].map((b) => Number(b.dataset["id"]));
    if (have.length !== tabs.length || have.some((id, i) => id !== tabs[i]!.id)) {
      this.list.replaceChildren(...tabs.map((tab) => this.make(tab)));
    }
    const buttons = this.list.querySelectorAll<HTMLElement>("[role=tab]");
    tabs.forEach((tab, i) => {
      const button = buttons[i]!;
      button.setAttribute("aria-selected", String(tab.id === selected));
      button.tabIndex = tab.id === selected ? 0 : -1;
      const state = tab.state === "reading" && tab.percent !== null ? `${tab.percent} %` : t.tab[tab.state];
      const place = role(button, "state");
      if (place.textContent !== state) place.textContent = state;
    });
  }

  private make(tab: Tab): HTMLElement {
    const el = fromTemplate("tpl-tab");
    const button = el.querySelector<HTMLElement>("[role=tab]")!;
    button.dataset["id"] = String(tab.id);
    button.title = harmless(tab.name);
    role(button, "name").textContent = harmless(tab.name);
    button.addEventListener("click", () => this.actions.select(tab.id));
    const close = el.querySelector<HTMLElement>("[data-action=close-tab]")!;
    close.setAttribute("aria-label", t.tab.close(harmless(tab.name)));
    close.addEventListener("click", () => this.actions.close(tab.id));
    return el;
  }
}
