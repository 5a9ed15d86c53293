/** How fast something goes and how long it still takes, from its progress over the last seconds. */

const windowMs = 4000;

export class Rate {
  private readonly seen: { at: number; bytes: number }[] = [];

  add(bytes: number, now: number): void {
    this.seen.push({ at: now, bytes });
    while (this.seen.length > 2 && now - this.seen[1]!.at > windowMs) this.seen.shift();
  }

  /** Bytes per second; null until there is something to tell. */
  perSecond(): number | null {
    const first = this.seen[0];
    const last = this.seen.at(-1);
    if (first === undefined || last === undefined || last.at - first.at < 50) return null;
    return Math.max(0, (last.bytes - first.bytes) / ((last.at - first.at) / 1000));
  }

  /** Seconds to total; null while unknown. */
  secondsLeft(total: number): number | null {
    const rate = this.perSecond();
    const last = this.seen.at(-1);
    return rate === null || rate === 0 || last === undefined ? null : (total - last.bytes) / rate;
  }
}
