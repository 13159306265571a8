import { mask, maskGatewayKey } from '../../../common/access/gateway-key.js';
import type { Cloud } from '../../../common/access/own-identity.js';
import type { SecretManager } from '../../../common/vocabulary/secret-managers.js';
import { AdminError } from '../admin-error.js';

/** How the gateway signs in to a secret manager: `auth_config` of secret references. */

type Texts = Readonly<Record<string, string>>;

interface Variant {
  readonly needed: readonly string[];
  readonly optional?: readonly string[];
  /** It signs in as the gateway itself. */
  readonly own?: Cloud;
}

/** The field that names the variant, and the variants. */
interface Ways {
  readonly by: string;
  readonly variants: Readonly<Record<string, Variant>>;
}

const keys = ['aws_access_key_id', 'aws_secret_access_key', 'aws_region'];
const entra = ['azure_entra_tenant_id', 'azure_entra_client_id', 'azure_entra_client_secret'];
const namespace = ['vault_namespace'];

const managers: Readonly<Record<SecretManager, Ways | null>> = {
  aws_sm: {
    by: 'aws_auth_type',
    variants: {
      accessKey: { needed: keys },
      assumedRole: { needed: ['aws_role_arn', 'aws_region'], optional: ['aws_external_id'], own: 'aws' },
      serviceRole: { needed: [], optional: ['aws_region'], own: 'aws' },
    },
  },
  azure_kv: {
    by: 'azure_auth_mode',
    variants: {
      entra: { needed: [...entra, 'azure_vault_url'] },
      managed: { needed: ['azure_vault_url'], optional: ['azure_managed_client_id'], own: 'azure' },
      default: { needed: ['azure_vault_url'], own: 'azure' },
    },
  },
  hashicorp_vault: {
    by: 'vault_auth_type',
    variants: {
      token: { needed: ['vault_addr', 'vault_token'], optional: namespace },
      approle: { needed: ['vault_addr', 'vault_role_id', 'vault_secret_id'], optional: namespace },
      kubernetes: { needed: ['vault_addr', 'vault_role'], optional: namespace, own: 'kubernetes' },
    },
  },
  env: null,
  file: null,
};

const secrets: ReadonlySet<string> = new Set([
  'aws_secret_access_key',
  'azure_entra_client_secret',
  'vault_token',
  'vault_secret_id',
]);

/** As it may be shown. */
export const shownAuth = (auth: Texts): Texts =>
  Object.fromEntries(
    Object.entries(auth).map(([name, text]) => [name, secrets.has(name) ? maskGatewayKey(text) : text]),
  );

export interface CheckedAuth {
  readonly auth: Texts;
  /** The identity of the gateway's own that it uses; null: none. */
  readonly own: { readonly cloud: Cloud; readonly field: string } | null;
}

/**
 * `stored` with what a request changes: by field, a value that is set or null for one that is cleared. Fields of another
 * way of signing in are dropped. Throws AB01 for what is missing or does not go together.
 */
export function changedAuth(
  manager: SecretManager,
  stored: Texts,
  change: ReadonlyMap<string, string | null>,
): CheckedAuth {
  const ways = managers[manager];
  if (ways === null) {
    for (const [name, value] of change)
      if (value !== null) throw field(name, `is not used by ${manager}: leave auth_config empty.`);
    return { auth: {}, own: null };
  }
  const all = merged(stored, change);
  const way = all[ways.by];
  if (way === undefined) throw field(ways.by, `is required for ${manager}.`);
  const variant = Object.hasOwn(ways.variants, way) ? ways.variants[way] : undefined;
  if (variant === undefined) throw field(ways.by, `must be one of ${Object.keys(ways.variants).join(', ')}.`);
  const names = [ways.by, ...variant.needed, ...(variant.optional ?? [])];
  for (const [name, value] of change) {
    if (value !== null && !names.includes(name))
      throw field(name, `is not used by ${manager} with ${ways.by} ${way}: leave it out.`);
  }
  const missing = variant.needed.filter((name) => all[name] === undefined);
  if (missing.length > 0)
    throw AdminError.fields(
      missing.map((name) => ({
        path: `auth_config.${name}`,
        problem: `is required for ${ways.by} ${way}.`,
      })),
    );
  const auth = Object.fromEntries(names.flatMap((name) => (name in all ? [[name, all[name]!]] : [])));
  return { auth, own: variant.own === undefined ? null : { cloud: variant.own, field: ways.by } };
}

function merged(stored: Texts, change: ReadonlyMap<string, string | null>): Record<string, string> {
  const all: Record<string, string> = { ...stored };
  for (const [name, value] of change) {
    if (value === null || value === '') {
      delete all[name];
      continue;
    }
    if (secrets.has(name) && value.includes(mask)) {
      // What was shown is sent back.
      if (stored[name] !== undefined && maskGatewayKey(stored[name]) === value) continue;
      throw field(name, 'is the mask of a secret: give the secret itself.');
    }
    // These become parts of headers.
    if (/[\0\r\n]/.test(value)) throw field(name, 'must be one line.');
    all[name] = value;
  }
  return all;
}

const field = (name: string, problem: string): AdminError => AdminError.field(`auth_config.${name}`, problem);

/** Throws AB01 for a path that leads elsewhere, or that no manager has. */
export function checkSecretPath(manager: SecretManager, text: string): void {
  const [path = '', query] = manager === 'hashicorp_vault' ? text.split(/\?(.*)/s) : [text];
  const isPlain = ![...text].some((char) => char.charCodeAt(0) < 32 || char === '\\');
  if (!isPlain) throw AdminError.field('secret_path', 'must be one line without backslashes.');
  if (path.split('/').some((part) => part === '..' || part === '.'))
    throw AdminError.field('secret_path', 'must have no . or .. between its slashes.');
  if (query !== undefined && !/^version=\d{1,9}$/.test(query))
    throw AdminError.field('secret_path', 'may end with ?version=N and with no other query.');
  if (manager === 'file' && path.startsWith('/'))
    throw AdminError.field('secret_path', 'must be relative to the folder HEADGATE_SECRET_DIR.');
}
