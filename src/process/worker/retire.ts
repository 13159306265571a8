import type { Transport } from '../../data-plane/transport/transport.js';

/** Longer than a connection without requests stays open. Milliseconds. */
const idleMs = 12_000;
/** Milliseconds that the requests of a worker that is replaced have to end. */
const mostMs = 600_000;

/** A turn of the event loop shorter than this leaves connections no time to queue up. Milliseconds. */
const shortMs = 0.5;
const mostTurns = 1000;

/**
 * Resolves right after a turn of the event loop that took no time: the connections that waited were accepted in it. Those that
 * wait when the port is closed are reset.
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
 * Another worker has taken over: no new connections, and each open one ends after its next answer. Requests that still
 * arrive on them are served. Resolves when there can be none any more.
 */
export async function retire(transport: Pick<Transport, 'drain' | 'inFlight'>): Promise<void> {
  const from = performance.now();
  await quietTurn();
  transport.drain();
  await wait(idleMs);
  while (transport.inFlight > 0 && performance.now() - from < mostMs) await wait(100);
}
