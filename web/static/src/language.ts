/** The page's language as in <html lang>. A worker has no page: its name is the language. */
export const pageLanguage: string =
  typeof document !== "undefined" ? document.documentElement.lang : typeof self !== "undefined" ? (self.name ?? "en") : "en";
