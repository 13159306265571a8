import { GatewayError } from '../../../common/core/errors.js';
/** Why PostgreSQL did not do what was asked. Its own words quote rows and are left out. */
export class LedgerFailure extends Error {
  override readonly name = 'LedgerFailure';

  constructor(
    /** SQLSTATE, or the system's word for a connection that failed; `timeout`. */
    readonly code: string,
    place: string,
  ) {
    super(`PostgreSQL at ${place} did not do it (${code})`);
  }
}

/** The tables are those of a later program, which this one cannot use. */
export class LaterLedger extends Error {
  override readonly name = 'LaterLedger';
}

/** Where a URL leads, its user and password left out. */
export function placeOf(url: string): string {
  const { hostname, port, pathname } = new URL(url);
  return `postgres://${hostname}${port === '' ? '' : `:${port}`}${pathname}`;
}

export function codeOf(error: unknown): string {
  if (!(error instanceof Error)) return 'no connection';
  const code = 'code' in error ? error.code : undefined;
  if (typeof code === 'string') return code;
  return /timeout/i.test(error.message) ? 'timeout' : 'no connection';
}

/** Has the server, or what is on the way to it, ended a connection? */
export const isEnded = (code: string): boolean =>
  /^(?:08...|57P0.|ECONNRESET|EPIPE|no connection)$/.test(code);

/** What a caller gets who is waiting for the answer. */
export function unavailable(error: unknown): never {
  if (!(error instanceof LedgerFailure)) throw error;
  throw new GatewayError('store_unavailable', 'The ledger did not answer: try again.', { cause: error });
}
