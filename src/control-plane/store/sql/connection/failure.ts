import { GatewayError } from '../../../../common/core/errors.js';

/** SQLite's word or PostgreSQL's SQLSTATE; empty where there is none. */
export function codeOf(error: unknown): string {
  const code = error instanceof Error && 'code' in error ? error.code : null;
  return typeof code === 'string' ? code : '';
}

const says = (error: unknown, words: string): boolean =>
  error instanceof Error && error.message.includes(words);

/** Did a row already have this unique value? */
export function isDuplicate(error: unknown): boolean {
  const code = codeOf(error);
  return code === '23505' || (code === 'SQLITE_CONSTRAINT' && says(error, 'UNIQUE'));
}

/** Does a row name another that is not there, or is it named itself and must stay? */
export function isDangling(error: unknown): boolean {
  const code = codeOf(error);
  return code === '23503' || (code === 'SQLITE_CONSTRAINT' && says(error, 'FOREIGN KEY'));
}

/** Two transactions met, and this one was undone: it may be run again. */
export const isConflict = (error: unknown): boolean => ['40001', '40P01'].includes(codeOf(error));

/** Failures of the machine rather than of a statement. */
const sqliteOutages =
  /^SQLITE_(BUSY|LOCKED|FULL|IOERR|CANTOPEN|READONLY|NOMEM|CORRUPT|NOTADB|PROTOCOL|INTERRUPT|PERM|AUTH)/;
/** Connection, authorisation, conflict, read-only, resources, locks, operator, system, internal. */
const postgresOutages = /^(08|28|40|53|55|57|58|XX)...$|^(25006|25P03|3D000)$/;
const networkOutages = /^(ECONN|EPIPE|ETIMEDOUT|ENOTFOUND|EAI_|EHOSTUNREACH|ENETUNREACH|ENOENT|EACCES)/;
/** Of the driver, without a code; knex puts the statement before it. */
const unansweredWords =
  /(^| - )(Connection terminated|Client has encountered a connection error|Client was closed|timeout e|Query read timeout)/;

/** Could a column hold this text? PostgreSQL refuses a NUL even in a question. */
export const isKeepable = (text: string): boolean => !text.includes('\0');

/** A text that PostgreSQL cannot keep: a NUL, or longer than its column. */
const unfitText = /^(22021|22P05|22001)$/;

/**
 * A failure of the database itself becomes a coded one, of which the driver's code alone is kept: its words quote
 * rows. `committing`: it came while the change was being made final, so that the outcome is unknown.
 */
export function coded(error: unknown, committing = false): unknown {
  if (!(error instanceof Error) || error instanceof GatewayError) return error;
  // What PostgreSQL adds quotes whole rows.
  for (const part of ['detail', 'where', 'internalQuery']) {
    if (part in error) Reflect.deleteProperty(error, part);
  }
  const unanswered = error.name === 'KnexTimeoutError' || unansweredWords.test(error.message);
  const code = unanswered ? 'timeout' : codeOf(error);
  if (unfitText.test(code)) {
    return new GatewayError('AB01', 'A text holds a NUL character or is too long to be kept.');
  }
  const isOutage =
    unanswered || sqliteOutages.test(code) || postgresOutages.test(code) || networkOutages.test(code);
  if (!isOutage) return error;
  return new GatewayError('store_unavailable', words(code, committing), {
    cause: new Error(code),
    retryAfterMs: 1000,
  });
}

function words(code: string, committing: boolean): string {
  if (code === 'SQLITE_FULL' || code === '53100')
    return 'The disk of the store is full: nothing was changed.';
  if (code === '25006') return 'The store takes no changes at the moment: nothing was changed. Try again.';
  if (committing)
    return 'The store did not confirm the change: look whether it was made before trying again.';
  return 'The store did not answer: nothing was changed. Try again.';
}
