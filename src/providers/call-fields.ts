import type { FieldValues } from '../core/provider-fields.js';

/**
 * Fields of the provider's own for one call (`vertex_region`, `aws_access_key_id`, …). What a stored provider says goes
 * before what the config or a header says, so that nobody bends where a stored credential goes.
 */
export class CallFields {
  constructor(
    readonly fromStore: FieldValues | null,
    readonly fromTarget: FieldValues,
  ) {}

  /** '' counts as not said. */
  get(name: string): string | null {
    return this.stored(name) ?? textOf(this.fromTarget[name]);
  }

  /** What the stored provider says alone: for what a caller may not choose, such as the gateway's own identity. */
  stored(name: string): string | null {
    return this.fromStore === null ? null : textOf(this.fromStore[name]);
  }
}

function textOf(value: FieldValues[string] | undefined): string | null {
  const text = typeof value === 'object' ? value.reveal() : value;
  return text === undefined || text === '' ? null : text;
}
