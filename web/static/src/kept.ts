/** What a trace kept before is called, beside what was typed when the same bytes came again. */

import { refused } from "./tus";

export const fields = ["name", "label", "note"] as const;

export type Meta = Record<(typeof fields)[number], string>;

/** The typed fields that the kept trace has otherwise. A field left empty asks for nothing. */
export function differing(kept: Meta, typed: Meta): Partial<Meta> {
  const found: Partial<Meta> = {};
  for (const field of fields) {
    const value = typed[field].trim();
    if (value !== "" && value !== kept[field]) found[field] = value;
  }
  return found;
}

/** The kept trace's name, deployment and note; null when they can't be had. */
export async function keptMeta(url: string): Promise<Meta | null> {
  try {
    const response = await fetch(url, sameOrigin);
    return response.ok ? ((await response.json()) as Meta) : null;
  } catch {
    return null;
  }
}

/** Changes the kept trace; throws what the server says when it refuses. */
export async function changeMeta(url: string, change: Partial<Meta>): Promise<void> {
  const headers = { "Content-Type": "application/json" };
  const response = await fetch(url, { ...sameOrigin, method: "PATCH", headers, body: JSON.stringify(change) });
  if (!response.ok) throw await refused(response);
}

const sameOrigin = { mode: "same-origin", credentials: "same-origin" } as const;
