import type { Nodes } from '../../../src/common/plugin-host/control.js';
import type { CacheStore } from './store.js';

/** Milliseconds; a slower read is a miss. */
const readMs = 40;
const writeMs = 1000;

/** Cached answers in Redis, for every node. Its own `maxmemory` and eviction bound them. */
export function redisCacheStore(nodes: Nodes): CacheStore {
  const name = (key: string): string => `cache:${key}`;
  return {
    read: (key) => nodes.get(name(key), readMs).catch(() => null),
    write(key, entry, ttl) {
      nodes.set(name(key), entry, ttl, writeMs).catch(() => {});
    },
    async close() {},
  };
}
