import type {
  SecretReferenceAuth,
  SecretReferenceDetail,
  SecretReference as SecretReferenceMessage,
} from '../../../../../proto/messages.js';
import { ownIdentityRefusal } from '../../../../common/access/own-identity.js';
import { Secret } from '../../../../common/access/secret.js';
import type { Forget } from '../../../../common/ipc/messages.js';
import type { SecretManager } from '../../../../common/vocabulary/secret-managers.js';
import type { SecretReference } from '../../../store/store.js';
import type { Caller } from '../../access/caller.js';
import { AdminError } from '../../admin-error.js';
import { changeOf, setOf } from '../../audit/mask.js';
import {
  type CheckedAuth,
  changedAuth,
  checkSecretPath,
  shownAuth,
} from '../../credentials/secret-reference-auth.js';
import { pageOf, textOf, timeOf } from '../../grpc/wire.js';
import { settled } from '../../records.js';
import type { AdminParts, Service } from '../../service.js';

const toRow = (reference: SecretReference): SecretReferenceMessage => ({
  id: reference.id,
  name: reference.name,
  slug: reference.slug,
  manager_type: reference.managerType,
  status: 'ACTIVE',
  created_at: timeOf(reference.createdAt),
  last_updated_at: timeOf(reference.updatedAt),
  object: 'secret-reference',
  etag: reference.etag,
});

const toDetail = (reference: SecretReference): SecretReferenceDetail => ({
  ...toRow(reference),
  organisation_id: reference.organisationId,
  description: reference.description,
  secret_path: reference.secretPath,
  secret_key: reference.secretKey,
  allow_all_workspaces: reference.workspaces === null,
  allowed_workspaces: [...(reference.workspaces ?? [])],
  tags: reference.tags,
  created_by: reference.createdBy,
  auth_config: reference.shownAuth,
});

/** Workers forget whatever may have a value of a secret reference. */
const forgetMapped: readonly Forget[] = [
  { kind: 'provider', workspace: null, name: '*' },
  { kind: 'partner', workspace: null, name: '*' },
];

/** Pairs of the filter `tags`, JSON text of an object of texts. */
function tagsOf(text: string | null | undefined): Record<string, string> | undefined {
  if (!text) return undefined;
  let value: unknown = null;
  try {
    value = JSON.parse(text);
  } catch {
    // Refused below.
  }
  const isMap =
    typeof value === 'object' &&
    value !== null &&
    !Array.isArray(value) &&
    Object.values(value).every((one) => typeof one === 'string');
  if (!isMap)
    throw AdminError.field('tags', 'must be JSON text of an object of texts, as in {"team":"search"}.');
  return value as Record<string, string>;
}

const tagsGiven = (tags: Readonly<Record<string, string>> | null): Record<string, string> | null =>
  tags === null || Object.keys(tags).length === 0 ? null : { ...tags };

