/** Names from traces: long ones folded in the middle, template arguments told apart, and all harmless in sentences. */

export interface Piece {
  text: string;
  /** Inside <…>. */
  argument: boolean;
}

const turning = /[\u200e\u200f\u202a-\u202e\u2066-\u2069]/g;

/**
 * Text from a trace as the page shows it: marks that turn the text around them the other way are replaced,
 * as the reader does with control bytes. Files keep the original.
 */
export function harmless(text: string): string {
  return text.replace(turning, "\ufffd");
}

/** What a line has room for beside the figures, in letters: less in a narrow window. */
const longest = typeof innerWidth !== "number" || innerWidth >= 1440 ? 96 : innerWidth > 720 ? 76 : 44;
const headLength = Math.floor(longest * 0.55);
const tailLength = Math.floor(longest * 0.38);

/** Splits a name into what is inside template brackets and what is not. A lone or shift-like < is text. */
export function pieces(name: string): Piece[] {
  const out: Piece[] = [];
  const add = (text: string, argument: boolean) => {
    if (text === "") return;
    const last = out.at(-1);
    if (last !== undefined && last.argument === argument) last.text += text;
    else out.push({ text, argument });
  };
  let depth = 0;
  let from = 0;
  for (let i = 0; i < name.length; i++) {
    const c = name[i];
    if (c === "<") {
      if (depth++ === 0) {
        add(name.slice(from, i), false);
        from = i;
      }
    } else if (c === ">" && depth > 0 && name[i - 1] !== "-") {
      if (--depth === 0) {
        add(name.slice(from, i + 1), true);
        from = i + 1;
      }
    }
  }
  add(name.slice(from), false);
  return out;
}

/** The pieces of a name's beginning and end with "…" between, or all of them where the name is short. */
export function fold(all: readonly Piece[]): Piece[] {
  const length = all.reduce((sum, p) => sum + p.text.length, 0);
  if (length <= longest) return [...all];
  return [...cut(all, 0, headLength), { text: "…", argument: true }, ...cut(all, length - tailLength, length)];
}

function cut(all: readonly Piece[], from: number, to: number): Piece[] {
  const out: Piece[] = [];
  let at = 0;
  for (const p of all) {
    const text = p.text.slice(Math.max(0, from - at), Math.max(0, to - at));
    if (text !== "") out.push({ text, argument: p.argument });
    at += p.text.length;
  }
  return out;
}

/** Puts a name into place: folded, with the whole of it as title, and unfolded while its cell has the focus. */
export function showName(place: HTMLElement, cell: HTMLElement, name: string): void {
  name = harmless(name);
  const all = pieces(name);
  const folded = fold(all);
  put(place, folded);
  place.classList.remove("long"); // folded here, by brackets
  cell.title = name;
  if (name.length <= longest) return;
  place.classList.add("fold");
  cell.addEventListener("focus", () => {
    put(place, all);
    place.classList.replace("fold", "unfolded");
  });
  cell.addEventListener("blur", () => {
    put(place, folded);
    place.classList.replace("unfolded", "fold");
  });
}

function put(place: HTMLElement, all: readonly Piece[]): void {
  place.replaceChildren(
    ...all.map((p) => {
      if (!p.argument) return document.createTextNode(p.text);
      const span = document.createElement("span");
      span.className = "targs";
      span.textContent = p.text;
      return span;
    }),
  );
}
