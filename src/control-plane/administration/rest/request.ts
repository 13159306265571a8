import type { HeaderList } from '../../../common/http/headers.js';

/** A request to the administration plane, as a data worker took it. */
export interface RestRequest {
  /** Upper case. */
  readonly verb: string;
  /** As received, without the query. */
  readonly path: string;
  /** As received, without `?`. */
  readonly query: string;
  /** Names in lower case. */
  readonly headers: HeaderList;
  readonly address: string;
  readonly body: Buffer;
  /** Aborted when the client has gone. */
  readonly gone: AbortSignal;
}

export interface RestAnswer {
  readonly status: number;
  readonly headers: HeaderList;
  /** A whole body, or one that comes piece by piece. */
  readonly body: string | Buffer | AsyncIterable<Buffer | string>;
}

/** Of every answer of the administration plane. */
export const commonHeaders: HeaderList = ['cache-control', 'no-store', 'x-content-type-options', 'nosniff'];

/** Every value of a header, in the order in which they came. */
export function valuesOf(headers: HeaderList, name: string): string[] {
  const values: string[] = [];
  for (let i = 0; i < headers.length; i += 2) if (headers[i] === name) values.push(headers[i + 1] ?? '');
  return values;
}
