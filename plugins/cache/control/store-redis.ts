import { certainlyQuickBytes, scanJson } from '../../../src/common/json/json-scan.js';
import type { Nodes } from '../../../src/common/plugin-host/control.js';
import type { CacheStore } from './store.js';

/** Milliseconds; a slower read is a miss. */
const readMs = 40;
const writeMs = 1000;
/** Names, values and brackets of an entry: its answers are texts, one value each. */
const maxTokens = 1000;

/** Cached answers in Redis, for every node. Its own `maxmemory` and eviction bound them. */
export function redisCacheStore(nodes: Nodes): CacheStore {
  const name = (key: string): string => `cache:${key}`;
  return {
    async read(key) {
      const text = await nodes.get(name(key), readMs).catch(() => null);
      return text !== null && isQuick(text) ? text : null;
    },
    write(key, entry, ttl) {
      nodes.set(name(key), entry, ttl, writeMs).catch(() => {});
    },
    async close() {},
  };
}

/** A data worker reads an entry in one turn of its event loop; one that no gateway wrote may have a million values. */
function isQuick(text: string): boolean {
  if (text.length <= certainlyQuickBytes) return true;
  const { tokens, problem } = scanJson(Buffer.from(text), { maxDepth: 32, maxTokens, maxMembers: maxTokens });
  return problem === null && tokens <= maxTokens;
}
