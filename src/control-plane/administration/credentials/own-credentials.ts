import type { Secret } from '../../../common/access/secret.js';
import type { CredentialsChange, NewConfigurations, Provider, SecretMapping } from '../../store/store.js';
import type { Caller } from '../access/caller.js';
import { addressIn, hasSecrets, movedHost, speaksForAll } from '../access/host-trust.js';
import { AdminError } from '../admin-error.js';
import { changeOf } from '../audit/mask.js';
import { changedConfigurations, type Face, isEmpty, providerKeyOf } from './configurations.js';
import { credentialFields } from './credential-fields.js';
import { mappedFields } from './secret-mappings.js';

/** Credentials that a provider or a virtual key has for itself. */

export interface CredentialRequest {
  readonly key?: string | null;
  readonly custom_host?: string | null;
  readonly update_mask?: readonly string[] | null;
}

/** Its address has a place of its own. */
const names = Object.keys(credentialFields).filter((name) => name !== 'custom_host');

/** `aws_auth_type` → `awsAuthType`, as the specification has these fields. */
export const spelt = (name: string): string =>
  name === 'custom_headers' ? name : name.replace(/_([a-z])/g, (_, letter: string) => letter.toUpperCase());

const faceOf = (provider: string, mappings: readonly SecretMapping[]): Face => ({
  provider,
  path: spelt,
  complete: false,
  mapped: mappedFields(mappings, 'model_config'),
});

export interface OwnCredentials {
  readonly provider: string;
  readonly credential: Secret | null;
  readonly baseUrl: string | null;
  readonly hostTrusted: boolean;
  readonly configurations: NewConfigurations;
  readonly secretMappings: readonly SecretMapping[];
}

const hostOf = (text: string | null | undefined): string | null => text?.replace(/\/+$/, '') || null;

/** The first field of a credential that a request gives; null: none. */
export function givenCredential(request: CredentialRequest): string | null {
  const values = request as Readonly<Record<string, unknown>>;
  const name = ['key', 'custom_host', ...names].find((field) => !isEmpty(values[field]));
  return name === undefined ? null : name === 'custom_host' ? name : spelt(name);
}

export function newCredentials(
  caller: Caller,
  provider: string,
  request: CredentialRequest,
  secretMappings: readonly SecretMapping[] = [],
): OwnCredentials {
  const values = request as Readonly<Record<string, unknown>>;
  const said = new Map(names.map((name) => [name, values[name]]));
  return {
    provider,
    credential: request.key ? providerKeyOf(request.key) : null,
    baseUrl: hostOf(request.custom_host),
    hostTrusted: speaksForAll(caller),
    configurations: changedConfigurations(faceOf(provider, secretMappings), {}, said),
    secretMappings,
  };
}

/** What an update does to them. Throws AB01 where they are an integration's. */
export function changedCredentials(
  caller: Caller,
  before: Provider,
  request: CredentialRequest,
  secretMappings: readonly SecretMapping[] | undefined,
): CredentialsChange & { readonly baseUrl?: string | null; readonly hostTrusted?: boolean } {
  const said = new Map(
    names
      .map((name): [string, unknown] => [name, changeOf<unknown>(request, name)])
      .filter(([, value]) => value !== undefined),
  );
  const key = changeOf(request, 'key');
  const host = changeOf(request, 'custom_host');
  const changes = key !== undefined || host !== undefined || said.size > 0 || secretMappings !== undefined;
  if (!changes) return {};
  if (before.integration !== null) {
    throw AdminError.field(
      givenCredential(request) ?? [...said.keys()].map(spelt)[0] ?? 'key',
      `is the integration's: change it in ${before.integration.slug}.`,
    );
  }
  const baseUrl = host === undefined ? undefined : hostOf(host);
  const face = faceOf(before.provider, secretMappings ?? before.secretMappings);
  const configurations =
    said.size === 0 ? undefined : changedConfigurations(face, before.configurations, said);
  const keepsKey = key === undefined && before.maskedKey !== null;
  return {
    key: key === undefined || key === null ? key : providerKeyOf(key),
    configurations,
    secretMappings,
    baseUrl,
    ...movedHost(caller, {
      from: before.baseUrl ?? addressIn(before.configurations),
      to:
        (baseUrl === undefined ? before.baseUrl : baseUrl) ??
        addressIn(configurations?.shown ?? before.configurations),
      keepsSecrets:
        keepsKey || (configurations?.kept.length ?? Number(hasSecrets(before.configurations))) > 0,
      path: host === undefined ? 'huggingfaceBaseUrl' : 'custom_host',
    }),
  };
}
