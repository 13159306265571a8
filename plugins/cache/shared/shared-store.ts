import { randomUUID } from 'node:crypto';
import type { Shared } from '../../../src/common/ipc/shared.js';
import { type Entry, readEntry, writeEntry } from '../answers/entry.js';
import type { CacheRead } from './channel.js';
import { TimeoutGuard } from './timeout-guard.js';

/** How long a call waits for the answer of another worker; then it goes on by itself. Milliseconds. */
const defaultLongestWaitMs = 60_000;
/** After this many failures in a row the store is not asked for this long. */
const rest = { maxFailures: 3, restMs: 1000 };

export interface SharedRead {
  readonly entry: Entry | null;
  /** Is another worker calling an upstream for it at this moment? */
  readonly led: boolean;
}

const nothing: SharedRead = { entry: null, led: false };

/** The answers that all workers share, in the control process. Every failure is a miss. */
export class SharedStore {
  /** Identifies this worker among the writers. */
  readonly #own = randomUUID();
  readonly #guard: TimeoutGuard;

  /**
   * `deadlineMs`: an answer that comes later is a miss. `dropped`: called when another worker has replaced an answer.
   */
  constructor(
    readonly shared: Shared,
    deadlineMs: number,
    dropped: (key: string) => void,
    readonly longestWaitMs = defaultLongestWaitMs,
  ) {
    this.#guard = new TimeoutGuard({ deadlineMs, ...rest });
    shared.on('cache-drop', ({ key, replacedBy }) => {
      if (replacedBy !== this.#own) dropped(key);
    });
  }

  async read(key: string): Promise<SharedRead> {
    const read = await this.#guard.ask(() => this.shared.ask('cache-read', { key }));
    return read === null ? nothing : understood(read);
  }

  /** For a caller that will not ask an upstream for it. undefined: unknown at the moment. */
  async peek(key: string): Promise<Entry | null | undefined> {
    const read = await this.#guard.ask(() => this.shared.ask('cache-peek', { key }));
    return read === null ? undefined : understood(read).entry;
  }

  /** The same, after the leading worker has its answer, or has failed, or has taken too long. */
  wait(key: string): Promise<SharedRead> {
    return this.shared
      .ask(
        'cache-wait',
        { key },
        {
          withinMs: this.longestWaitMs,
          // It was to repeat the leader's call, and does so no more.
          late: ({ entry, led }) => {
            if (entry === null && !led) this.over(key);
          },
        },
      )
      .then(understood, () => nothing);
  }

  /** `replaces`: may other workers keep an older answer with this key? */
  write(key: string, entry: Entry, replaces: boolean): void {
    const replacedBy = replaces ? this.#own : null;
    this.shared.send('cache-write', { key, entry: writeEntry(entry), ttl: entry.maxAge, replacedBy });
  }

  /** Reports that this worker will have no such answer. */
  over(key: string): void {
    this.shared.send('cache-over', { key });
  }
}

const understood = ({ entry, led }: CacheRead): SharedRead => ({
  entry: entry === null ? null : readEntry(entry),
  led,
});
