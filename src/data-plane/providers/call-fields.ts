import type { FieldValues } from '../../common/vocabulary/provider-fields.js';

/**
 * Fields of the provider's own for one call (`vertex_region`, `aws_access_key_id`, …). The values of a stored provider go
 * before those of the config or a header, so that no caller redirects a stored credential.
 */
export class CallFields {
  constructor(
    readonly fromStore: FieldValues | null,
    readonly fromTarget: FieldValues,
  ) {}

  /** '' counts as absent. */
  get(name: string): string | null {
    return this.stored(name) ?? textOf(this.fromTarget[name]);
  }

  /** The value of the stored provider only: for fields that a caller may not choose, such as the gateway's own identity. */
  stored(name: string): string | null {
    return this.fromStore === null ? null : textOf(this.fromStore[name]);
  }
}

function textOf(value: FieldValues[string] | undefined): string | null {
  const text = typeof value === 'object' ? value.reveal() : value;
  return text === undefined || text === '' ? null : text;
}
