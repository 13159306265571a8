import { expect } from 'chai';
import { eventually, pause } from './gateway.js';

/** One request of a load: when it began, and what it came to. */
export interface Seen {
  readonly at: number;
  readonly outcome: string;
}

const settleMs = 50;
const atOnce = 4;
/** Milliseconds between two requests of one caller: without them, this process and the gateway only compute. */
const betweenMs = 4;

/**
 * Asks over and over, several at a time, while `change` is made. Requests that ended before it began must come to
 * `before`, those that begin after it has answered to `after`; in between either may be seen, and `meanwhile`.
 */
export async function askedMeanwhile(
  ask: () => Promise<string>,
  change: () => Promise<unknown>,
  {
    before,
    after,
    meanwhile,
  }: { readonly before: string; readonly after: string; readonly meanwhile?: string },
): Promise<void> {
  const seen: Seen[] = [];
  const earlier: string[] = [];
  let changing = false;
  let until = Number.POSITIVE_INFINITY;
  const loops = Array.from({ length: atOnce }, async () => {
    while (performance.now() < until) {
      const at = performance.now();
      const outcome = await ask();
      seen.push({ at, outcome });
      if (!changing) earlier.push(outcome);
      await pause(betweenMs);
    }
  });
  const failed = Promise.all(loops).then(() => null);
  await Promise.race([failed, enough(() => earlier.length)]);
  changing = true;
  let changed: number;
  try {
    await change();
    changed = performance.now();
    const since = changed;
    await Promise.race([failed, enough(() => seen.filter(({ at }) => at >= since).length)]);
  } finally {
    until = 0;
    await failed;
  }
  const later = seen.filter(({ at }) => at >= changed).map(({ outcome }) => outcome);
  expect(new Set(earlier), 'before the change').to.deep.equal(new Set([before]));
  expect(new Set(later), 'after the change has answered').to.deep.equal(new Set([after]));
  const strange = seen.filter(({ outcome }) => ![before, after, meanwhile].includes(outcome));
  expect(strange, 'neither before nor after').to.deep.equal([]);
}

/** Waits a little, and on until there have been more requests than go on at once. */
async function enough(count: () => number): Promise<void> {
  await pause(settleMs);
  await eventually('more requests than go on at once', async () => count() > atOnce);
}
