import type {
  ApiKeyDefaults,
  ApiKey as ApiKeyMessage,
  CreateApiKeyRequest,
  UpdateApiKeyRequest,
} from '../../../../../proto/messages.js';
import { normalEmails } from '../../../../common/access/email.js';
import type { KeyType } from '../../../../common/access/principal.js';
import { keyResource } from '../../../../common/access/scopes.js';
import type { Forget } from '../../../../common/ipc/messages.js';
import { rotatedMail } from '../../../mail/key-mail.js';
import { closedOutbox } from '../../../mail/outbox.js';
import { rotationDetails } from '../../../rotation/key-duties.js';
import type { ApiKey, ApiKeyFilter, KeyDefaults, Place, RateLimit } from '../../../store/store.js';
import type { Caller } from '../../access/caller.js';
import { scopesOf } from '../../access/key-scopes.js';
import { checkAdministered } from '../../access/last-admin-key.js';
import { AdminError } from '../../admin-error.js';
import { changeOf } from '../../audit/mask.js';
import { checkTransition, rotationPolicyOf, shortestTransitionMs } from '../../credentials/rotation.js';
import { msOf, pageOf, stale, timeOf } from '../../grpc/wire.js';
import { checkMetadata } from '../../references/metadata-schema.js';
import type { AdminParts, Service } from '../../service.js';
import { BudgetStates } from '../../usage/budget-states.js';
import { limitsAfter, rateLimitsOf, usageLimitsOf } from '../limits/limits.js';
import { keyBudget, keyMessage } from './key-message.js';
import { checkRank, checkUserKeyLife, checkUserScopes, userKey } from './user-keys.js';

const types = Object.keys(keyResource) as readonly KeyType[];

function typeOf(request: CreateApiKeyRequest): KeyType {
  const type = types.find((known) => known === `${request.type}-${request.sub_type}`);
  if (type !== undefined) return type;
  const known = types.map((name) => name.replace('-', '/')).join(', ');
  throw AdminError.field('type', `and sub_type must be one of ${known}.`);
}

const missing = (): AdminError => new AdminError('AB08', 'There is no such key.');

const forgets = (hashes: readonly string[]): Forget[] =>
  hashes.map((name) => ({ kind: 'key', workspace: null, name }));

/** The key of that id, for one who may do this to it. */
async function keyFor(caller: Caller, id: string, action: string): Promise<ApiKey> {
  const key = await caller.store.keys.get(caller.organisationId, id);
  if (key === null || !caller.sees(key.workspaceId)) throw missing();
  caller.need(`${keyResource[key.type]}.${action}`);
  return key;
}

const placeOf = ({ organisationId, workspaceId }: ApiKey): Place | null =>
  workspaceId === null ? null : { organisationId, workspaceId };

function checkExpiry(expiresAt: number | null, now: number): void {
  if (expiresAt !== null && expiresAt <= now) throw AdminError.field('expires_at', 'must be in the future.');
}

async function checkConfig(caller: Caller, place: Place | null, configId: string): Promise<void> {
  if (place === null)
    throw AdminError.field('defaults.config_id', "is for keys of workspaces: an organisation's has none.");
  const config = await caller.store.configs.get(place, configId);
  if (config === null || config.status !== 'active')
    throw new AdminError('AB02', 'defaults.config_id: there is no such config in the workspace.');
}

async function checkKeyMetadata(
  caller: Caller,
  place: Place | null,
  metadata: Readonly<Record<string, string>>,
): Promise<void> {
  // An organisation's key makes no requests that could carry it.
  if (place === null) return;
  const settings = await caller.store.organisations.settings(place.organisationId, place.workspaceId);
  checkMetadata(settings?.metadataSchema ?? null, metadata, 'defaults.metadata');
}

async function defaultsOf(
  caller: Caller,
  place: Place | null,
  asked: ApiKeyDefaults | null | undefined,
): Promise<KeyDefaults> {
  const configId = asked?.config_id || null;
  const metadata = asked?.metadata ?? {};
  if (configId !== null) await checkConfig(caller, place, configId);
  await checkKeyMetadata(caller, place, metadata);
  return { configId, allowConfigOverride: asked?.allow_config_override ?? true, metadata };
}

/** What an update changes of the defaults. */
async function defaultsChange(
  caller: Caller,
  place: Place | null,
  request: UpdateApiKeyRequest,
): Promise<Partial<KeyDefaults>> {
  const configId = changeOf<string>(request, 'defaults.config_id');
  const override = changeOf<boolean>(request, 'defaults.allow_config_override');
  const metadata = changeOf<Record<string, string>>(request, 'defaults.metadata');
  if (configId) await checkConfig(caller, place, configId);
  if (metadata !== undefined) await checkKeyMetadata(caller, place, metadata ?? {});
  return {
    ...(configId !== undefined && { configId: configId || null }),
    ...(override !== undefined && { allowConfigOverride: override ?? true }),
    ...(metadata !== undefined && { metadata: metadata ?? {} }),
  };
}

