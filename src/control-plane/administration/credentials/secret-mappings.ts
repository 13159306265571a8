import type { SecretMapping as SecretMappingMessage } from '../../../../proto/messages.js';
import type { SecretMapping, SecretReference } from '../../store/store.js';
import type { Caller } from '../access/caller.js';
import { speaksForAll } from '../access/host-trust.js';
import { AdminError } from '../admin-error.js';
import { credentialFields } from './credential-fields.js';

/** The record that mappings belong to. */
export interface MappingOwner {
  /** The record's own; null: it belongs to the organisation, and each workspace is checked when it calls. */
  readonly workspaceId: string | null;
  /** What precedes the point in names of fields: `configurations`, `model_config`. */
  readonly root: string;
  /** Throws AB01 for a field that the record does not have. `path`: its place in the request. */
  checkField(target: string, path: string): void;
}

/** Fields of a provider's credential. */
export const ofProvider = (
  provider: string,
  root: 'configurations' | 'model_config',
  workspaceId: string | null,
): MappingOwner => ({
  workspaceId,
  root,
  checkField(target, path) {
    const accepted = Object.entries(credentialFields)
      .filter(([, { providers }]) => providers === null || providers.includes(provider))
      .map(([name]) => `${root}.${name}`);
    if (target === 'key' || accepted.includes(target)) return;
    throw AdminError.field(path, `must be one of these for ${provider}: key, ${accepted.join(', ')}.`);
  },
});

/** The mappings in a request. Throws AB01, and AB02 for a secret reference that does not exist or may not be used. */
export async function secretMappingsOf(
  caller: Caller,
  asked: readonly SecretMappingMessage[],
  owner: MappingOwner,
): Promise<SecretMapping[]> {
  for (const [i, { target_field: target }] of asked.entries()) {
    const path = `secret_mappings[${i}].target_field`;
    if (asked.findIndex((other) => other.target_field === target) < i)
      throw AdminError.field(path, `repeats ${target}: map each field once.`);
    owner.checkField(target, path);
  }
  const references = new Map<string, SecretReference | null>();
  for (const [i, { secret_reference_id: named }] of asked.entries()) {
    if (!references.has(named))
      references.set(named, await caller.store.secretReferences.get(caller.organisationId, named));
    const reference = references.get(named) ?? null;
    const isUsable =
      reference !== null &&
      (owner.workspaceId === null ||
        reference.workspaces === null ||
        reference.workspaces.includes(owner.workspaceId));
    if (!isUsable)
      throw new AdminError(
        'AB02',
        `secret_mappings[${i}].secret_reference_id: there is no secret reference ${JSON.stringify(named.slice(0, 128))} that the workspace may use: name another, or have an administrator create it or allow the workspace.`,
      );
  }
  return asked.map((mapping) => ({
    targetField: mapping.target_field,
    secretReferenceId: mapping.secret_reference_id,
    secretKey: mapping.secret_key || null,
    valueFormat: (mapping.value_format || null) as SecretMapping['valueFormat'],
  }));
}

/** Throws AB03 where a workspace's key would have a secret sent to an address of its choice. */
export function checkMappedHost(
  caller: Caller,
  mappings: readonly SecretMapping[],
  address: string | null | undefined,
): void {
  if (mappings.length === 0 || !address || speaksForAll(caller)) return;
  throw new AdminError(
    'AB03',
    'custom_host: secret references are sent to an address of your own by a key of the organisation alone: leave custom_host out, or ask an administrator.',
  );
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
