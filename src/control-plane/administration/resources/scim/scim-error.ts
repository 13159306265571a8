import { status } from '@grpc/grpc-js';
import { AdminError, adminErrors } from '../../admin-error.js';

/** What an error is about: the values of RFC 7644, table 9, that the gateway uses. */
type ScimType =
  | 'invalidFilter'
  | 'invalidSyntax'
  | 'invalidPath'
  | 'invalidValue'
  | 'noTarget'
  | 'mutability';

/** A refusal with the `scimType` of RFC 7644. */
export class ScimError extends AdminError {
  constructor(
    readonly scimType: ScimType,
    message: string,
  ) {
    super('AB01', message, undefined, adminErrors.AB01);
  }
}

export const invalidValue = (path: string, problem: string): ScimError =>
  new ScimError('invalidValue', `${path} ${problem}`);

/** The record is not in the state that If-Match names. */
export const changedSince = (): AdminError =>
  new AdminError('AB07', 'If-Match: the record has been changed since. Read it again.', undefined, {
    grpc: status.ABORTED,
    http: 412,
  });
