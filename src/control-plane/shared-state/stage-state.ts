import type { SharedServer } from '../../common/ipc/shared.js';
import { maxKeyLength, maxValueLength, type StateKey } from '../../common/plugin-host/shared-state.js';
import type { Redis } from './redis.js';
import { redisScript } from './redis-script.js';

interface Entry {
  sum: number;
  text: string | null;
  /** Monotonic milliseconds. */
  readonly until: number;
}

/** What is kept in this process: where there is no Redis, or while it is away. */
const maxEntries = 50_000;
const maxLength = 64 * 1024 * 1024;
/** UTF-16 units that an entry takes besides its key and its text. */
const entryLength = 100;
/** The key expires by its first addition, so that a window ends however often is added. */
const addScript = redisScript(`
local sum = redis.call('INCRBY', KEYS[1], ARGV[1])
if redis.call('PTTL', KEYS[1]) < 0 then redis.call('PEXPIRE', KEYS[1], ARGV[2]) end
return sum`);

/**
 * Serves the shared state that stages declare: from Redis where the deployment has one, so that nodes share it, else from
 * this process. While Redis is away each node counts for itself.
 */
export function serveStageState(server: SharedServer, redis: Redis | null): void {
  const own = new OwnState();
  const inRedis = async <T>(command: (redis: Redis) => Promise<T>, instead: () => T): Promise<T> => {
    if (redis === null) return instead();
    return command(redis).catch(instead);
  };
  server.answer('state-add', (asked) => {
    const { amount, ms } = asked;
    const key = keyOf(asked);
    return inRedis(
      async (shared) => {
        const sum = await shared.script(addScript, [`state:${key}`], [String(amount), String(ms)]);
        if (!Number.isFinite(sum)) throw new TypeError('not a sum');
        return sum as number;
      },
      () => own.add(key, amount, ms),
    );
  });
  server.answer('state-get', (asked) => {
    const key = keyOf(asked);
    return inRedis(
      async (shared) => {
        const text: unknown = await shared.run((commands) => commands.get(`state:${key}`));
        return typeof text === 'string' && text.length <= maxValueLength ? text : null;
      },
      () => own.get(key),
    );
  });
  server.on('state-set', (news) => {
    const { value, ms } = news;
    if (value !== null && value.length > maxValueLength) return;
    const key = keyOf(news);
    void inRedis(
      (shared) => set(shared, key, value, ms),
      () => own.set(key, value, ms),
    );
  });
}

const keyOf = ({ stage, name, key }: StateKey): string => `${stage}:${name}:${key.slice(0, maxKeyLength)}`;

async function set(redis: Redis, key: string, value: string | null, ms: number): Promise<void> {
  const name = `state:${key}`;
  await redis.run<unknown>((commands) =>
    value === null
      ? commands.del(name)
      : commands.set(name, value, { expiration: { type: 'PX', value: ms } }),
  );
}

/** State of this node alone; the entries set least recently make room. */
export class OwnState {
  readonly #entries = new Map<string, Entry>();
  #length = 0;

  constructor(readonly now: () => number = () => performance.now()) {}

  get size(): number {
    return this.#entries.size;
  }

  add(key: string, amount: number, ms: number): number {
    const entry = this.#find(key);
    if (entry !== undefined) {
      entry.sum += amount;
      return entry.sum;
    }
    this.#put(key, { sum: amount, text: null, until: this.now() + ms });
    return amount;
  }

  get(key: string): string | null {
    return this.#find(key)?.text ?? null;
  }

  set(key: string, text: string | null, ms: number): void {
    this.#drop(key);
    if (text !== null) this.#put(key, { sum: 0, text, until: this.now() + ms });
  }

  #find(key: string): Entry | undefined {
    const entry = this.#entries.get(key);
    if (entry === undefined || entry.until > this.now()) return entry;
    this.#drop(key);
    return undefined;
  }

  #put(key: string, entry: Entry): void {
    this.#entries.set(key, entry);
    this.#length += lengthOf(key, entry);
    for (const oldest of this.#entries.keys()) {
      if (this.#entries.size <= maxEntries && this.#length <= maxLength) break;
      this.#drop(oldest);
    }
  }

  #drop(key: string): void {
    const entry = this.#entries.get(key);
    if (entry === undefined) return;
    this.#entries.delete(key);
    this.#length -= lengthOf(key, entry);
  }
}

const lengthOf = (key: string, { text }: Entry): number => key.length + (text?.length ?? 0) + entryLength;
