/** How long ago something was, as the server says it too. */

import { t } from "./fleetstrings";

export function ago(ms: number): string {
  const s = Math.floor(ms / 1000);
  if (s < 1) return t.ago.now;
  if (s < 60) return t.ago.seconds(s);
  if (s < 3600) return t.ago.minutes(Math.floor(s / 60));
  if (s < 2 * 86_400) return t.ago.hours(Math.floor(s / 3600));
  return t.ago.days(Math.floor(s / 86_400));
}
