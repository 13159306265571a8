import type { Message } from '../../../../proto/codec.js';
import { isGatewayKey } from '../../../common/access/gateway-key.js';
import {
  bareAuthorization,
  invalidKey,
  missingKey,
  severalKeys,
  severalWorkspaces,
} from '../../../common/access/key-refusals.js';
import type { KeyType } from '../../../common/access/principal.js';
import { keyResource, mayHold } from '../../../common/access/scopes.js';
import type { Secret } from '../../../common/access/secret.js';
import { isTokenForm } from '../../../common/access/token-form.js';
import { bearerToken } from '../../../common/http/bearer.js';
import type { Forget } from '../../../common/ipc/messages.js';
import type { KeyRecord } from '../../../common/ipc/records.js';
import type { Place, Session, Store, User, Workspace } from '../../store/store.js';
import { AdminError } from '../admin-error.js';
import {
  leaves,
  type Standing,
  seesAllData,
  seesLogMetadata,
  standingInOrganisation,
  standingOf,
} from './can.js';
import type { KnownCaller, KnownCallers } from './known-callers.js';

/** A record that a method has made, changed or deleted: what the audit row is about, and the change that is reported. */
export interface Changed {
  readonly id: string;
  readonly slug?: string | null;
  /** null: the organisation's own. */
  readonly workspaceId: string | null;
  /** The method's own resource and deed, unless given. */
  readonly kind?: string;
  readonly action?: 'create' | 'update' | 'delete';
  /** What the audit row contains besides the request. */
  readonly details?: Readonly<Record<string, unknown>>;
}

/** Someone who is signed in. */
export interface Person {
  readonly user: User;
  readonly session: Session;
  readonly csrf: Secret;
}

/** The origin of a call. */
export interface Origin {
  /** IP address; empty if the client has disconnected. */
  readonly address: string;
  readonly userAgent: string;
}

/** The result of a call that was made as part of another one. */
export interface NestedCall {
  readonly response: Message;
  /** Id of the first record that it changed; null: none. */
  readonly id: string | null;
}

/** Calls of other methods as parts of one call, in its unit of work. */
export interface NestedCalls {
  readonly caller: Caller;
  /** Calls the method of that name with a body as over REST, fields of the path included. */
  run(name: string, body: Readonly<Record<string, unknown>>, etag?: string): Promise<NestedCall>;
  /** May the caller call that method? */
  may(name: string): Promise<boolean>;
  /** What data workers have to forget because of the changes. */
  readonly forgets: Forget[];
  /** Stores the changes for other nodes, and an audit row for each part. The last step of the unit of work. */
  record(): Promise<void>;
  /** Drops the collected changes: the unit of work was rolled back. */
  undo(): void;
  /** Stores an audit row of the refusal of the whole call. */
  refused(error: AdminError): Promise<void>;
}

/** Who calls an administration method, what that key may do, and what this call has changed so far. */
export class Caller {
  origin: Origin = { address: '', userAgent: '' };
  /** Runs the audited part; only set for public methods and those that begin their unit of work themselves. */
  unit: ((work: () => Promise<Message>) => Promise<Message>) | null = null;
  /** Calls other methods as parts of this one; null for methods that consist of no other calls. */
  parts: NestedCalls | null = null;
  /** The same person in the person's other workspaces, for methods that cover all of them. */
  elsewhere: readonly Caller[] = [];
  #key: KeyRecord | null;
  #scopes: ReadonlySet<string>;
  readonly #standing: Standing | null;
  #knownWorkspaces: Map<string, Workspace> | null = null;
  /** Set if the call is made with a session; null: with a key. */
  readonly person: Person | null;
  readonly #changed: Changed[] = [];
  readonly #forget: Forget[] = [];

  /** `key` null: no key, public methods only. `standing` null: no person's role limits the key. */
  constructor(
    key: KeyRecord | null,
    readonly store: Store,
    standing: Standing | null = null,
    person: Person | null = null,
  ) {
    this.#key = key;
    this.person = person;
    this.#scopes = new Set(key?.scopes);
    this.#standing = standing;
  }

