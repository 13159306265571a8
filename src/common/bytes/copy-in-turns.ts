import { setImmediate as nextTurn } from 'node:timers/promises';

/** Bytes that are copied in one turn of the event loop: into new memory that takes up to 4 ms. */
export const turnBytes = 2 * 1024 * 1024;

/** A copy of `bytes`, whose memory can be moved to a thread. A long one is copied with the event loop in between. */
export async function copyInTurns(bytes: Uint8Array): Promise<Uint8Array<ArrayBuffer>> {
  if (bytes.length <= turnBytes) return new Uint8Array(bytes);
  const copy = new Uint8Array(bytes.length);
  for (let at = 0; at < bytes.length; at += turnBytes) {
    if (at > 0) await nextTurn();
    copy.set(bytes.subarray(at, at + turnBytes), at);
  }
  return copy;
}

/** All parts in one Buffer, put together with the event loop in between. */
export async function joinInTurns(parts: readonly Buffer[]): Promise<Buffer> {
  const whole = Buffer.allocUnsafeSlow(parts.reduce((sum, { length }) => sum + length, 0));
  let at = 0;
  let turnEnds = turnBytes;
  for (const part of parts) {
    for (let from = 0; from < part.length; ) {
      if (at >= turnEnds) {
        await nextTurn();
        turnEnds = at + turnBytes;
      }
      const copied = part.copy(whole, at, from, from + turnEnds - at);
      at += copied;
      from += copied;
    }
  }
  return whole;
}
