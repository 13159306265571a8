import { createHash } from 'node:crypto';
import type { RedisCommands } from './redis-link.js';

/** A Lua script, and the digest by which Redis finds it. */
export interface RedisScript {
  readonly lua: string;
  readonly sha: string;
}

export const redisScript = (lua: string): RedisScript => ({
  lua,
  sha: createHash('sha1').update(lua).digest('hex'),
});

/** Runs it by its digest, and by its text where Redis has forgotten it (a restart, SCRIPT FLUSH, another master). */
export async function runScript<T>(
  commands: RedisCommands,
  { lua, sha }: RedisScript,
  keys: readonly string[],
  args: readonly string[],
): Promise<T> {
  // On a single server it would work: refused there too, so that it is found without a cluster.
  if (new Set(keys.map(tagOf)).size > 1)
    throw new TypeError('the keys of a script need one hash tag: {tenant}:name');
  const options = { keys: [...keys], arguments: [...args] };
  try {
    return (await commands.evalSha(sha, options)) as T;
  } catch (error) {
    if (!(error as Error).message.startsWith('NOSCRIPT')) throw error;
    return (await commands.eval(lua, options)) as T;
  }
}

/** What a cluster computes the slot of a key from: the text in its first braces, else the whole key. */
function tagOf(key: string): string {
  const open = key.indexOf('{');
  const close = key.indexOf('}', open + 1);
  return open === -1 || close <= open + 1 ? key : key.slice(open + 1, close);
}
