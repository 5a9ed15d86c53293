/** Addresses of traces: only those of our own server are opened. */

/** The same-origin path (with query) of what a person typed or pasted; null when it is elsewhere or no address. */
export function sameOriginPath(text: string, origin: string): string | null {
  let url: URL;
  try {
    url = new URL(text.trim(), origin);
  } catch {
    return null;
  }
  if (url.origin !== origin || url.username !== "" || url.password !== "") return null;
  // The address of a viewer page stands for the trace it shows.
  const inner = url.pathname === "/trace" ? url.searchParams.get("trace") : null;
  if (inner !== null) return inner.startsWith("/trace?") ? null : sameOriginPath(inner, origin);
  return url.pathname + url.search;
}

/** What to call a trace from an address: its last segment; for a kept trace the beginning of its id. */
export function nameOf(path: string): string {
  const parts = path.split("?")[0]!.split("/").filter((p) => p !== "");
  const last = parts.at(-1) ?? path;
  const name = last === "content" && parts.length > 1 ? `${parts.at(-2)!.slice(0, 12)}…` : last;
  try {
    return decodeURIComponent(name);
  } catch {
    return name;
  }
}

/** The id of a kept trace when the path is that of its content. */
export function keptID(path: string, tracesAPI: string): string | null {
  const rest = path.startsWith(`${tracesAPI}/`) ? path.slice(tracesAPI.length + 1) : "";
  return /^([0-9a-f]{64})\/content$/.exec(rest)?.[1] ?? null;
}
