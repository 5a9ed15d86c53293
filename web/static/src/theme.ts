/** Theme and language switches: plain links that work without script; here they keep what is open. */

const year = 31_536_000;

export function startSwitches(): void {
  for (const link of document.querySelectorAll<HTMLAnchorElement>("a[data-set-theme]")) {
    link.addEventListener("click", (event) => {
      event.preventDefault();
      const theme = link.dataset["setTheme"]!;
      document.documentElement.dataset["theme"] = theme;
      document.cookie = `theme=${theme};path=/;max-age=${year};samesite=lax`;
      for (const other of document.querySelectorAll("a[data-set-theme]")) {
        if (other === link) other.setAttribute("aria-current", "true");
        else other.removeAttribute("aria-current");
      }
    });
  }
  for (const link of document.querySelectorAll<HTMLAnchorElement>("a[data-set-lang]")) {
    link.addEventListener("click", () => {
      // The address has changed since the page was rendered: sorting, the step, the opened trace.
      const url = new URL(location.href);
      url.searchParams.set("lang", link.dataset["setLang"]!);
      link.href = url.href;
    });
  }
}
