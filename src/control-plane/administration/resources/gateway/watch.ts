import { setTimeout as pause } from 'node:timers/promises';
import type { ConfigEvent, WatchConfigRequest } from '../../../../../proto/messages.js';
import { type AdminMethod, adminTree } from '../../../../../proto/tree.js';
import type { Change, Store } from '../../../store/store.js';
import type { Caller } from '../../access/caller.js';
import { AdminError } from '../../admin-error.js';
import { timeOf } from '../../grpc/wire.js';
import type { AdminParts, Service } from '../../service.js';

/** The secret of a key may become invalid meanwhile (rotation): the caller must then send it again. */
const longestMs = 15 * 60_000;
const aliveEveryMs = 15_000;
/** Changes at shorter intervals are reported together. */
const togetherMs = 50;
const pieceOf = 500;

/** Methods by which a record of that kind is seen. */
const looks = (kind: string): AdminMethod[] =>
  [...adminTree().methods.values()].filter(
    ({ access }) => access.resource === kind && (access.action === 'list' || access.action === 'read'),
  );

/** May the caller read records of that kind in that workspace? */
function sees(caller: Caller, change: Change): boolean {
  return [caller, ...caller.elsewhere].some((one) => seesThere(one, change));
}

function seesThere(caller: Caller, { kind, workspaceId }: Change): boolean {
  const isMine = caller.sees(workspaceId);
  return (
    isMine &&
    looks(kind).some(
      ({ access }) =>
        (!access.organisationOnly || caller.workspaceId === null) &&
        access.scopes.some((scope) => caller.has(scope)),
    )
  );
}

/** Did this change, perhaps, what the caller may see? */
function concernsRights({ key, elsewhere }: Caller, { kind, id, workspaceId }: Change): boolean {
  if (kind === 'api_key') return id === key.keyId;
  if (kind === 'user') return key.userId !== null && id === key.userId;
  if (kind === 'organisation') return true;
  return (
    kind === 'workspace' &&
    [key, ...elsewhere.map((one) => one.key)].some((one) => one.workspaceId === workspaceId)
  );
}

const tokenOf = (seq: number): string => `t${seq.toString(36)}`;

function seqOf(token: string): number {
  const seq = /^t[0-9a-z]{1,10}$/.test(token) ? Number.parseInt(token.slice(1), 36) : Number.NaN;
  if (!Number.isSafeInteger(seq)) throw AdminError.field('token', 'is none that this gateway has given.');
  return seq;
}

const eventOf = (change: Change): ConfigEvent => ({
  action: change.action,
  token: tokenOf(change.seq),
  kind: change.kind,
  id: change.id,
  slug: change.slug,
  workspace_id: change.workspaceId,
  at: timeOf(change.at),
});
const sign = (action: 'start' | 'reset' | 'alive', seq: number): ConfigEvent => ({
  action,
  token: tokenOf(seq),
  at: timeOf(Date.now()),
});

/** Wakes a stream when its organisation has changed something. */
class Bell {
  #rung = false;
  #ring: () => void = () => {};
  #stop: (() => void) | null = null;

  async hang({ changes }: Store, organisation: string): Promise<void> {
    this.#stop = await changes.watch((made) => {
      if (made !== 'missed' && !made.some(({ organisationId }) => organisationId === organisation)) return;
      this.#rung = true;
      this.#ring();
    });
  }

  takeDown(): void {
    this.#stop?.();
  }

  /** Resolves when it rings or has rung since the last time, after `ms`, and when `gone` is aborted. */
  async wait(ms: number, gone: AbortSignal): Promise<void> {
    if (!this.#rung && !gone.aborted) {
      await new Promise<void>((awake) => {
        const timer = setTimeout(awake, ms);
        this.#ring = () => {
          clearTimeout(timer);
          awake();
        };
        gone.addEventListener('abort', this.#ring, { once: true });
      });
      gone.removeEventListener('abort', this.#ring);
      if (this.#rung && !gone.aborted) await pause(togetherMs);
    }
    this.#rung = false;
  }
}

async function* watch(
  store: Store,
  caller: Caller,
  { token }: WatchConfigRequest,
  gone: AbortSignal,
): AsyncGenerator<ConfigEvent> {
  const { changes } = store;
  const bell = new Bell();
  await bell.hang(store, caller.organisationId);
  try {
    const endsAt = performance.now() + longestMs;
    const expiresAt = caller.key.expiresAt ?? Number.POSITIVE_INFINITY;
    let newest = await changes.newest();
    let seq = token ? seqOf(token) : newest;
    // A token of the future is one of another store, or of this one before it was restored.
    let found = seq > newest ? 'pruned' : await changes.since(seq, pieceOf, caller.organisationId);
    if (found !== 'pruned') yield sign('start', seq);
    for (;;) {
      if (found === 'pruned') {
        seq = newest;
        yield sign('reset', seq);
      } else {
        for (const change of found) {
          seq = change.seq;
          if (sees(caller, change)) yield eventOf(change);
          if (concernsRights(caller, change)) return;
        }
        // All that the others have changed up to here is passed: it may be pruned without a loss.
        if (found.length === 0) seq = Math.max(seq, newest);
      }
      const left = Math.min(endsAt - performance.now(), expiresAt - Date.now());
      if (left <= 0) return;
      if (found.length < pieceOf) await bell.wait(Math.min(aliveEveryMs, left), gone);
      if (gone.aborted) return;
      newest = await changes.newest();
      found = await changes.since(seq, pieceOf, caller.organisationId);
      if (found.length === 0) yield sign('alive', Math.max(seq, newest));
    }
  } finally {
    bell.takeDown();
  }
}

export function watchService({ store }: AdminParts): Service<'Watch'> {
  return {
    WatchConfig: (caller, request, gone) => watch(store, caller, request, gone),
  };
}
