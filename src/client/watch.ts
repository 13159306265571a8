import type { ConfigEvent } from '../../proto/messages.js';
import type { AdminApi } from './api.js';
import { AdminCallError } from './call-error.js';

const shortestPauseMs = 250;
const longestPauseMs = 30_000;

/** Resolves after `ms`, or when `signal` is aborted. */
function pause(ms: number, signal: AbortSignal | undefined): Promise<void> {
  return new Promise((over) => {
    const done = (): void => {
      clearTimeout(timer);
      signal?.removeEventListener('abort', done);
      over();
    };
    const timer = setTimeout(done, ms);
    signal?.addEventListener('abort', done);
  });
}

/** Not refused: the gateway was away, or nothing was read for too long. */
const isBrokenOff = ({ code }: AdminCallError): boolean => code === null || code === 'deadline';

/**
 * Every change from `token` on, without a gap: a stream that ends or breaks is opened again where it was. Throws
 * where the key is refused. Of the signs it gives the first `start`, and every `reset`: after these read everything.
 */
export async function* follow(
  { watch }: AdminApi,
  { token, signal }: { readonly token?: string; readonly signal?: AbortSignal } = {},
): AsyncGenerator<ConfigEvent> {
  const isOver = (): boolean => signal?.aborted === true;
  let last = token;
  let hasStarted = false;
  for (let wait = shortestPauseMs; !isOver(); wait = Math.min(wait * 2, longestPauseMs)) {
    try {
      for await (const event of watch.watchConfig({ ...(last !== undefined && { token: last }) }, signal)) {
        last = event.token;
        wait = shortestPauseMs;
        const isNews = event.action !== 'alive' && !(event.action === 'start' && hasStarted);
        if (event.action === 'start') hasStarted = true;
        if (isNews) yield event;
      }
    } catch (error) {
      if (!(error instanceof AdminCallError) || !isBrokenOff(error)) throw error;
    }
    if (!isOver()) await pause(wait, signal);
  }
}
