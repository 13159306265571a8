import type { Redis } from '../../control-plane/shared-state/redis.js';
import type { ProcessPart } from '../part-list.js';
import type { Base } from './base.js';
import type { Records } from './store.js';

export interface RedisGiven {
  /** null: the deployment has none. */
  readonly redis: Redis | null;
}

export const redisPart: ProcessPart<Base & Records, RedisGiven> = {
  name: 'connection to Redis',
  async start({ settings: { redisUrl: url }, store, log }) {
    if (url === null) return { redis: null };
    const { Redis, redisPrefix } = await import('../../control-plane/shared-state/redis.js');
    return { redis: new Redis({ url, prefix: redisPrefix(store.pepper), log }) };
  },
  stop: ({ redis }) => redis?.close(),
};
