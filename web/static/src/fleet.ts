/** The fleet page: values that follow the engines, a filter that works while one types. */

import { startBack } from "./back";
import { byID, maybeID } from "./dom";
import { startInspect } from "./inspect";
import { startKeys } from "./keys";
import { follow, silenceEvery, Throttle } from "./live";
import { outageLine, tellOutage } from "./outage";
import { refresh, tick } from "./patch";
import { startSwitches } from "./theme";

/** No more often than this, in ms: each refresh is a part of the page that the server has ready. */
const refreshEvery = 1000;
const typingPause = 200;

startSwitches();
startBack();
startInspect();
startKeys({ step: () => undefined, escape: () => undefined });

const root = document.querySelector<HTMLElement>("[data-live-root]")!;

/** The part's address: the page's own, with all that is filtered and folded. */
function part(): string {
  const url = new URL(location.href);
  url.searchParams.set("part", "body");
  for (const key of ["done", "deleted"]) url.searchParams.delete(key);
  return url.pathname + url.search;
}

const update = new Throttle(() => refresh(root, part()), () => refreshEvery);
follow({
  samples: () => update.poke(),
  collector: () => update.poke(),
  capture: () => update.poke(),
  ...tellOutage(outageLine(root), () => update.poke()),
});
setInterval(() => tick(), 1000);
// That nothing comes is told by no event.
setInterval(() => {
  if (!document.hidden) update.poke();
}, silenceEvery);
tick();

// Folding and filtering change the address and the part; without script they are links and a form.
root.addEventListener("click", (event) => {
  const at = event.target as Element;
  // A row clicked as such comes from the Enter key; with the mouse one hits what is in it.
  const link = at.matches("tr[data-open]") ? at.querySelector<HTMLAnchorElement>("a.fold") : at.closest<HTMLAnchorElement>("a.fold");
  if (link === null || event.ctrlKey || event.metaKey || event.shiftKey) return;
  event.preventDefault();
  history.replaceState(history.state, "", link.href);
  const id = link.closest("tbody")!.dataset["id"]!;
  void refresh(root, part()).then(() => fold(id));
});

/** The fold's link after its rows changed: it leads the other way now. */
function fold(id: string): void {
  const body = [...root.querySelectorAll<HTMLElement>("tbody[data-id]")].find((b) => b.dataset["id"] === id);
  body?.querySelector<HTMLElement>("a.fold")?.focus();
}

const filter = byID<HTMLInputElement>("q");
let typing = 0;
filter.addEventListener("input", () => {
  clearTimeout(typing);
  typing = window.setTimeout(() => {
    const url = new URL(location.href);
    if (filter.value.trim() === "") url.searchParams.delete("q");
    else url.searchParams.set("q", filter.value.trim());
    history.replaceState(history.state, "", url);
    update.poke();
  }, typingPause);
});
filter.form?.addEventListener("submit", (event) => event.preventDefault());

// A figure's definition stands below the table, folded: following the link opens it.
document.addEventListener("click", (event) => {
  const link = (event.target as Element).closest<HTMLAnchorElement>("a[href^='#def-']");
  if (link === null) return;
  const target = maybeID(link.hash.slice(1));
  const details = target?.closest("details");
  if (target === null || details == null) return;
  event.preventDefault();
  details.open = true;
  target.scrollIntoView({ block: "center" });
  target.focus();
});
