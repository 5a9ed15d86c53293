/** The ways a trace comes in: picker, drop over the window, paste, the address form, the example link. */

import { byID } from "./dom";
import { t } from "./strings";
import type { Shown } from "./errors";

export interface InputActions {
  files(files: readonly File[]): void;
  address(text: string): void;
  refuse(what: Shown): void;
}

export function startInputs(actions: InputActions): void {
  const picker = byID<HTMLInputElement>("file-input");
  picker.addEventListener("change", () => {
    const files = [...(picker.files ?? [])];
    picker.value = ""; // so that the same file can be chosen again
    if (files.length > 0) actions.files(files);
  });
  byID<HTMLFormElement>("url-form").addEventListener("submit", (event) => {
    event.preventDefault();
    actions.address(byID<HTMLInputElement>("url-input").value);
  });
  // The pattern would refuse a pasted full address of this server before we can take its path.
  byID<HTMLInputElement>("url-input").removeAttribute("pattern");
  byID<HTMLAnchorElement>("open-example").addEventListener("click", (event) => {
    if (event.ctrlKey || event.metaKey || event.shiftKey) return;
    event.preventDefault();
    actions.address(byID<HTMLAnchorElement>("open-example").href);
  });
  dropping(actions);
  document.addEventListener("paste", (event) => {
    if (event.target instanceof HTMLElement && event.target.matches("input, textarea")) return;
    const files = [...(event.clipboardData?.files ?? [])];
    const text = event.clipboardData?.getData("text/plain").trim() ?? "";
    if (files.length > 0) actions.files(files);
    else if (/^(https?:\/\/|\/)\S+$/.test(text)) actions.address(text);
  });
}

function dropping(actions: InputActions): void {
  const root = document.documentElement;
  const carries = (event: DragEvent) => event.dataTransfer?.types.some((k) => k === "Files" || k === "text/uri-list") ?? false;
  // dragleave fires for every element that is left: only the window's own (to nowhere) counts.
  addEventListener("dragenter", (event) => {
    if (carries(event)) root.dataset["dragging"] = "";
  });
  addEventListener("dragleave", (event) => {
    if (event.relatedTarget === null) delete root.dataset["dragging"];
  });
  addEventListener("dragover", (event) => {
    if (!carries(event)) return;
    event.preventDefault();
    event.dataTransfer!.dropEffect = "copy";
  });
  addEventListener("drop", (event) => {
    delete root.dataset["dragging"];
    const data = event.dataTransfer;
    if (data === null || !carries(event)) return;
    event.preventDefault();
    const folder = [...data.items].some((item) => item.webkitGetAsEntry?.()?.isDirectory === true);
    const files = [...data.files];
    if (folder) actions.refuse({ title: t.error.folder, detail: "", hint: t.error.folderHint });
    else if (files.length > 0) actions.files(files);
    else {
      const address = data.getData("text/uri-list").split(/[\r\n]+/).find((line) => line !== "" && !line.startsWith("#"));
      if (address !== undefined) actions.address(address);
    }
  });
}
