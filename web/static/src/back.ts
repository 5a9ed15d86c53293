/** Forms that lead back to the page they are on: to what it shows now, not to what it showed when it was made. */

export function startBack(): void {
  // What was saved is told once: neither a reload nor a copied address repeats it.
  const url = new URL(location.href);
  const told = ["done", "started"].filter((key) => url.searchParams.has(key));
  if (told.length > 0) {
    for (const key of told) url.searchParams.delete(key);
    history.replaceState(history.state, "", url);
  }
  document.addEventListener("submit", (event) => {
    const back = (event.target as HTMLFormElement).querySelector<HTMLInputElement>("input[name=back]");
    if (back !== null) back.value = location.pathname + location.search;
  }, { capture: true });
}
