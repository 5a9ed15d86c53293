/** The page that puts deployments side by side: choices apply at once, rows are filtered, curves are drawn. */

import { byID, maybeID, maybeRole, scriptJSON } from "./dom";
import { exportName } from "./exports";
import { integer } from "./format";
import { inspectable, startInspect } from "./inspect";
import { startKeys } from "./keys";
import { Multiples, type MultiplesText } from "./multiples";
import { harmless } from "./names";
import { matcher } from "./order";
import { startSwitches } from "./theme";
import type { Align } from "./trails";

interface Config {
  trails: string;
  names: string[] | null;
  assets: { charts: string };
}

const zh = document.documentElement.lang.startsWith("zh");
const text: MultiplesText & { rows(n: number, all: number): string; lost: string } = zh
  ? {
      none: "没有曲线", failed: "曲线未能加载；表中仍有其数值", noAxis: "没有步号可对齐", lost: "比较未能完成，请重新加载页面。",
      rows: (n, all) => (n === all ? `${integer(all)} 行` : `${integer(n)} / ${integer(all)} 行`),
      step: (n) => `第 ${n} 步`, seconds: (s) => `+${s} 秒`, minutes: (m, s) => `+${m} 分 ${s} 秒`, hours: (h, m) => `+${h} 小时 ${m} 分`,
    }
  : {
      none: "no curve", failed: "The curves could not be loaded; the table has their numbers.", noAxis: "no steps to lay them over",
      lost: "The comparison did not come: reload the page.",
      rows: (n, all) => (n === all ? `${integer(all)} ${all === 1 ? "row" : "rows"}` : `${integer(n)} of ${integer(all)} rows`),
      step: (n) => `step ${n}`, seconds: (s) => `+${s} s`, minutes: (m, s) => `+${m} min ${s} s`, hours: (h, m) => `+${h} h ${m} min`,
    };

const config = scriptJSON<Config>("ss-config");
startSwitches();
startInspect();
startKeys({ step: () => undefined, escape: () => undefined });
startColumns(byID<HTMLFormElement>("columns"));
document.addEventListener("keydown", (event) => {
  const at = event.target instanceof HTMLElement ? event.target : null;
  if (at?.matches("input, textarea, select") === true || event.ctrlKey || event.metaKey || event.altKey) return;
  if (event.key === "c") {
    event.preventDefault();
    byID("columns").querySelector("select")?.focus();
  }
  if (event.key === "Enter" && at?.matches("tr.metric [data-key]") === true) {
    const details = at.closest("tr")!.querySelector<HTMLDetailsElement>("details.define");
    if (details !== null) details.open = !details.open;
  }
});
void start();

/** The comparison may still be computed: its part is asked for until it is there. */
async function start(): Promise<void> {
  let part = maybeID("comparison");
  while (part?.dataset["pending"] === "true") {
    const url = new URL(location.href);
    url.searchParams.set("part", "body");
    const response = await fetch(url, { headers: { Accept: "text/html" }, mode: "same-origin", cache: "no-store" });
    const fresh = new DOMParser().parseFromString(await response.text(), "text/html").getElementById("comparison");
    if (!response.ok || fresh === null) {
      part.replaceChildren(Object.assign(document.createElement("p"), { className: "bad", textContent: text.lost }));
      return;
    }
    const next = document.importNode(fresh, true);
    part.replaceWith(next);
    part = next;
  }
  if (part === null) return;
  startTable(part);
  startPlots(part);
  toAnchor();
}

/** A choice applies when it is made; an own time when both ends are there. */
function startColumns(form: HTMLFormElement): void {
  form.addEventListener("change", (event) => {
    const at = event.target as HTMLElement;
    const column = at.closest("fieldset");
    if (column === null) return;
    const range = column.querySelector<HTMLSelectElement>("select[name=r]")!;
    const own = column.querySelector<HTMLElement>("[data-own]")!;
    own.dataset["own"] = String(range.value === "own");
    const ends = [...own.querySelectorAll("input")];
    if (range.value === "own" && ends.some((e) => e.value === "")) {
      ends.find((e) => e.value === "")!.focus();
      return;
    }
    if (at.matches("select[name=d]") && (at as HTMLSelectElement).value !== "" && range.value.startsWith("baseline:")) range.value = "";
    form.requestSubmit();
  });
}

