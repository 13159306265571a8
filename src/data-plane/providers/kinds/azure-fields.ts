import { GatewayError } from '../../../common/core/errors.js';
import type { CallFields } from '../call-fields.js';

/** Reads fields of a call, each by the first of its names that has a value. */
export type AzureFields = (...names: readonly string[]) => string | null;

/**
 * Where a stored provider takes part, only its own fields decide the host and the credential of calls: a caller must not
 * have a stored key or identity sent to another resource.
 */
export function azureFields(fields: CallFields): AzureFields {
  const read = fields.fromStore === null ? fields.get.bind(fields) : fields.stored.bind(fields);
  return (...names) => {
    for (const name of names) {
      const value = read(name);
      if (value !== null) return value;
    }
    return null;
  };
}

/** A name that becomes part of a host. */
export function hostLabel(value: string, field: string): string {
  if (/^[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?$/i.test(value)) return value.toLowerCase();
  throw missing(field, 'must be a name of letters, digits and hyphens.');
}

/** Dates as Azure writes them (`2024-10-21`, `2025-04-01-preview`), `v1`, `preview`, `latest`. */
export function apiVersion(value: string): string {
  if (/^[\w.-]{1,30}$/.test(value)) return value;
  throw missing('azure_api_version', 'must be a version such as v1 or 2024-10-21.');
}

export function missing(field: string, what: string): GatewayError {
  return new GatewayError('invalid_request', `${field} ${what}`, { param: field });
}
