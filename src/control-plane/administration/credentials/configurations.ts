import { maskGatewayKey } from '../../../common/access/gateway-key.js';
import { Secret } from '../../../common/access/secret.js';
import { connectionHeaders, isHeaderName, isHeaderValue } from '../../../common/http/headers.js';
import type { NewConfigurations } from '../../store/store.js';
import { AdminError } from '../admin-error.js';
import { type CredentialField, credentialFields } from './credential-fields.js';

type Values = Readonly<Record<string, unknown>>;

/** Which face of a credential a request is about. */
export interface Face {
  readonly provider: string;
  /** How a request spells a field, by its name in the proto file. */
  path(field: string): string;
  /** Must everything be there that the provider needs? */
  readonly complete: boolean;
  /** Fields that a secret reference fills. */
  readonly mapped: ReadonlySet<string>;
}

/** Is this value empty? */
export const isEmpty = (value: unknown): boolean =>
  value === undefined ||
  value === null ||
  value === '' ||
  (typeof value === 'object' && Object.keys(value).length === 0);

const isOf = ({ providers }: CredentialField, provider: string): boolean =>
  providers === null || providers.includes(provider);

/**
 * The configurations after a change. `said` lists, by field, a value that is set or null for one that is cleared; the rest
 * stays. Throws AB01 for a field that the provider does not have, does not have this way, or lacks.
 */
export function changedConfigurations(
  face: Face,
  before: Values,
  said: ReadonlyMap<string, unknown>,
): NewConfigurations {
  const shown: Record<string, unknown> = {};
  const secrets: Record<string, unknown> = {};
  const kept: string[] = [];
  for (const [name, field] of Object.entries(credentialFields)) {
    const value = said.get(name);
    const mask = `masked_${name}`;
    if (!isEmpty(value)) {
      if (!isOf(field, face.provider))
        throw AdminError.field(face.path(name), `is no field of ${face.provider}.`);
      const checked = checkedValue(name, value, face.path(name));
      if (field.secret === true) {
        secrets[name] = checked;
        shown[mask] = masked(name, checked);
      } else shown[name] = checked;
    } else if (!said.has(name)) {
      if (before[name] !== undefined) shown[name] = before[name];
      if (before[mask] === undefined) continue;
      shown[mask] = before[mask];
      kept.push(name);
    }
  }
  settle(face, shown, said, kept);
  const hasSecrets = Object.keys(secrets).length > 0;
  return { shown, secrets: hasSecrets ? new Secret(JSON.stringify(secrets)) : null, kept };
}

/** Fields of another way of signing in are refused in a request, and dropped from the stored record. */
function settle(
  face: Face,
  shown: Record<string, unknown>,
  said: ReadonlyMap<string, unknown>,
  kept: string[],
): void {
  for (const [name, { when, needed, ...field }] of Object.entries(credentialFields)) {
    if (!isOf(field, face.provider)) continue;
    const [governor, ...wanted] = when ?? [];
    const way = governor === undefined ? undefined : shown[governor];
    const fits =
      governor === undefined || (way === undefined ? !face.complete : wanted.includes(way as string));
    if (!fits && !isEmpty(said.get(name)))
      throw AdminError.field(face.path(name), `goes with ${governor} ${wanted.join(' or ')} alone.`);
    if (!fits) {
      delete shown[name];
      delete shown[`masked_${name}`];
      if (kept.includes(name)) kept.splice(kept.indexOf(name), 1);
    } else if (face.complete && needed === true && !isThere(name, shown, face.mapped))
      throw AdminError.field(face.path(name), `is required for ${face.provider}.`);
  }
}

const isThere = (name: string, shown: Values, mapped: ReadonlySet<string>): boolean =>
  shown[name] !== undefined || shown[`masked_${name}`] !== undefined || mapped.has(name);

function masked(name: string, value: unknown): unknown {
  if (typeof value === 'string') return maskGatewayKey(value);
  // Of a document not even the names are shown.
  if (name !== 'custom_headers') return '*****';
  return Object.fromEntries(
    Object.entries(value as Record<string, string>).map(([header, text]) => [header, maskGatewayKey(text)]),
  );
}

function checkedValue(name: string, value: unknown, path: string): unknown {
  if (name === 'custom_headers') checkHeaders(value as Record<string, string>, path);
  if (name === 'azure_deployment_config' || name === 'deployment_config')
    checkDeployments(value as readonly DeploymentFields[], path);
  return name === 'custom_host' || name === 'huggingface_base_url'
    ? String(value).replace(/\/+$/, '')
    : value;
}

/** A provider's key, as it came. */
export function providerKeyOf(text: string): Secret {
  const key = text.trim();
  if (key === '') throw AdminError.field('key', 'must not be empty.');
  // It is sent as a header.
  if (/[\0\r\n]/.test(key)) throw AdminError.field('key', 'must be one line.');
  return new Secret(key);
}

/** These belong to the connection, or to how a message is framed and coded. */
const reserved: ReadonlySet<string> = new Set([
  ...connectionHeaders,
  ...['content-type', 'content-encoding', 'accept-encoding', 'proxy-authenticate', 'proxy-authorization'],
]);

function checkHeaders(headers: Readonly<Record<string, string>>, path: string): void {
  for (const [name, value] of Object.entries(headers)) {
    const at = `${path}.${name.slice(0, 80)}`;
    if (!isHeaderName(name)) throw AdminError.field(at, 'is no name of a header.');
    if (reserved.has(name.toLowerCase()))
      throw AdminError.field(at, 'is a header that the gateway writes itself.');
    if (!isHeaderValue(value) || /[^\t\x20-\x7e]/.test(value))
      throw AdminError.field(at, 'must be one line of ASCII text.');
  }
}

interface DeploymentFields {
  readonly alias?: string | null;
  readonly is_default?: boolean | null;
}

function checkDeployments(deployments: readonly DeploymentFields[], path: string): void {
  const aliases = new Set<string>();
  let defaults = 0;
  for (const [i, { alias, is_default }] of deployments.entries()) {
    if (is_default === true && ++defaults > 1)
      throw AdminError.field(`${path}[${i}].is_default`, 'is true a second time: one can be the default.');
    if (is_default !== true && !alias)
      throw AdminError.field(`${path}[${i}].alias`, 'is required where the deployment is not the default.');
    if (alias && aliases.has(alias)) throw AdminError.field(`${path}[${i}].alias`, 'is used twice.');
    if (alias) aliases.add(alias);
  }
}