function startTable(part: HTMLElement): void {
  const section = part.querySelector<HTMLElement>("#metrics");
  if (section === null) return;
  const rows = [...section.querySelectorAll<HTMLElement>("tr.metric")];
  const filter = maybeRole<HTMLInputElement>(section, "filter");
  const show = () => {
    const matches = matcher(filter?.value ?? "");
    let count = 0;
    for (const row of rows) {
      const fits = matches(row.querySelector("summary")?.textContent ?? "");
      row.hidden = !fits;
      if (fits) count++;
    }
    for (const group of section.querySelectorAll<HTMLElement>("tbody")) {
      group.hidden = group.querySelector("tr.metric:not([hidden])") === null;
    }
    const said = maybeRole(section, "count");
    if (said !== null) said.textContent = text.rows(count, rows.length);
    const empty = maybeRole(section, "empty");
    if (empty !== null) empty.hidden = count > 0;
    const url = new URL(location.href);
    const words = filter?.value.trim() ?? "";
    if (words === (url.searchParams.get("q") ?? "")) return;
    if (words === "") url.searchParams.delete("q");
    else url.searchParams.set("q", words);
    history.replaceState(history.state, "", url);
  };
  if (filter !== null) {
    filter.value = new URLSearchParams(location.search).get("q") ?? "";
    filter.addEventListener("input", show);
  }
  show();
  // What was chosen without loading the page stays when a link loads it again.
  section.addEventListener("click", (event) => {
    const link = (event.target as Element).closest<HTMLAnchorElement>("a[href^='/compare']");
    if (link === null) return;
    const url = new URL(link.href);
    const now = new URL(location.href).searchParams;
    for (const key of ["q", "align"]) {
      const value = now.get(key);
      if (value === null) url.searchParams.delete(key);
      else url.searchParams.set(key, value);
    }
    url.hash = link.matches(".sort") ? "metrics" : url.hash;
    link.href = url.href;
  });
  const first = rows[0]?.querySelector<HTMLElement>("[data-key]");
  if (first != null) first.tabIndex = 0;
  for (const cell of part.querySelectorAll<HTMLElement>("[title]")) {
    inspectable(cell, () => {
      const [value, ...rest] = harmless(cell.title).split("\n");
      const name = cell.closest("tr.metric")?.querySelector("[data-role=text]")?.textContent ?? "";
      return { label: cell.matches("td") ? name : "", value: value ?? "", def: rest.join(" · "), samples: "" };
    });
  }
  fit(section.querySelector<HTMLElement>(".scroll"));
}

/** Only a table wider than its place scrolls by itself; else its header sticks to the window. */
function fit(place: HTMLElement | null): void {
  const table = place?.querySelector("table");
  if (place === null || table == null) return;
  const watch = new ResizeObserver(() => {
    const fits = table.offsetWidth <= place.clientWidth;
    place.toggleAttribute("data-fits", fits);
    place.tabIndex = fits ? -1 : 0;
  });
  watch.observe(place);
  watch.observe(table);
}

function startPlots(part: HTMLElement): void {
  const plots = part.querySelector<HTMLElement>(".plots");
  if (plots === null || config.trails === "") return;
  const names = config.names ?? [];
  const chosen = part.querySelector<HTMLElement>("a[data-align][aria-current]")?.dataset["align"] as Align | undefined;
  const multiples = new Multiples(plots, { trails: config.trails, charts: config.assets.charts, names }, chosen ?? "time", text);
  for (const link of part.querySelectorAll<HTMLAnchorElement>("a[data-align]")) {
    link.addEventListener("click", (event) => {
      if (event.ctrlKey || event.metaKey || event.shiftKey) return;
      event.preventDefault();
      const align = link.dataset["align"] as Align;
      const url = new URL(location.href);
      url.searchParams.set("align", align);
      history.replaceState(history.state, "", url);
      for (const other of part.querySelectorAll("a[data-align]")) {
        if (other === link) other.setAttribute("aria-current", "true");
        else other.removeAttribute("aria-current");
      }
      multiples.set(align);
    });
  }
  plots.addEventListener("click", (event) => {
    const button = (event.target as Element).closest("[data-action=png]");
    const figure = button?.closest<HTMLElement>("figure");
    if (figure == null) return;
    const title = figure.dataset["title"] ?? "";
    void multiples.png(figure, title).then((blob) => {
      if (blob === null) return;
      const url = URL.createObjectURL(blob);
      Object.assign(document.createElement("a"), { href: url, download: exportName(title, "comparison", "png") }).click();
      setTimeout(() => URL.revokeObjectURL(url), 10_000);
    });
  });
}

/** What the address points at came after the page. */
function toAnchor(): void {
  const target = location.hash === "" ? null : maybeID(location.hash.slice(1));
  target?.scrollIntoView({ block: "center" });
}
