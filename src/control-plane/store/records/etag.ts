import { hash } from 'node:crypto';

/** What every row that can be changed has: it counts up with each change. */
export interface Revised {
  readonly id: string;
  readonly revision: number;
}

/** Names one state of one record; opaque to clients. A record that is created again under an old slug has another. */
export const etagOf = ({ id, revision }: Revised): string =>
  hash('sha256', `${id}/${revision}`, 'base64url').slice(0, 16);
