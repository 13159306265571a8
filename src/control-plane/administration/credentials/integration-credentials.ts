import type { CreateIntegrationRequest, UpdateIntegrationRequest } from '../../../../proto/messages.js';
import type { CredentialsChange, Integration, NewConfigurations, SecretMapping } from '../../store/store.js';
import type { Caller } from '../access/caller.js';
import { addressIn, movedHost } from '../access/host-trust.js';
import { AdminError } from '../admin-error.js';
import { changeOf } from '../audit/mask.js';
import { needsKey } from '../resources/integrations/provider-names.js';
import { changedConfigurations, type Face, isEmpty, providerKeyOf } from './configurations.js';
import { credentialFields } from './credential-fields.js';
import { checkMappedHost, mappedFields, ofProvider, secretMappingsOf } from './secret-mappings.js';

/** Credentials of integrations: complete, or refused. */

const root = 'configurations';

/** How a request spells a field. */
export const pathOf = (field: string): string => `${root}.${field}`;

function checkKey(
  provider: string,
  hasKey: boolean,
  configurations: NewConfigurations['shown'],
  mappings: readonly SecretMapping[],
): void {
  if (hasKey || mappedFields(mappings, root).has('key') || !needsKey(provider, configurations)) return;
  throw AdminError.field('key', `is required for ${provider}: give it.`);
}

const faceOf = (provider: string, mappings: readonly SecretMapping[]): Face => ({
  provider,
  path: pathOf,
  complete: true,
  mapped: mappedFields(mappings, root),
});

export async function newCredentials(
  caller: Caller,
  request: CreateIntegrationRequest,
  provider: string,
  workspaceId: string | null,
): Promise<CredentialsChange> {
  const owner = ofProvider(provider, root, workspaceId);
  const secretMappings = await secretMappingsOf(caller, request.secret_mappings, owner);
  const said = new Map(Object.entries(request.configurations ?? {}));
  const configurations = changedConfigurations(faceOf(provider, secretMappings), {}, said);
  const key = request.key ? providerKeyOf(request.key) : null;
  checkKey(provider, key !== null, configurations.shown, secretMappings);
  checkMappedHost(caller, secretMappings, addressIn(configurations.shown));
  return { key, configurations, secretMappings };
}

/** Configurations are replaced as a whole; but a secret that is not named stays. */
function saidOf(request: UpdateIntegrationRequest): ReadonlyMap<string, unknown> {
  const configurations = changeOf(request, root);
  if (configurations === undefined) return new Map();
  const given = (configurations ?? {}) as Readonly<Record<string, unknown>>;
  const isNamed = (name: string): boolean =>
    configurations === null ||
    !isEmpty(given[name]) ||
    request.update_mask?.includes(`${root}.${name}`) === true;
  const fields = Object.entries(credentialFields).filter(
    ([name, { secret }]) => isNamed(name) || secret !== true,
  );
  return new Map(fields.map(([name]) => [name, given[name] ?? null]));
}

/** What an update does to them. Throws AB01 where something would be missing. */
export async function changedCredentials(
  caller: Caller,
  request: UpdateIntegrationRequest,
  before: Integration,
): Promise<CredentialsChange & { readonly hostTrusted?: boolean }> {
  const { provider } = before;
  const asked = changeOf(request, 'secret_mappings');
  const owner = ofProvider(provider, root, before.workspaceId);
  const changed = asked === undefined ? undefined : await secretMappingsOf(caller, asked ?? [], owner);
  const mappings = changed ?? before.secretMappings;
  const configurations = changedConfigurations(
    faceOf(provider, mappings),
    before.configurations,
    saidOf(request),
  );
  const key = changeOf(request, 'key');
  const keepsKey = key === undefined && before.maskedKey !== null;
  checkKey(provider, keepsKey || Boolean(key), configurations.shown, mappings);
  const isSame = changed === undefined && changeOf(request, root) === undefined;
  if (!isSame) checkMappedHost(caller, mappings, addressIn(configurations.shown));
  return {
    key: key === undefined || key === null ? key : providerKeyOf(key),
    configurations: isSame ? undefined : configurations,
    secretMappings: changed,
    ...movedHost(caller, {
      from: addressIn(before.configurations),
      to: addressIn(configurations.shown),
      keepsSecrets: keepsKey || configurations.kept.length > 0,
      path: `${root}.custom_host`,
    }),
  };
}
