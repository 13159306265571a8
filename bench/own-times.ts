import type { AdminClient } from '../src/client/index.js';
import { pause } from './servers.js';

/** Milliseconds after which the rows of answered requests are in the ledger. */
const ingestionMs = 1000;
const pageSize = 1000;

/** The gateway's own part of the time of requests, by its ledger: the whole time without the provider's. */
export class OwnTimes {
  #cursor: string | undefined;

  constructor(readonly client: AdminClient) {}

  /** Milliseconds of the chats that began at `since` (Unix milliseconds) or later, the shortest first. */
  async read(since: number): Promise<number[]> {
    await pause(ingestionMs);
    const times: number[] = [];
    for (;;) {
      const page = await this.client.logs.list({ after: this.#cursor, limit: pageSize });
      this.#cursor = page.cursor;
      // The other times of a row are whole milliseconds: of a difference of two, nothing is left.
      for (const { request_url, created_at, exact_times } of page.data) {
        if (!request_url.includes('/chat/completions') || Date.parse(created_at) < since) continue;
        // Other times of a row are whole milliseconds: the difference of two of them says nothing of a part of one.
        const own = exact_times['gateway_processing_time'];
        if (own === undefined) throw new Error('a row without the time of the gateway');
        times.push(own);
      }
      if (page.data.length < pageSize) return times.sort((a, b) => a - b);
    }
  }
}