async function checkLife(caller: Caller, key: ApiKey, expiresAt: number | null, now: number): Promise<void> {
  checkExpiry(expiresAt, now);
  if (key.type !== 'workspace-user') return;
  const settings = await caller.store.organisations.settings(key.organisationId, key.workspaceId);
  if (settings !== null) checkUserKeyLife(expiresAt, settings, now);
}

async function scopesChange(
  caller: Caller,
  key: ApiKey,
  asked: readonly string[],
): Promise<readonly string[]> {
  const scopes = scopesOf(caller, key.type, asked, key.scopes);
  const place = placeOf(key);
  if (place !== null && key.userId !== null) {
    await checkUserScopes(caller.store, place, key.userId, scopes);
    await checkRank(caller, place, key.userId, scopes);
  }
  return scopes;
}

/**
 * Rotating a key returns its text, and a later expiry revives it: both grant its scopes, so the caller must be able to
 * grant each of them. The caller's own key is exempt. `action`: for the message.
 */
async function checkGrantable(caller: Caller, key: ApiKey, action: string): Promise<void> {
  if (key.id === caller.key.keyId) return;
  const beyond = key.scopes.find((scope) => !caller.mayGrant(scope, key.type));
  if (beyond !== undefined)
    throw new AdminError(
      'AB03',
      `This key cannot grant ${beyond}, which the other one holds: it cannot ${action} it.`,
    );
  const place = placeOf(key);
  if (place !== null && key.userId !== null) await checkRank(caller, place, key.userId, key.scopes);
}

const isLater = (end: number | null, than: number | null): boolean =>
  than !== null && (end === null || end > than);

const trimmed = (text: string | null | undefined): string | null | undefined =>
  typeof text === 'string' ? text.trim() || null : text;

function rateLimitsChange(request: UpdateApiKeyRequest): RateLimit[] | undefined {
  const asked = changeOf(request, 'rate_limits');
  return asked === undefined ? undefined : rateLimitsOf(asked ?? [], 'rate_limits');
}

function emailsChange(request: UpdateApiKeyRequest): readonly string[] | undefined {
  const asked = changeOf(request, 'alert_emails');
  return asked === undefined ? undefined : normalEmails(asked ?? []);
}

