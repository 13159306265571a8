import type { HeaderList } from '../http/headers.js';

/** A request of a stage's own. */
export interface CheckRequest {
  readonly method: string;
  /** Absolute http or https URL. */
  readonly url: string;
  /** Without those of the connection and the framing. */
  readonly headers: HeaderList;
  readonly body: Buffer | null;
}

export interface CheckReply {
  readonly status: number;
  /** Names in lower case. */
  readonly headers: HeaderList;
  /** At most 256 KiB. */
  readonly body: Buffer;
}
