import { createHash } from 'node:crypto';
import { LRUCache } from 'lru-cache';
import { mayHold } from '../../common/access/scopes.js';
import { budgetRuleOf } from '../../common/core/budget-rules.js';
import { type Forget, tokensOf } from '../../common/ipc/messages.js';
import type { DeploymentRecord, TokenRecord, TokenRefusal } from '../../common/ipc/records.js';
import type { Logger } from '../../common/plugin-host/plugin.js';
import { broughtTo, nextResetOf } from '../store/records/budget-periods.js';
import type { AuthSettings, Store, TokenAlgorithm } from '../store/store.js';
import { BadClaim, checkParties, checkTimes, organisationOf, rightsIn, type TokenRights } from './claims.js';
import type { TokenKey } from './key-set.js';
import { type FetchedKeySet, KeySets, KeySetUnavailable } from './key-sets.js';
import { type ParsedToken, parseToken } from './parsed-token.js';

export interface TokenCheckerOptions {
  readonly store: Pick<Store, 'authSettings' | 'keySets' | 'tokenCallers' | 'deployments'>;
  /** Throws KeySetUnavailable. */
  readonly fetch: (url: string) => Promise<FetchedKeySet>;
  /** Id of the deployment that this node belongs to; null: none. */
  readonly deployment: string | null;
  /** What data workers must forget of tokens, since a key that signed some of them was removed. */
  readonly removed: (what: readonly Forget[]) => void;
  readonly log: Pick<Logger, 'warn' | 'info'>;
  /** Unix milliseconds. */
  readonly clock?: () => number;
  /** Monotonic milliseconds. */
  readonly now?: () => number;
}

const generic =
  'Invalid token: it is malformed, expired, signed by a key that this organisation does not have, or made for another organisation. Send a valid JSON web token or a gateway key.';
const invalid = (message = generic): TokenRefusal => ({ refused: '03', message });
const notAccepted = (reason: string): TokenRefusal => invalid(`Invalid token: ${reason}.`);
const forbidden = (message: string): TokenRefusal => ({ refused: 'permission_denied', message });

/** For the settings of organisations that are remembered, including key sets in them. */
const maxSettingsBytes = 32 * 1024 * 1024;
const settingsBytes = 2048;
const mostLogged = 1000;
const longestOrganisation = 64;
/** Least time between two log lines about refused tokens of one organisation. Milliseconds. */
const logEveryMs = 10_000;

