/** The page of collectors: figures follow live. */

import { startKeys } from "./keys";
import { follow, Throttle } from "./live";
import { outageLine, tellOutage } from "./outage";
import { refresh, tick } from "./patch";
import { startSwitches } from "./theme";

const refreshEvery = 1000;

startSwitches();
startKeys({ step: () => undefined, escape: () => undefined });

const root = document.querySelector<HTMLElement>("[data-live-root]")!;

function part(): string {
  const url = new URL(location.href);
  url.searchParams.set("part", "body");
  return url.pathname + url.search;
}

const update = new Throttle(() => refresh(root, part()), () => refreshEvery);
follow({ collector: () => update.poke(), ...tellOutage(outageLine(root), () => update.poke()) });
setInterval(() => tick(), 1000);
tick();
