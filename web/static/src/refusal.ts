/** What the server says when it refuses a request, in the page's language. */

import { pageLanguage } from "./language";

/** A refusal as a person is told of it. */
export interface Refusal {
  message: string;
  hint: string;
  /** Which refusal it is; "" when the answer is not one of ours. */
  code: string;
}

interface Said {
  error?: unknown;
  hint?: unknown;
}

const zhPage = pageLanguage.startsWith("zh");

/** The words of an answer that is no success. One without words of the server's own has its status. */
export async function refusal(response: Response, zh = zhPage): Promise<Refusal> {
  try {
    const body = (await response.json()) as Said & { code?: unknown; zh?: Said };
    const said = zh && typeof body.zh?.error === "string" ? body.zh : body;
    if (typeof said.error === "string") return { message: said.error, hint: text(said.hint), code: text(body.code) };
  } catch {
    // No JSON: a proxy may have answered.
  }
  return { message: `${response.status} ${response.statusText}`.trim(), hint: "", code: "" };
}

const text = (value: unknown) => (typeof value === "string" ? value : "");
