/** Small typed helpers over the page's elements. Text from traces goes in by textContent only. */

/** The element with this id; its absence is a mistake between page and script, so it throws. */
export function byID<T extends HTMLElement = HTMLElement>(id: string): T {
  const found = document.getElementById(id);
  if (found === null) throw new Error(`the page has no #${id}`);
  return found as T;
}

export function maybeID<T extends HTMLElement = HTMLElement>(id: string): T | null {
  return document.getElementById(id) as T | null;
}

/** The element with data-role=name inside parent. */
export function role<T extends HTMLElement = HTMLElement>(parent: ParentNode, name: string): T {
  const found = maybeRole<T>(parent, name);
  if (found === null) throw new Error(`no [data-role=${name}] here`);
  return found;
}

export function maybeRole<T extends HTMLElement = HTMLElement>(parent: ParentNode, name: string): T | null {
  return parent.querySelector<T>(`[data-role="${name}"]`);
}

/** The first element of a template, cloned. */
export function fromTemplate<T extends Element = HTMLElement>(id: string): T {
  const template = byID<HTMLTemplateElement>(id);
  const first = template.content.firstElementChild;
  if (first === null) throw new Error(`template #${id} is empty`);
  return document.importNode(first, true) as unknown as T;
}

/** Text, links to places on the page (#id), and emphasis: what a composed sentence is made of. */
export interface Part {
  text: string;
  bold?: boolean;
  href?: string;
  /** The exact figure behind the text. */
  exact?: string;
  /** The table and the column whose definition says what it is. */
  about?: readonly [table: string, key: string];
}

export function partNode(part: Part): Node {
  if (part.href !== undefined) {
    const a = document.createElement("a");
    a.href = part.href;
    a.textContent = part.text;
    // The hash holds the page's state, which following the link would replace.
    a.addEventListener("click", (event) => {
      event.preventDefault();
      document.querySelector(part.href!)?.scrollIntoView({ block: "start" });
    });
    return a;
  }
  if (part.bold !== true && part.about === undefined) return document.createTextNode(part.text);
  const el = document.createElement(part.bold === true ? "b" : "span");
  el.textContent = part.text;
  return el;
}

/** Parses the JSON of a script element. */
export function scriptJSON<T>(id: string): T {
  return JSON.parse(byID(id).textContent ?? "null") as T;
}
