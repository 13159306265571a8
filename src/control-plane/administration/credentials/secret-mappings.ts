import type { SecretMapping as SecretMappingMessage } from '../../../../proto/messages.js';
import type { SecretMapping } from '../../store/store.js';
import { AdminError } from '../admin-error.js';
import { credentialFields } from './credential-fields.js';

/** There are no secret references yet that a mapping could name. */
const unknownReference = (id: string, path: string): AdminError =>
  new AdminError(
    'AB02',
    `${path}: there is no secret reference ${JSON.stringify(id.slice(0, 128))}: give the value itself instead of mapping it.`,
  );

/**
 * Mappings of secrets that a request asks for: each is checked, and refused with AB02, since no reference is known.
 * `root`: `configurations` or `model_config`.
 */
export function secretMappingsOf(
  asked: readonly SecretMappingMessage[],
  root: string,
  provider: string,
): SecretMapping[] {
  for (const [i, { target_field: target }] of asked.entries()) {
    const path = `secret_mappings[${i}].target_field`;
    if (asked.findIndex((other) => other.target_field === target) < i)
      throw AdminError.field(path, `is ${target} a second time: map each field once.`);
    const name = fieldOf(target, root);
    const field = credentialFields[name];
    if (target !== 'key' && (!target.startsWith(`${root}.`) || field === undefined))
      throw AdminError.field(path, `must be key, or a field of ${root} such as ${root}.custom_host.`);
    if (field?.providers?.includes(provider) === false)
      throw AdminError.field(path, `is no field of ${provider}.`);
  }
  const [first] = asked;
  if (first !== undefined)
    throw unknownReference(first.secret_reference_id, 'secret_mappings[0].secret_reference_id');
  return [];
}

const fieldOf = (target: string, root: string): string => target.slice(root.length + 1);

/** Names of the fields that are mapped; `key` is the key. */
export const mappedFields = (mappings: readonly SecretMapping[], root: string): ReadonlySet<string> =>
  new Set(mappings.map(({ targetField }) => (targetField === 'key' ? 'key' : fieldOf(targetField, root))));

export const secretMappingMessage = (mapping: SecretMapping): SecretMappingMessage => ({
  target_field: mapping.targetField,
  secret_reference_id: mapping.secretReferenceId,
  secret_key: mapping.secretKey,
  value_format: mapping.valueFormat,
});
