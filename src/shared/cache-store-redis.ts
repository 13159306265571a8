import type { CacheStore } from './cache-store.js';
import type { Redis } from './redis.js';

/** A call waits for this no longer than it would for another miss. */
const readMs = 40;
const writeMs = 1000;

/** Cached answers in Redis, for every node. Its own `maxmemory` and eviction bound them. */
export function redisCacheStore(redis: Redis): CacheStore {
  const name = (key: string): string => `cache:${key}`;
  return {
    read: (key) => redis.run((client) => client.get(name(key)), readMs).catch(() => null),
    write(key, entry, ttl) {
      redis
        .run((client) => client.set(name(key), entry, { expiration: { type: 'EX', value: ttl } }), writeMs)
        .catch(() => {});
    },
    async close() {},
  };
}
