/**
 * Live values in place: the server renders a part of the page anew, and what differs is put into the old one.
 * [data-id] elements are the rows and blocks, [data-live] the cells whose content follows. Everything else, such as
 * an open form, stays untouched, and rows keep their order, so that nothing jumps under the reader's eyes.
 */

import { ago } from "./ago";

/** Asks for the part at url and patches root with it. Anything but the part is an error. */
export async function refresh(root: HTMLElement, url: string): Promise<void> {
  const response = await fetch(url, { headers: { Accept: "text/html" }, mode: "same-origin", cache: "no-store" });
  if (!response.ok) throw new Error(`${url}: ${response.status}`);
  const page = new DOMParser().parseFromString(await response.text(), "text/html");
  const fresh = page.querySelector<HTMLElement>(`[data-live-root="${root.dataset["liveRoot"]}"]`);
  if (fresh === null) throw new Error(`${url}: not the part that was asked for`);
  patch(root, fresh);
  tick(root);
}

function patch(old: Element, fresh: Element): void {
  const before = keyed(old);
  const after = keyed(fresh);
  for (const [id, el] of before) if (!after.has(id)) el.remove();
  let last: Element | null = null;
  for (const [id, el] of after) {
    const mine = before.get(id);
    if (mine === undefined) {
      const added = document.importNode(el, true);
      if (last !== null) last.after(added);
      else first(old, added);
      last = added;
      continue;
    }
    values(mine, el);
    patch(mine, el);
    last = mine;
  }
}

/** Puts in a keyed element that stands before all others; groups of rows belong behind the table's head. */
function first(old: Element, added: Element): void {
  const head = added.tagName === "TBODY" ? old.querySelector("thead") : null;
  if (head !== null) head.after(added);
  else old.prepend(added);
}

/** The nearest keyed elements below one. */
function keyed(el: Element): Map<string, Element> {
  const found = new Map<string, Element>();
  const walk = (at: Element) => {
    for (const child of at.children) {
      const id = child.getAttribute("data-id");
      if (id === null) walk(child);
      else found.set(id, child);
    }
  };
  walk(el);
  return found;
}

/** The live cells that are a keyed element's own, not those of keyed ones in it. */
function cells(el: Element): Map<string, Element> {
  const found = new Map<string, Element>();
  const walk = (at: Element) => {
    for (const child of at.children) {
      if (child.hasAttribute("data-id")) continue;
      const key = child.getAttribute("data-live");
      if (key === null) walk(child);
      else found.set(key, child);
    }
  };
  walk(el);
  return found;
}

function values(old: Element, fresh: Element): void {
  attributes(old, fresh);
  const before = cells(old);
  for (const [key, cell] of cells(fresh)) {
    const mine = before.get(key);
    if (mine === undefined) continue;
    attributes(mine, cell);
    if (mine.innerHTML !== cell.innerHTML) mine.replaceChildren(...[...cell.childNodes].map((n) => document.importNode(n, true)));
  }
}

function attributes(old: Element, fresh: Element): void {
  for (const name of ["class", "title", "data-health"]) {
    const value = fresh.getAttribute(name);
    if (value === old.getAttribute(name)) continue;
    if (value === null) old.removeAttribute(name);
    else old.setAttribute(name, value);
  }
}

/** Writes how long ago each time below root was. */
export function tick(root: ParentNode = document): void {
  const now = Date.now();
  for (const el of root.querySelectorAll<HTMLTimeElement>("time[data-ago]")) {
    const text = ago(now - Date.parse(el.dateTime));
    if (el.textContent !== text) el.textContent = text;
  }
}
