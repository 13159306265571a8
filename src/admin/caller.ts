import type { Metadata } from '@grpc/grpc-js';
import { isGatewayKey } from '../core/gateway-key.js';
import type { KeyRecord } from '../core/messages.js';
import { mayHold } from '../core/scopes.js';
import type { Place, Store } from '../store/store.js';
import { AdminError } from './admin-error.js';

/** Who calls an administration method, and what that key may do. */
export class Caller {
  readonly #scopes: ReadonlySet<string>;

  constructor(
    readonly key: KeyRecord,
    readonly store: Store,
  ) {
    this.#scopes = new Set(key.scopes);
  }

  get organisationId(): string {
    return this.key.organisationId;
  }

  /** null: the whole organisation. */
  get workspaceId(): string | null {
    return this.key.workspaceId;
  }

  has(scope: string): boolean {
    return this.#scopes.has(scope);
  }

  need(scope: string): void {
    if (!this.has(scope)) throw new AdminError('AB03', `This key lacks the scope ${scope}.`);
  }

  /**
   * May this key give a new key that scope? Only what it holds itself; and an organisation's key, which can hold no
   * scope of model calls, may still give those.
   */
  mayGrant(scope: string): boolean {
    return (
      this.has(scope) || (this.key.keyType === 'organisation-service' && !mayHold(this.key.keyType, scope))
    );
  }

  /** Is something of that workspace in this key's sight? What is not is answered as if it did not exist. */
  sees(workspaceId: string | null): boolean {
    return this.workspaceId === null || this.workspaceId === workspaceId;
  }

  /** The workspace a request is about: the key's own, else the one it names, else the only one there is. */
  async place(idOrSlug: string | undefined): Promise<Place> {
    const { organisationId, workspaceId } = this;
    if (!idOrSlug) {
      if (workspaceId !== null) return { organisationId, workspaceId };
      const { rows, total } = await this.store.workspaces.list(organisationId, { offset: 0, limit: 1 });
      const only = rows[0];
      if (total !== 1 || only === undefined) {
        throw new AdminError('AB01', 'workspace_id is required: this organisation has several workspaces.');
      }
      return { organisationId, workspaceId: only.id };
    }
    const workspace = await this.store.workspaces.get(organisationId, idOrSlug);
    if (workspace === null || !this.sees(workspace.id)) {
      throw new AdminError('AB02', 'workspace_id: there is no such workspace.');
    }
    return { organisationId, workspaceId: workspace.id };
  }
}

function keyIn(metadata: Metadata): string {
  const own = metadata.get('x-gateway-api-key');
  const bearer = own.length > 0 ? [] : metadata.get('authorization');
  if (own.length + bearer.length > 1) throw new AdminError('AB05', 'Send one key.');
  const [value] = own.length > 0 ? own : bearer;
  if (typeof value !== 'string') {
    throw new AdminError(
      'AB05',
      'Send a gateway key in x-gateway-api-key, or in authorization as a bearer token.',
    );
  }
  // grpc-js joins what was sent several times.
  return own.length > 0 ? value : value.replace(/^Bearer +/i, '');
}

/** Finds out who calls. Unknown, malformed and deleted keys get the same answer. */
export async function authenticate(store: Store, metadata: Metadata, now: number): Promise<Caller> {
  const text = keyIn(metadata);
  const key = isGatewayKey(text) ? await store.keys.findByHash(store.hashKey(text)) : null;
  if (key === null) throw new AdminError('AB05', 'This gateway key is not known.');
  if (key.expiresAt !== null && key.expiresAt <= now)
    throw new AdminError('AB05', 'This gateway key has expired.');
  return new Caller(key, store);
}
