import type { Redis } from '../../control-plane/shared-state/redis.js';
import type { ProcessPart } from '../part-list.js';
import type { Base } from './base.js';
import type { Records } from './store.js';

export interface RedisGiven {
  /** null: the deployment has none. */
  readonly redis: Redis | null;
}

/** A cached answer may be kept in several forms, whose quotes and line ends are escaped. */
const textsPerEntry = 4;
/** Open breakers, slots of a cluster. */
const otherBytes = 4 * 1024 * 1024;

export const redisPart: ProcessPart<Base & Records, RedisGiven> = {
  name: 'connection to Redis',
  async start({ settings: { redisUrl: url, stages }, store, log }) {
    if (url === null) return { redis: null };
    const { Redis, redisPrefix } = await import('../../control-plane/shared-state/redis.js');
    // A gateway may be built without the cache.
    const cache = stages['cache'] as { readonly entryBytes?: number } | undefined;
    const maxReplyBytes = (cache?.entryBytes ?? 0) * textsPerEntry + otherBytes;
    return { redis: new Redis({ url, prefix: redisPrefix(store.pepper), maxReplyBytes, log }) };
  },
  stop: ({ redis }) => redis?.close(),
};
