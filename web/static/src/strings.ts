/** What the scripts say, in the page's language. Both languages have the same shape, so none can lack a text. */

import { pageLanguage } from "./language";
import { en } from "./strings-en";
import { zh } from "./strings-zh";

export type Strings = typeof en;

/** The texts of the page's language. */
export let t: Strings = pageLanguage.startsWith("zh") ? zh : en;

/** Switches the language, for tests: a page keeps the one it was rendered in. */
export function setLanguage(lang: "en" | "zh"): void {
  t = lang === "zh" ? zh : en;
}