  /** The same caller, who has changed nothing yet. `knownWorkspaces`: those that need not be read again. */
  withoutChanges(knownWorkspaces: Map<string, Workspace>): Caller {
    const caller = new Caller(this.#key, this.store, this.#standing, this.person);
    caller.origin = this.origin;
    caller.#knownWorkspaces = knownWorkspaces;
    return caller;
  }

  get key(): KeyRecord {
    if (this.#key === null) throw new AdminError('AB05', 'Send a gateway key.');
    return this.#key;
  }

  /**
   * A public method has determined, for example by a token, for whom it acts: `run` is the audited part of it, one unit of work
   * as it would be with a key.
   */
  async actAs<T extends object>(key: KeyRecord, run: () => Promise<T>): Promise<T> {
    this.#key = key;
    this.#scopes = new Set(key.scopes);
    return this.audited(run);
  }

  /** The audited part of a public method has determined who acts: the audit row names that user. */
  isUser(key: KeyRecord): void {
    if (this.unit === null) throw new Error('only a public method finds out who acts');
    this.#key = key;
  }

  /** The audited part of a method that first does what takes long: `run` is one unit of work. */
  async audited<T extends object>(run: () => Promise<T>): Promise<T> {
    if (this.unit === null) throw new Error('This method does not begin its unit of work itself.');
    return (await this.unit(run as () => Promise<Message>)) as T;
  }

  /** The audited part of a method with a unit of its own: it waits for other servers before or after that. */
  async inUnit(work: () => void): Promise<void> {
    if (this.unit === null) throw new Error('only a method with own_unit begins its unit itself');
    await this.unit(async () => {
      work();
      return {};
    });
  }

  get organisationId(): string {
    return this.key.organisationId;
  }

  /** null: the whole organisation. */
  get workspaceId(): string | null {
    return this.key.workspaceId;
  }

  /** Id of the user or key that acts, for records that name it. */
  get id(): string {
    return this.key.userId ?? this.key.keyId;
  }

  /** Does the key hold that scope, and does its owner's role still leave it to the key? */
  has(scope: string): boolean {
    if (scope === 'session') return this.person !== null;
    return this.#scopes.has(scope) && (this.#standing === null || leaves(this.#standing, scope));
  }

  need(scope: string): void {
    if (!this.has(scope)) throw new AdminError('AB03', `This key lacks the scope ${scope}.`);
  }

  /**
   * May this key give that scope to a key of that type? Only scopes that it holds itself. An organisation's key cannot
   * hold the scopes of model calls; it may grant them where it may create keys of that type.
   */
  mayGrant(scope: string, type: KeyType): boolean {
    if (this.has(scope)) return true;
    const { keyType } = this.key;
    if (keyType !== 'organisation-service' || mayHold(keyType, scope)) return false;
    return this.has(`${keyResource[type]}.create`);
  }

  /** Do roles and security settings leave logs to its user, whatever the scopes of the key? */
  get seesLogs(): boolean {
    return this.#standing === null || leaves(this.#standing, 'logs.view');
  }

  /** Is the metadata of requests for its eyes? */
  get seesLogMetadata(): boolean {
    return this.#standing === null || seesLogMetadata(this.#standing);
  }

  /** Ids of the keys whose logs and analytics it may see; null: of all. */
  async keysInSight(): Promise<readonly string[] | null> {
    const { workspaceId, userId } = this.key;
    if (this.#standing === null || seesAllData(this.#standing)) return null;
    if (workspaceId === null || userId === null) return [];
    const own = { workspaceId, userId };
    const { rows } = await this.store.keys.list(this.organisationId, own, { offset: 0, limit: 1000 });
    return rows.map(({ id }) => id);
  }

  /** Is something of that workspace in this key's sight? What is not is answered as if it did not exist. */
  sees(workspaceId: string | null): boolean {
    return this.workspaceId === null || this.workspaceId === workspaceId;
  }

  /**
   * The workspace a request is about: the key's own, else the one it names, else the only one there is. `archived`:
   * it may be one that is kept to be looked at.
   */
  async place(
    idOrSlug: string | null | undefined,
    { archived = false }: { readonly archived?: boolean } = {},
  ): Promise<Place> {
    const { organisationId, workspaceId } = this;
    if (!idOrSlug) {
      if (workspaceId !== null) return { organisationId, workspaceId };
      const { rows, total } = await this.store.workspaces.list(organisationId, { offset: 0, limit: 1 });
      const only = rows[0];
      if (total !== 1 || only === undefined) {
        throw AdminError.field('workspace_id', severalWorkspaces.replace('workspace_id ', ''));
      }
      return { organisationId, workspaceId: only.id };
    }
    const workspace =
      this.#knownWorkspaces?.get(idOrSlug) ?? (await this.store.workspaces.get(organisationId, idOrSlug));
    if (workspace !== null) this.#knownWorkspaces?.set(idOrSlug, workspace);
    const isThere = workspace !== null && (archived || workspace.status === 'active');
    if (!isThere || !this.sees(workspace.id)) {
      throw new AdminError('AB02', 'workspace_id: there is no such workspace.');
    }
    return { organisationId, workspaceId: workspace.id };
  }

  /**
   * Reports what was changed, once for each record; the first is what the audit row is about. `forget`: what data
   * workers may remember of it. They are notified after the commit, and the call answers when they have forgotten.
   */
  changed(what: Changed, forget: readonly Forget[] = []): void {
    this.#changed.push(what);
    this.#forget.push(...forget);
  }

  get changes(): readonly Changed[] {
    return this.#changed;
  }

  get forgets(): readonly Forget[] {
    return this.#forget;
  }

  /** Drops the collected changes: the unit of work is repeated, or was refused. */
  undo(): void {
    this.#changed.length = 0;
    this.#forget.length = 0;
  }
}

export const unknownKey = (): AdminError => new AdminError('AB05', invalidKey);

/** The person whose roles limit the key: an organisation's key acts for its admins, a user's for that user. null: no person. */
async function standingBehind(store: Store, key: KeyRecord): Promise<Standing | null> {
  const { organisationId, workspaceId, userId } = key;
  if (workspaceId !== null && userId === null) return null;
  const standing =
    workspaceId === null
      ? await standingInOrganisation(store, organisationId, 'admin')
      : await standingOf(store, { organisationId, workspaceId }, userId!);
  if (standing === null) throw unknownKey();
  return standing;
}

/** Finds out who calls. Malformed, unknown, deleted and expired keys get the same answer. */
export async function authenticate(known: KnownCallers, text: string, now: number): Promise<Caller> {
  const { store, tokens } = known;
  const isValid = ({ expiresAt }: KeyRecord): boolean => expiresAt === null || expiresAt > now;
  const find = async (hash: string): Promise<KnownCaller | null> => {
    const key = await store.keys.findByHash(hash);
    return key !== null && isValid(key) ? { key, standing: await standingBehind(store, key) } : null;
  };
  const findToken = async (): Promise<KnownCaller | null> => {
    const record = (await tokens?.find(text)) ?? null;
    if (record === null) return null;
    if (!('refused' in record)) return { key: record, standing: await standingBehind(store, record) };
    throw new AdminError(record.refused === 'permission_denied' ? 'AB03' : 'AB05', record.message);
  };
  const isToken = tokens !== undefined && isTokenForm(text);
  const found = isToken
    ? await known.get(text, findToken)
    : isGatewayKey(text)
      ? await known.get(text, find)
      : null;
  if (found === null || !isValid(found.key)) throw unknownKey();
  return new Caller(found.key, store, found.standing);
}

/** The one key among what a request brought. `own`: values of the key's own headers, which are the key alone. */
export function oneKey(own: readonly string[], authorization: readonly string[]): string {
  const values = own.length > 0 ? own : authorization;
  if (values.length > 1) throw new AdminError('AB05', severalKeys);
  const [value] = values;
  if (value === undefined) throw new AdminError('AB05', missingKey);
  if (own.length > 0) return value;
  const token = bearerToken(value);
  if (token === null) throw new AdminError('AB05', bareAuthorization);
  return token;
}