/** Secrets that other systems keep. */
export function secretReferencesService({ store, ownIdentities }: AdminParts): Service<'SecretReferences'> {
  const { secretReferences } = store;

  async function found(caller: Caller, name: string): Promise<SecretReference> {
    const reference = await secretReferences.get(caller.organisationId, name);
    if (reference === null) throw new AdminError('AB08', 'There is no such secret reference.');
    return reference;
  }

  /** Ids of workspaces that are named by id or slug. */
  async function workspaceIds(caller: Caller, names: readonly string[]): Promise<string[]> {
    const ids = new Set<string>();
    for (const [i, name] of names.entries()) {
      const workspace = await store.workspaces.get(caller.organisationId, name);
      if (workspace === null)
        throw new AdminError('AB02', `allowed_workspaces[${i}]: there is no such workspace.`);
      ids.add(workspace.id);
    }
    return [...ids];
  }

  /** null: all workspaces; undefined: as they are. */
  async function workspacesOf(
    caller: Caller,
    all: boolean | null | undefined,
    names: readonly string[],
  ): Promise<string[] | null | undefined> {
    if (all === true && names.length > 0)
      throw AdminError.field('allowed_workspaces', 'does not go together with allow_all_workspaces true.');
    if (names.length > 0) return workspaceIds(caller, names);
    return all === true ? null : undefined;
  }

  function allowedAuth(caller: Caller, { auth, own }: CheckedAuth) {
    const tenant = { organisationId: caller.organisationId, workspaceId: null };
    if (own !== null && ownIdentities?.allow(own.cloud, tenant) !== true)
      throw new AdminError('AB03', `auth_config.${own.field} ${ownIdentityRefusal(own.cloud)}`);
    return { auth: new Secret(JSON.stringify(auth)), shownAuth: shownAuth(auth) };
  }

  const changed = (caller: Caller, { id, slug }: SecretReference, forget: readonly Forget[]): void =>
    caller.changed({ id, slug, workspaceId: null }, forget);

  return {
    async CreateSecretReference(caller, request) {
      const manager = request.manager_type as SecretManager;
      const given = new Map(
        Object.entries(request.auth_config ?? {}) as [keyof SecretReferenceAuth, string][],
      );
      for (const [name, value] of given) if (!value) given.delete(name);
      const auth = allowedAuth(caller, changedAuth(manager, {}, given));
      const secretPath = textOf('secret_path', request.secret_path, 1024);
      checkSecretPath(manager, secretPath);
      const { allow_all_workspaces: all, allowed_workspaces: names } = request;
      const workspaces = (await workspacesOf(caller, all, names)) ?? (all === false ? [] : null);
      const made = await secretReferences.create(caller.organisationId, {
        slug: request.slug || undefined,
        name: textOf('name', request.name),
        description: request.description?.trim() || null,
        managerType: manager,
        ...auth,
        secretPath,
        secretKey: request.secret_key || null,
        workspaces,
        tags: tagsGiven(request.tags),
        createdBy: caller.id,
      });
      if (made === 'taken')
        throw new AdminError(
          'AB07',
          `slug: the organisation has a secret reference ${request.slug} already: choose another slug.`,
        );
      changed(caller, made, []);
      return { id: made.id, slug: made.slug, object: 'secret-reference' };
    },

    async ListSecretReferences(caller, request) {
      const filter = {
        managerType: (request.manager_type || undefined) as SecretManager | undefined,
        tags: tagsOf(request.tags),
        search: request.search || undefined,
      };
      const page = pageOf(request, 20);
      const { total, rows } = await secretReferences.list(caller.organisationId, filter, page);
      return { object: 'list', total, data: rows.map(toRow) };
    },

    async GetSecretReference(caller, { secret_reference_id: name }) {
      return toDetail(await found(caller, name));
    },

    async UpdateSecretReference(caller, request) {
      const before = await found(caller, request.secret_reference_id);
      const { organisationId } = caller;
      const change = authChange(request);
      let auth: ReturnType<typeof allowedAuth> | undefined;
      if (change.size > 0) {
        const stored = await secretReferences.openAuth(organisationId, before.id);
        const checked = changedAuth(before.managerType, JSON.parse(stored?.reveal() ?? '{}'), change);
        auth = allowedAuth(caller, checked);
      }
      const secretPath = setOf(request, 'secret_path')?.trim();
      if (secretPath !== undefined) checkSecretPath(before.managerType, secretPath);
      const all = setOf(request, 'allow_all_workspaces');
      const workspaces = await workspacesOf(caller, all, request.allowed_workspaces);
      const tags = changeOf(request, 'tags');
      const description = changeOf(request, 'description');
      const isEmptied =
        changeOf(request, 'allowed_workspaces') !== undefined && request.allowed_workspaces.length === 0;
      if (isEmptied && all === undefined)
        throw AdminError.field(
          'allowed_workspaces',
          'names no workspace: send allow_all_workspaces, true for all of them or false for none.',
        );
      const stay = isEmptied ? [] : (before.workspaces ?? []);
      const answer = await secretReferences.update(organisationId, before.id, {
        name: setOf(request, 'name')?.trim(),
        description: description && (description.trim() || null),
        auth,
        secretPath,
        secretKey: changeOf(request, 'secret_key') === '' ? null : changeOf(request, 'secret_key'),
        workspaces: workspaces === undefined && all === false ? stay : workspaces,
        tags: tags === undefined ? undefined : tagsGiven(tags),
        etag: request.etag ?? undefined,
      });
      changed(caller, settled(answer, 'secret reference'), forgetMapped);
      return {};
    },

    async DeleteSecretReference(caller, { secret_reference_id: name, etag }) {
      const before = await found(caller, name);
      const gone = await secretReferences.delete(caller.organisationId, before.id, etag ?? undefined);
      if (Array.isArray(gone)) {
        const uses = gone.map(({ kind, slug }) => `${kind} ${slug}`).join(', ');
        throw new AdminError(
          'AB01',
          `secret_reference_id: ${before.slug} is still mapped: remove it from the secret_mappings of ${uses} first.`,
        );
      }
      changed(
        caller,
        settled(gone as SecretReference | 'missing' | 'stale', 'secret reference'),
        forgetMapped,
      );
      return {};
    },
  };
}

/** What an update does to the fields of `auth_config`: null clears one. */
function authChange(request: {
  readonly auth_config?: SecretReferenceAuth | null;
  readonly update_mask?: readonly string[] | null;
}): Map<string, string | null> {
  const change = new Map<string, string | null>();
  for (const name of authFields) {
    const value = changeOf<string>(request, `auth_config.${name}`);
    if (value !== undefined) change.set(name, value);
  }
  return change;
}

const authFields = [
  'aws_auth_type',
  'aws_access_key_id',
  'aws_secret_access_key',
  'aws_region',
  'aws_role_arn',
  'aws_external_id',
  'azure_auth_mode',
  'azure_entra_tenant_id',
  'azure_entra_client_id',
  'azure_entra_client_secret',
  'azure_managed_client_id',
  'azure_vault_url',
  'vault_auth_type',
  'vault_addr',
  'vault_token',
  'vault_role_id',
  'vault_secret_id',
  'vault_role',
  'vault_namespace',
] as const satisfies readonly (keyof SecretReferenceAuth)[];
