/** A deployment's page: charts that share one time and one cursor, live values, and what happened meanwhile. */

import { startBack } from "./back";
import type * as Charts from "./charts";
import { byID, scriptJSON } from "./dom";
import { t } from "./fleetstrings";
import { startKeys } from "./keys";
import { follow, silenceEvery, Throttle } from "./live";
import { matcher } from "./order";
import { outageLine, tellOutage } from "./outage";
import { refresh, tick } from "./patch";
import { PlotCard, type Host } from "./plotcard";
import { isLive, moved, readRange, writeRange, type Range } from "./ranges";
import { xOf, type Mark } from "./series";
import { startSwitches } from "./theme";

interface Config {
  deployment: string;
  assets: { charts: string };
  range: string;
  from: number;
  to: number;
  pending: boolean;
}

const config = scriptJSON<Config>("ss-config");
const nowEvery = 1000;
const storyEvery = 5000;
const plotsEvery = 2000;
const longestRest = 60_000;

startSwitches();
startBack();

/** What the address says; the page without parameters is the last hour of all steps, engines together, over time. */
class Page implements Host {
  range: Range;
  private marksNow: readonly Mark[] = [];
  private loading: Promise<typeof Charts> | null = null;
  readonly cards: PlotCard[];

  constructor() {
    this.range = this.addressed();
    this.cards = [...document.querySelectorAll<HTMLElement>("figure.metric-chart")].map((f) => new PlotCard(f, this));
  }

  params(): URLSearchParams {
    return new URLSearchParams(location.search);
  }

  /** The time that the address names; the server chose one where it names none. */
  private addressed(): Range {
    const p = this.params();
    const named = p.has("range") || p.has("from");
    if (!named && config.range === "own") return { key: "own", from: config.from, to: config.to };
    return readRange(p, Date.now(), named ? "1h" : config.range);
  }

  asked() {
    const p = this.params();
    return {
      deployment: config.deployment,
      ...this.range,
      byStep: p.get("x") === "step",
      only: p.get("only") ?? "all",
      joined: p.get("view") !== "engines",
    };
  }

  marks(): readonly Mark[] {
    return this.marksNow;
  }

  charts(): Promise<typeof Charts> {
    this.loading ??= (import(config.assets.charts) as Promise<typeof Charts>).catch((err: unknown) => {
      this.loading = null; // the next chart tries again
      throw err;
    });
    return this.loading;
  }

  skeleton(): Charts.Skeleton {
    return scriptJSON<Charts.Skeleton>("chart-line-option");
  }

  cursor(x: number | null): void {
    for (const card of this.cards) card.point(x);
  }

  brushed(card: PlotCard, from: number, to: number): void {
    if (!this.asked().byStep) return this.setRange({ key: "own", from, to });
    // Steps have no time of their own on the axis: the server says when its cells were.
    const s = card.data;
    if (s === null || s.times === undefined) return;
    const inside = s.times.filter((span, i) => span !== null && xOf(s, i) >= from && xOf(s, i) <= to).filter((span) => span !== null);
    if (inside.length === 0) return;
    const start = Math.min(...inside.map((span) => span[0]));
    const end = Math.max(...inside.map((span) => span[1]));
    this.setRange({ key: "own", from: start, to: end });
  }

  setRange(range: Range): void {
    const url = new URL(location.href);
    writeRange(url.searchParams, range);
    this.go(url);
  }

  /** Another address of this page, which the back button undoes. */
  go(url: URL): void {
    history.pushState(history.state, "", url);
    this.follow();
  }

  /** Shows what the address says now. */
  follow(): void {
    this.range = this.addressed();
    this.drawSwitches();
    void this.loadMarks();
    for (const card of this.cards) card.invalidate();
    story.poke();
  }

  /** The newest data of a range that ends now. */
  advance(): void {
    if (!isLive(this.range)) return;
    this.range = this.addressed();
    void this.loadMarks();
    for (const card of this.cards) card.renew();
  }

