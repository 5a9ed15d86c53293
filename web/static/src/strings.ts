/** What the scripts say, in the page's language. Both languages have the same shape, so none can lack a text. */

import { en } from "./strings-en";
import { zh } from "./strings-zh";

export type Strings = typeof en;

const page = typeof document === "undefined" ? "en" : document.documentElement.lang;

/** The texts of the page's language. */
export let t: Strings = page.startsWith("zh") ? zh : en;

/** Switches the language, for tests: a page keeps the one it was rendered in. */
export function setLanguage(lang: "en" | "zh"): void {
  t = lang === "zh" ? zh : en;
}
