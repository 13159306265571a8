import type { Caller } from '../access/caller.js';
import { AdminError } from '../admin-error.js';

/** Streams that may be open at once, over gRPC and REST together, on one node. */
const most = { perKey: 8, perWorkspace: 32, all: 256 } as const;

/**
 * Counts the streams that are open: one goes on for as long as its client reads, and holds a place in every change
 * that is announced. Nothing is kept of those that have ended.
 */
export class StreamLimits {
  #all = 0;
  readonly #byKey = new Map<string, number>();
  /** By workspace; keys of a whole organisation share a place of their own, under its id. */
  readonly #byWorkspace = new Map<string, number>();

  /** Counts one more, until what it gives is called. Throws AB06 where that would be too many. */
  take({
    key,
    organisationId,
    workspaceId,
  }: Pick<Caller, 'key' | 'organisationId' | 'workspaceId'>): () => void {
    const { keyId } = key;
    const workspace = workspaceId ?? organisationId;
    if ((this.#byKey.get(keyId) ?? 0) >= most.perKey) {
      throw new AdminError(
        'AB06',
        `This key has ${most.perKey} streams open, as many as one key may: close one, or try again later.`,
      );
    }
    if ((this.#byWorkspace.get(workspace) ?? 0) >= most.perWorkspace) {
      const whose = workspaceId === null ? 'The keys of this organisation' : 'The keys of this workspace';
      throw new AdminError(
        'AB06',
        `${whose} have ${most.perWorkspace} streams open, as many as they may: close some, or try again later.`,
      );
    }
    if (this.#all >= most.all) {
      throw new AdminError(
        'AB06',
        `This node has ${most.all} streams open, as many as it takes: try again later.`,
      );
    }
    this.#add(keyId, workspace, 1);
    let isOpen = true;
    return () => {
      if (isOpen) this.#add(keyId, workspace, -1);
      isOpen = false;
    };
  }

  #add(key: string, workspace: string, amount: 1 | -1): void {
    this.#all += amount;
    count(this.#byKey, key, amount);
    count(this.#byWorkspace, workspace, amount);
  }
}

function count(counts: Map<string, number>, name: string, amount: number): void {
  const now = (counts.get(name) ?? 0) + amount;
  if (now === 0) counts.delete(name);
  else counts.set(name, now);
}