  async loadMarks(): Promise<void> {
    const ask = new URLSearchParams({ deployment: config.deployment });
    writeRange(ask, this.range);
    try {
      const response = await fetch(`/api/events?${ask}`, { mode: "same-origin" });
      if (response.ok) this.marksNow = ((await response.json()) as { events: Mark[] }).events;
    } catch {
      // The charts say it when the server is away; the marks come with the next change.
    }
  }

  /** Marks the range and the switches that are in force. */
  private drawSwitches(): void {
    const p = this.params();
    const current: Record<string, string> = { view: p.get("view") ?? "joined", x: p.get("x") ?? "time", only: p.get("only") ?? "all" };
    for (const a of document.querySelectorAll<HTMLElement>("a[data-switch]")) mark(a, current[a.dataset["switch"]!] === a.dataset["value"]);
    for (const a of document.querySelectorAll<HTMLElement>("a[data-range]")) mark(a, a.dataset["range"] === this.range.key);
    const fix = document.querySelector<HTMLElement>(".ranges [data-role=fix]");
    if (fix !== null) fix.hidden = !isLive(this.range);
    const own = document.querySelector<HTMLElement>(".ranges .own > summary");
    if (own === null || this.range.key !== "own") {
      if (own !== null) mark(own, false);
      return;
    }
    mark(own, true);
    own.textContent = t.own(short(this.range.from), short(this.range.to));
    for (const key of ["from", "to"] as const) {
      const field = document.querySelector<HTMLInputElement>(`.ranges input[name=${key}]`);
      if (field !== null) field.value = new Date(this.range[key]).toISOString().slice(0, 19);
    }
  }

  rest(): number {
    const dx = (this.range.to - this.range.from) / 300;
    return Math.max(plotsEvery, Math.min(dx, longestRest));
  }
}

function mark(el: HTMLElement, on: boolean): void {
  if (on) el.setAttribute("aria-current", "true");
  else el.removeAttribute("aria-current");
}

function short(ms: number): string {
  return new Date(ms).toISOString().slice(5, 19).replace("T", " ");
}

function part(name: string): string {
  const url = new URL(location.href);
  url.searchParams.set("part", name);
  for (const key of ["done", "gone", "gone_note", "gone_from", "gone_to"]) url.searchParams.delete(key);
  return url.pathname + url.search;
}

const root = (name: string) => document.querySelector<HTMLElement>(`[data-live-root="${name}"]`)!;
const story = new Throttle(() => refresh(root("story"), part("story")), () => storyEvery);
const now = new Throttle(() => refresh(root("now"), part("now")), () => nowEvery);
const page = new Page();
const plots = new Throttle(async () => page.advance(), () => page.rest());

// Charts are built when they come near.
const sight = new IntersectionObserver(
  (entries) => {
    for (const e of entries) page.cards.find((c) => c.figure === e.target)?.seen(e.isIntersecting);
  },
  { rootMargin: "200px 0px" },
);
void page.loadMarks().then(() => {
  for (const card of page.cards) sight.observe(card.figure);
});
story.poke();

follow({
  samples: (deployments) => {
    if (deployments !== null && !deployments.includes(config.deployment)) return;
    now.poke();
    plots.poke();
    if (isLive(page.range)) story.poke();
  },
  collector: () => now.poke(),
  capture: () => plots.poke(),
  ...tellOutage(outageLine(document.querySelector<HTMLElement>("[data-live-root=now]")!), () => now.poke()),
});
setInterval(() => tick(), 1000);
// That nothing comes is told by no event.
setInterval(() => {
  if (!document.hidden) now.poke();
}, silenceEvery);
tick();
addEventListener("popstate", () => {
  page.follow();
  showFiltered();
});
// The list of this time's charts was not ready when the page was made.
if (config.pending) setTimeout(() => location.reload(), 1500);

