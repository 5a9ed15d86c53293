/** The page's state in the address: selection, sorting, filters, as parameters of the hash. */

type Listener = () => void;

const listeners = new Set<Listener>();

function params(): URLSearchParams {
  const hash = location.hash.slice(1);
  // A plain #phases is a link to a place on the page, not state.
  return new URLSearchParams(hash.includes("=") ? hash : "");
}

export function getState(key: string): string | null {
  return params().get(key);
}

/** Sets or (null) removes a key. push makes a step that the back button undoes. */
export function setState(key: string, value: string | null, push = false): void {
  const p = params();
  if ((p.get(key) ?? null) === value) return;
  if (value === null) p.delete(key);
  else p.set(key, value);
  const hash = p.toString();
  const url = location.pathname + location.search + (hash === "" ? "" : `#${hash}`);
  if (push) history.pushState(history.state, "", url);
  else history.replaceState(history.state, "", url);
}

/** Calls f when the person goes back or forward, or edits the hash. */
export function onState(f: Listener): void {
  if (listeners.size === 0) {
    addEventListener("popstate", () => listeners.forEach((l) => l()));
  }
  listeners.add(f);
}
