import { concernsKey, type Forget } from '../../../common/ipc/messages.js';
import type { KeyRecord } from '../../../common/ipc/records.js';
import type { Store } from '../../store/store.js';
import { AdminError } from '../admin-error.js';

/** What a timer can wait for, at most. */
const longestTimerMs = 2 ** 31 - 1;

export interface OpenStreamOptions {
  readonly key: KeyRecord;
  /** Of the key's text. */
  readonly hash: string;
  /** Finds out once more who calls. Throws AB05 or AB03 where the key may no longer read this. */
  readonly check: () => Promise<unknown>;
  /** Ends the method, so that it does not wait for what the caller will not get. */
  readonly end: () => void;
}

/** A stream that is open. */
export class OpenStream {
  /** Why its key may not read on; null: it may. */
  refused: AdminError | null = null;
  readonly #expiry: NodeJS.Timeout | null;
  #checking: Promise<void> | null = null;
  #again = false;

  constructor(readonly options: OpenStreamOptions) {
    const { expiresAt } = options.key;
    const leftMs = expiresAt === null ? longestTimerMs : expiresAt - Date.now();
    this.#expiry =
      leftMs < longestTimerMs ? setTimeout(() => void this.recheck(), Math.max(0, leftMs) + 1) : null;
    this.#expiry?.unref();
  }

  /** Does the change concern its key? */
  isConcerned(what: Forget): boolean {
    const { key, hash } = this.options;
    return what.name === '*' ? concernsKey(what, key) : what.kind === 'key' && what.name === hash;
  }

  /** Resolves when a check that began no sooner than this call has ended: changes that come together share one. */
  recheck(): Promise<void> {
    this.#again = true;
    this.#checking ??= this.#checks().finally(() => {
      this.#checking = null;
    });
    return this.#checking;
  }

  async #checks(): Promise<void> {
    while (this.#again && this.refused === null) {
      this.#again = false;
      try {
        await this.options.check();
      } catch (thrown) {
        const error = AdminError.from(thrown);
        // The store may be unavailable: the key may still be valid.
        if (error.code !== 'AB05' && error.code !== 'AB03') continue;
        this.refused = error;
        this.options.end();
      }
    }
  }

  close(): void {
    if (this.#expiry !== null) clearTimeout(this.#expiry);
  }
}

/** The streams that are open. Those whose keys are concerned by a change, on any node, are checked. */
export class OpenStreams {
  readonly #open = new Set<OpenStream>();
  #watching: Promise<() => void> | null = null;

  constructor(readonly store: Store) {}

  async add(options: OpenStreamOptions): Promise<OpenStream> {
    const stream = new OpenStream(options);
    this.#open.add(stream);
    this.#watching ??= this.store.changes.watch((changes) => {
      const isMissed = changes === 'missed';
      const all = isMissed ? [] : changes.flatMap(({ forget = [] }) => forget);
      const what = all.filter(({ kind }) => kind === 'key');
      for (const open of this.#open) {
        if (isMissed || what.some((one) => open.isConcerned(one))) void open.recheck();
      }
    });
    try {
      await this.#watching;
    } catch (thrown) {
      this.#watching = null;
      this.remove(stream);
      throw thrown;
    }
    // The key may have changed before this was watched.
    await stream.recheck();
    return stream;
  }

  remove(stream: OpenStream): void {
    stream.close();
    this.#open.delete(stream);
    if (this.#open.size > 0 || this.#watching === null) return;
    const watching = this.#watching;
    this.#watching = null;
    watching.then(
      (stop) => stop(),
      () => {},
    );
  }

  /** Checks those whose keys are concerned by something that is no change of the store. */
  recheck(what: Forget): void {
    for (const open of this.#open) if (open.isConcerned(what)) void open.recheck();
  }

  /** Ends all of them. */
  endAll(): void {
    for (const { options } of this.#open) options.end();
  }
}