document.addEventListener("click", (event) => {
  if (event.ctrlKey || event.metaKey || event.shiftKey || event.button !== 0) return;
  const link = (event.target as Element).closest<HTMLAnchorElement>("a[data-switch], a[data-range]");
  if (link === null) return;
  event.preventDefault();
  const url = new URL(location.href);
  const { switch: key, value, range } = link.dataset;
  if (range !== undefined) writeRange(url.searchParams, { key: range, from: 0, to: 1 });
  else url.searchParams.set(key!, value!);
  page.go(url);
});

// The time that the page shows now, not the one it was made with.
document.querySelector(".ranges [data-role=fix]")?.addEventListener("click", (event) => {
  event.preventDefault();
  page.setRange({ ...page.range, key: "own" });
});

// What is kept is the time that the charts show now.
byID<HTMLFormElement>("baseline-form").addEventListener("submit", (event) => {
  const form = event.target as HTMLFormElement;
  for (const key of ["from", "to"] as const) form.querySelector<HTMLInputElement>(`input[name=${key}]`)!.value = String(Math.round(page.range[key]));
});

// The form for an own time is a plain one, whose hidden fields are the address as it was when the page was made.
document.querySelector<HTMLFormElement>(".ranges .own form")?.addEventListener("submit", (event) => {
  const form = event.target as HTMLFormElement;
  const asked = new URLSearchParams();
  for (const key of ["from", "to"] as const) asked.set(key, form.querySelector<HTMLInputElement>(`input[name=${key}]`)!.value);
  const range = readRange(asked, Date.now(), "");
  if (range.key !== "own") return; // the server says what is wrong with it
  event.preventDefault();
  form.closest("details")!.open = false;
  page.setRange(range);
});

const filter = byID<HTMLInputElement>("plots-filter");

/** Shows the charts that the address's filter names. */
function showFiltered(): void {
  const query = page.params().get("q") ?? "";
  if (filter.value.trim() !== query) filter.value = query;
  const match = matcher(query);
  let all = 0;
  for (const section of document.querySelectorAll<HTMLElement>("section.metric-group")) {
    let any = 0;
    for (const f of section.querySelectorAll<HTMLElement>("figure.metric-chart")) {
      f.hidden = !match(f.dataset["search"] ?? "");
      if (!f.hidden) any++;
    }
    section.hidden = any === 0 && query !== "";
    all += any;
  }
  byID("plots-none").hidden = all > 0 || query === "";
}

// While one types, the address follows without a step of its own for each letter.
filter.addEventListener("input", () => {
  const url = new URL(location.href);
  const query = filter.value.trim();
  if (query === "") url.searchParams.delete("q");
  else url.searchParams.set("q", query);
  history.replaceState(history.state, "", url);
  showFiltered();
});
showFiltered();

startKeys({
  step: (by) => page.setRange(moved(page.range, by / 2, 1, Date.now())),
  escape: () => undefined,
});
document.addEventListener("keydown", (event) => {
  const at = event.target as Element;
  if (event.defaultPrevented || event.ctrlKey || event.metaKey || event.altKey || at.matches("input, textarea, select")) return;
  if (event.key === "+" || event.key === "-") page.setRange(moved(page.range, 0, event.key === "+" ? 0.5 : 2, Date.now()));
  else if (event.key === "c") document.querySelector<HTMLAnchorElement>(".head .actions a")?.click();
  else if ((event.key === "j" || event.key === "k") && at.closest("tr") === null) nextPlot(event.key === "j" ? 1 : -1, at);
  else return;
  event.preventDefault();
}, { capture: true });

function nextPlot(by: number, at: Element): void {
  const all = page.cards.map((c) => c.figure).filter((f) => f.offsetParent !== null);
  const here = all.indexOf(at.closest<HTMLElement>("figure.metric-chart")!);
  const next = all[here < 0 ? 0 : here + by];
  next?.focus({ preventScroll: true });
  next?.scrollIntoView({ block: "center" });
}
