import { LRUCache } from 'lru-cache';
import { atMost } from '../../../src/common/bytes/lru.js';
import { monotonicMs } from '../../../src/common/bytes/monotonic.js';
import type { Exchange } from '../../../src/common/core/exchange.js';
import type { Balance } from './balance.js';
import { type Hash, hashOf, share } from './hash.js';
import { childHashes } from './identity.js';

const maxSessions = 50_000;

interface PinnedTarget {
  /** The identity of the child, whatever its position in the list is now. */
  readonly child: Hash;
  until: number;
}

/**
 * Keeps sessions at their targets. A new one gets a target by weighted rendezvous hashing: every worker
 * and node chooses the same one, and a new target takes its share without moving other sessions. A known one
 * keeps its target while it is active, also when the config changes, or when its first target was unavailable at its
 * start.
 */
export class Sessions {
  readonly #places = new LRUCache<string, PinnedTarget>(atMost(maxSessions));

  /** `now`: milliseconds of a clock that is never set. */
  constructor(readonly now: () => number = monotonicMs) {}

  /** Index of the child of this exchange's session; null: it has no session, or no open child has weight. */
  find(x: Exchange, node: Balance, open: readonly number[]): number | null {
    return this.#find(x, node, open, true);
  }

  /** The same, for a request that is not sent: the session stays as it is. */
  peek(x: Exchange, node: Balance, open: readonly number[]): number | null {
    return this.#find(x, node, open, false);
  }

  #find(x: Exchange, node: Balance, open: readonly number[], isSent: boolean): number | null {
    const { sticky } = node;
    const session = sticky?.session(x) ?? null;
    if (sticky === null || session === null) return null;
    const { principal, config } = x;
    const hash = hashOf(
      `${principal.workspaceId}\n${principal.keyId}\n${config.slug ?? ''}\n${node.path}\n${session}`,
    );
    // Hashes can be made to collide, but only within one gateway key.
    const key = `${principal.keyId}\n${hash.high},${hash.low}`;
    const hashes = childHashes(node.children);
    const now = this.now();
    const known = this.#places.get(key);
    if (known !== undefined && known.until > now) {
      const index = indexOf(hashes, known.child);
      if (open.includes(index)) {
        if (isSent) known.until = now + sticky.ttlMs;
        return index;
      }
    }
    const index = rendezvous(hash, node, hashes, open);
    if (index !== null && isSent) this.#places.set(key, { child: hashes[index]!, until: now + sticky.ttlMs });
    return index;
  }
}

/** The same object while the config stays the same. */
function indexOf(hashes: readonly Hash[], child: Hash): number {
  const same = hashes.indexOf(child);
  return same >= 0 ? same : hashes.findIndex(({ high, low }) => high === child.high && low === child.low);
}

function rendezvous(
  session: Hash,
  node: Balance,
  hashes: readonly Hash[],
  open: readonly number[],
): number | null {
  let best: number | null = null;
  let highest = 0;
  for (const i of open) {
    const weight = node.cumulativeWeights[i]! - (node.cumulativeWeights[i - 1] ?? 0);
    if (weight <= 0) continue;
    const score = -weight / Math.log(share(session, hashes[i]!));
    if (score > highest) {
      highest = score;
      best = i;
    }
  }
  return best;
}