/** Gateway keys. */
export function apiKeysService({
  store,
  budgets,
  answered,
  outbox = closedOutbox,
}: AdminParts): Service<'ApiKeys'> {
  const states = new BudgetStates(budgets, answered);

  const shown = async (org: string, keys: readonly ApiKey[]): Promise<ApiKeyMessage[]> => {
    const found = await states.ofAll(org, keys.map(keyBudget), Date.now());
    return keys.map((key, i) => keyMessage(key, found[i]!));
  };

  /** Ids of the exhausted keys, if the requested status depends on it. */
  async function exhaustedOf(org: string, filter: ApiKeyFilter): Promise<string[]> {
    const { status = [] } = filter;
    if (status.includes('active') === status.includes('exhausted')) return [];
    const found = await states.exhausted(org, await store.keys.budgets(org, filter), Date.now());
    return found.map(({ id }) => id);
  }

  return {
    async CreateApiKey(caller, request) {
      const type = typeOf(request);
      caller.need(`${keyResource[type]}.create`);
      const isOwn = type === 'organisation-service';
      if (isOwn && request.workspace_id)
        throw AdminError.field('workspace_id', "is for keys of workspaces: an organisation's has none.");
      if (type !== 'workspace-user' && request.user_id)
        throw AdminError.field('user_id', 'is for keys of users.');
      const place = isOwn ? null : await caller.place(request.workspace_id);
      const now = Date.now();
      const { usage_limits: limits, rotation_policy: policy } = request;
      const expiresAt = msOf(request.expires_at);
      checkExpiry(expiresAt, now);
      const asked = {
        name: request.name.trim(),
        description: request.description?.trim() || null,
        scopes: scopesOf(caller, type, request.scopes),
        defaults: await defaultsOf(caller, place, request.defaults),
        expiresAt,
        rateLimits: rateLimitsOf(request.rate_limits, 'rate_limits'),
        usageLimits: limits ? usageLimitsOf(limits, 'usage_limits', now) : null,
        alertEmails: normalEmails(request.alert_emails),
        rotationPolicy: policy ? rotationPolicyOf(policy, 'rotation_policy', now) : null,
        createdBy: caller.key.userId,
      };
      if (type === 'workspace-user' && !request.user_id)
        throw AdminError.field('user_id', 'is required for the key of a user.');
      if (place !== null && request.user_id) await checkRank(caller, place, request.user_id, asked.scopes);
      const made = await store.keys.create(
        caller.organisationId,
        place !== null && request.user_id
          ? await userKey(store, place, { ...asked, userId: request.user_id }, now)
          : { ...asked, type, workspaceId: place?.workspaceId ?? null },
      );
      if (made === 'missing') throw new AdminError('AB02', 'workspace_id: there is no such workspace.');
      // A worker may remember that there was no such key.
      caller.changed(made.key, forgets([made.hash]));
      return { id: made.key.id, key: made.text.reveal(), object: 'api-key' };
    },

    async ListApiKeys(caller, request) {
      const isNarrow = caller.workspaceId !== null || Boolean(request.workspace_id);
      const { organisationId } = caller;
      const filter = {
        workspaceId: isNarrow ? (await caller.place(request.workspace_id)).workspaceId : undefined,
        types: types.filter((type) => caller.has(`${keyResource[type]}.list`)),
        status: request.status,
      };
      const exhausted = await exhaustedOf(organisationId, filter);
      const { total, rows } = await store.keys.list(
        organisationId,
        { ...filter, exhausted },
        pageOf(request),
      );
      return { object: 'list', total, data: await shown(organisationId, rows) };
    },

    async GetApiKey(caller, { id }) {
      const [message] = await shown(caller.organisationId, [await keyFor(caller, id, 'read')]);
      return message!;
    },

    async UpdateApiKey(caller, request) {
      const key = await keyFor(caller, request.id, 'update');
      const now = Date.now();
      const scopes = changeOf(request, 'scopes');
      const expiry = changeOf(request, 'expires_at');
      const expiresAt = expiry === undefined ? undefined : msOf(expiry);
      if (expiresAt !== undefined) await checkLife(caller, key, expiresAt, now);
      if (expiresAt !== undefined && isLater(expiresAt, key.expiresAt))
        await checkGrantable(caller, key, 'prolong');
      const reset = request.reset_usage === true;
      const limits = changeOf(request, 'usage_limits');
      const policy = changeOf(request, 'rotation_policy');
      const after = {
        scopes: scopes ? await scopesChange(caller, key, scopes) : key.scopes,
        expiresAt: expiresAt === undefined ? key.expiresAt : expiresAt,
      };
      await checkAdministered(store, key, after, now);
      const touched = await store.keys.update(caller.organisationId, key.id, {
        name: changeOf(request, 'name')?.trim(),
        description: trimmed(changeOf(request, 'description')),
        scopes: scopes ? after.scopes : undefined,
        defaults: await defaultsChange(caller, placeOf(key), request),
        expiresAt,
        rateLimits: rateLimitsChange(request),
        usageLimits: await limitsAfter(
          states,
          key.organisationId,
          keyBudget(key),
          limits,
          reset,
          'usage_limits',
          now,
        ),
        alertEmails: emailsChange(request),
        rotationPolicy: policy && rotationPolicyOf(policy, 'rotation_policy', now),
        etag: request.etag ?? undefined,
      });
      if (touched === 'missing') throw missing();
      if (touched === 'stale') throw stale();
      caller.changed(key, forgets(touched.hashes));
      if (reset) await states.ended(key.organisationId, keyBudget(key), now);
      return {};
    },

    async DeleteApiKey(caller, { id, etag }) {
      const key = await keyFor(caller, id, 'delete');
      await checkAdministered(store, key, null, Date.now());
      const gone = await store.keys.delete(caller.organisationId, id, etag ?? undefined);
      if (gone === 'missing') throw missing();
      if (gone === 'stale') throw stale();
      caller.changed(key, forgets(gone.hashes));
      return {};
    },

    async RotateApiKey(caller, request) {
      const key = await keyFor(caller, request.id, 'rotate');
      await checkGrantable(caller, key, 'rotate');
      const transitionMs =
        request.key_transition_period_ms ?? key.rotationPolicy?.transitionMs ?? shortestTransitionMs;
      checkTransition(transitionMs, key.rotationPolicy, 'key_transition_period_ms');
      const rotated = await store.keys.rotate(caller.organisationId, key.id, transitionMs);
      if (rotated === 'missing') throw missing();
      if (rotated === 'stale') throw stale();
      if (rotated === 'rotating')
        throw new AdminError(
          'AB01',
          `This key is being rotated: its old secret is valid until ${timeOf(key.transitionExpiresAt ?? 0)}. Rotate it again then.`,
        );
      const { transitionExpiresAt } = rotated;
      const rotation = { mode: 'manual', oldMasked: key.masked, transitionExpiresAt } as const;
      if (outbox.isOpen) await outbox.add(await rotatedMail(store, rotated.key, rotation));
      const details = rotationDetails(key, 'manual', key.masked, transitionExpiresAt);
      caller.changed({ ...key, details }, forgets(rotated.hashes));
      return {
        id: key.id,
        key: rotated.text.reveal(),
        key_transition_expires_at: timeOf(transitionExpiresAt),
      };
    },

    async RevealRotatedApiKey(caller, { id }) {
      const key = await keyFor(caller, id, 'rotate');
      await checkGrantable(caller, key, 'reveal');
      const text = await store.keyRotation.reveal(caller.organisationId, id);
      if (text === null)
        throw new AdminError(
          'AB08',
          'There is no new secret to reveal: it was revealed before, or the last rotation was by hand. Rotate the key by hand to get another one.',
        );
      caller.changed(key);
      return { id, key: text.reveal() };
    },
  };
}