/** Checks JSON web tokens that take the place of gateway keys. Serves the data workers and the administration. */
export class TokenChecker {
  readonly #keySets: KeySets;
  readonly #settings = new LRUCache<string, AuthSettings>({
    maxSize: maxSettingsBytes,
    sizeCalculation: ({ jwks }) => settingsBytes + (jwks === null ? 0 : 4 * JSON.stringify(jwks).length),
  });
  readonly #logged = new LRUCache<string, true>({ max: mostLogged, ttl: logEveryMs });
  #deployment: DeploymentRecord | null = null;
  readonly #onRemoved: ((what: Forget) => void)[] = [];
  #changes = 0;
  readonly #clock: () => number;
  readonly #now: () => number;

  constructor(readonly options: TokenCheckerOptions) {
    const { clock = Date.now, now = () => performance.now() } = options;
    this.#clock = clock;
    this.#now = now;
    this.#keySets = new KeySets({
      fetch: options.fetch,
      store: options.store.keySets,
      log: options.log,
      clock,
      now,
      removed: (organisationId) => {
        this.#changes++;
        const what = tokensOf(organisationId);
        options.removed([what]);
        for (const listener of this.#onRemoved) listener(what);
      },
    });
  }

  /** Grows whenever tokens that were accepted have to be checked again. */
  get changes(): number {
    return this.#changes;
  }

  /** Calls the listener with the tokens that may no longer be valid, since a key has left the set of their organisation. */
  onRemoved(listener: (what: Forget) => void): void {
    this.#onRemoved.push(listener);
  }

  /** Fetches key sets again that are in use and old; to be called every few seconds. */
  tick(): void {
    this.#keySets.tick();
  }

  /** Handles a change of this node or another: settings and key sets are read again. */
  forget(what: readonly Forget[]): void {
    for (const { kind, workspace, name, user, tokensOf: organisationId, strangers } of what) {
      if (kind === 'deployment') this.#deployment = null;
      if (kind !== 'key' || name !== '*') continue;
      this.#changes++;
      if (strangers === true) continue;
      if (organisationId !== undefined) {
        this.#settings.delete(organisationId);
        this.#keySets.expire(organisationId);
      } else if (workspace === null && user === undefined) this.#settings.clear();
    }
  }

  /** Fetches the key set of the organisation now, and returns its keys. Throws KeySetUnavailable. */
  async refresh(
    organisationId: string,
  ): Promise<{ readonly keys: readonly TokenKey[]; readonly fetchedOn: number | null }> {
    this.#settings.delete(organisationId);
    return this.#keySets.refresh(organisationId, await this.#settingsOf(organisationId));
  }

  /** The rights of a token, or why it is not accepted. Throws where the store does not answer. */
  async find(text: string): Promise<TokenRecord> {
    const token = parseToken(text);
    if (token === null) return invalid();
    let organisationId: string | null;
    try {
      organisationId = organisationOf(token.claims);
    } catch (error) {
      if (error instanceof BadClaim) return invalid();
      throw error;
    }
    // Nothing is proven here: the claim only selects the key set.
    if (organisationId === null || organisationId.length > longestOrganisation) return invalid();
    const settings = await this.#settingsOf(organisationId);
    const { alg, kid } = token;
    if (!(settings.algorithms as readonly string[]).includes(alg)) return invalid();
    let keys: readonly TokenKey[];
    try {
      keys = await this.#keySets.find(organisationId, settings, kid, alg as TokenAlgorithm);
    } catch (error) {
      if (!(error instanceof KeySetUnavailable)) throw error;
      return {
        refused: '033',
        message:
          'This token cannot be checked now: the key server of its organisation does not answer. Retry later, or send a gateway key.',
      };
    }
    if (!(await isSigned(text, alg, keys))) return invalid();
    return this.#accept(organisationId, settings, token);
  }

  /** Checks the claims of a token whose signature is valid. */
  async #accept(
    organisationId: string,
    settings: AuthSettings,
    { claims }: ParsedToken,
  ): Promise<TokenRecord> {
    const now = this.#clock();
    try {
      const expiresAt = checkTimes(claims, now);
      checkParties(claims, settings);
      if (expiresAt <= now) return { refused: '01', message: 'Expired token: get a new one.' };
      const rights = rightsIn(claims, settings, expiresAt);
      const record = await this.#record(organisationId, rights);
      if ('refused' in record) this.#log(organisationId, record.message);
      else this.#keySets.accepted(organisationId, this.#now() + expiresAt - now);
      return record;
    } catch (error) {
      if (!(error instanceof BadClaim)) throw error;
      this.#log(organisationId, error.message);
      return notAccepted(error.message);
    }
  }

  /** Logs the reason of a refusal, without the token and the values of its claims. */
  #log(organisationId: string, reason: string): void {
    if (this.#logged.has(organisationId)) return;
    this.#logged.set(organisationId, true);
    this.options.log.info({ organisation: organisationId, reason }, 'a JSON web token was refused');
  }

  async #record(organisationId: string, rights: TokenRights): Promise<TokenRecord> {
    const workspace = await this.#workspaceOf(organisationId, rights);
    if (typeof workspace !== 'string') return workspace;
    const { user, metadata, budgets, ...rest } = rights;
    const keyId = tokenKeyId(user);
    const found = await this.options.store.tokenCallers.find(organisationId, workspace, {
      ...rest,
      user,
      keyId,
      keyName: user ?? 'JSON web token',
      // Takes precedence over the metadata of the request, since the token is signed.
      metadata: { ...(user !== null && { _user: user.slice(0, longestUser) }), ...metadata },
    });
    if (found === 'missing')
      return forbidden('The workspace that this token names does not exist in its organisation.');
    if (found === 'outside')
      return forbidden('The user of this token is no member of the workspace that it names.');
    const { record, createdAt } = found;
    const now = this.#clock();
    const own = budgets.map((set) => {
      const first = { ...set, nextUsageResetAt: nextResetOf(set, createdAt), lastResetAt: null };
      const limit = broughtTo(first, createdAt, now);
      return budgetRuleOf(
        organisationId,
        'api_key',
        keyId,
        record.keyName,
        limit,
        limit.lastResetAt ?? createdAt,
      );
    });
    return {
      ...record,
      scopes: record.scopes.filter((scope) => mayHold(record.keyType, scope)),
      ...(own.length > 0 && { budgets: [...own, ...(record.budgets ?? [])] }),
    };
  }

  /** By id or slug: the one that the token names, unless the deployment of this node has another for its subject. */
  async #workspaceOf(
    organisationId: string,
    { subject, workspace }: TokenRights,
  ): Promise<string | TokenRefusal> {
    const deployment = await this.#rulesOf(organisationId);
    const { tokenSubjects, subjectWorkspaces } = deployment ?? {};
    if (tokenSubjects !== undefined && (subject === null || !tokenSubjects.includes(subject)))
      return forbidden('This gateway does not accept tokens of this subject (sub): use another gateway.');
    const mapped = subject !== null && subjectWorkspaces && Object.hasOwn(subjectWorkspaces, subject);
    const places = mapped ? subjectWorkspaces[subject]! : null;
    if (places === null)
      return workspace ?? notAccepted('it names no workspace (gateway_workspace or workspace_slug)');
    if (workspace === null) {
      if (places.length === 1) return places[0]!;
      return notAccepted('it names no workspace, and its subject has several at this gateway');
    }
    if (places.includes(workspace)) return workspace;
    return forbidden('This gateway does not accept tokens of this subject (sub) for that workspace.');
  }

  /** The rules of this node's deployment; null: it has none, or that belongs to another organisation. */
  async #rulesOf(organisationId: string): Promise<DeploymentRecord | null> {
    const { store, deployment: id } = this.options;
    if (id === null) return null;
    let rules = this.#deployment;
    if (rules === null) {
      const changes = this.#changes;
      rules = await store.deployments.rules(id);
      if (changes === this.#changes) this.#deployment = rules;
    }
    return rules?.organisationId === organisationId ? rules : null;
  }

  async #settingsOf(organisationId: string): Promise<AuthSettings> {
    const known = this.#settings.get(organisationId);
    if (known !== undefined) return known;
    const changes = this.#changes;
    const settings = await this.options.store.authSettings.get(organisationId);
    // A value that was read before a change is used at most once more, by a data worker that will look it up again.
    if (changes === this.#changes) this.#settings.set(organisationId, settings);
    return settings;
  }
}

const longestUser = 128;
const longestKeyId = 128;
/** All characters but those that are safe in names of counters, in lists of ids and in logs. */
const unsafe = /[^\w.~@+|:-]/gu;

/**
 * The id under which calls of a user's tokens are logged, counted and limited: `jwt:` and the user. The same for every
 * token of the user.
 */
export function tokenKeyId(user: string | null): string {
  if (user === null) return 'jwt';
  const id = `jwt:${user.replace(unsafe, encodeURIComponent)}`;
  if (id.length <= longestKeyId) return id;
  return `jwt:sha256-${createHash('sha256').update(user).digest('base64url')}`;
}

async function isSigned(text: string, alg: string, keys: readonly TokenKey[]): Promise<boolean> {
  if (keys.length === 0) return false;
  const { compactVerify } = await import('jose');
  for (const { key } of keys) {
    try {
      await compactVerify(text, key, { algorithms: [alg] });
      return true;
    } catch {
      // Another key of the same id may have signed it.
    }
  }
  return false;
}
