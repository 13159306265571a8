import type { Transport } from '../../data-plane/transport/transport.js';

/** Longer than a connection without requests stays open. Milliseconds. */
const idleMs = 12_000;
/** Time for the requests of a replaced worker to end. Milliseconds. */
const mostMs = 600_000;

/** A turn of the event loop shorter than this leaves connections no time to queue up. Milliseconds. */
const shortMs = 0.5;
const mostTurns = 1000;

/**
 * Resolves right after a short turn of the event loop, in which the waiting connections were accepted: those that still wait
 * when the port is closed are reset.
 */
async function quietTurn(): Promise<void> {
  let from = performance.now();
  for (let turn = 0; turn < mostTurns; turn++) {
    await new Promise((next) => setImmediate(next));
    const now = performance.now();
    if (turn > 0 && now - from < shortMs) return;
    from = now;
  }
}

const wait = (ms: number): Promise<void> => new Promise((done) => setTimeout(done, ms));

/**
 * Another worker has replaced this one: accepts no new connections, and closes each open one after its next answer. Requests
 * that still arrive on them are served. Resolves when no more can arrive. `open`: the number of requests in flight, also those
 * of disconnected clients. `quietMs`: replaced in tests.
 */
export async function retire(
  transport: Pick<Transport, 'drain'>,
  open: () => number,
  quietMs = idleMs,
): Promise<void> {
  const from = performance.now();
  await quietTurn();
  transport.drain();
  await wait(quietMs);
  while (open() > 0 && performance.now() - from < mostMs) await wait(100);
}
