import type { SharedAnswer, UnredactedBody } from '../../common/ipc/shared.js';

/** Bytes of bodies that wait to be sealed and stored; a further one is not kept. */
const maxWaitingBytes = 32 * 1024 * 1024;
/** Bytes that a body takes besides its text. */
const bodyBytes = 512;

/**
 * Receives bodies from data workers, seals and stores them. The store may be slow or unavailable: bodies that wait for it are
 * bounded in bytes, for all workers together.
 */
export class UnredactedIntake {
  #waitingBytes = 0;

  constructor(readonly put: (body: UnredactedBody) => Promise<void>) {}

  get waitingBytes(): number {
    return this.#waitingBytes;
  }

  async take(body: UnredactedBody): Promise<SharedAnswer<'unredacted-text'>> {
    // A JavaScript string has one or two bytes for each UTF-16 code unit.
    const bytes = bodyBytes + 2 * body.text.length;
    if (this.#waitingBytes + bytes > maxWaitingBytes) return 'full';
    this.#waitingBytes += bytes;
    try {
      await this.put(body);
      return 'kept';
    } finally {
      this.#waitingBytes -= bytes;
    }
  }
}
