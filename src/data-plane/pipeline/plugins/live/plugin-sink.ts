import type { Metric } from '../../../../common/plugin-host/metrics.js';
import type { Logger } from '../../../../common/plugin-host/plugin.js';
import type { RecordSink, SinkOptions } from '../../../../common/plugin-host/sink.js';
import { inPluginScope } from '../plugin-scope.js';

const defaults = {
  ...{ batch: 100, everyMs: 1000, maxBytes: 8 * 1024 * 1024, attempts: 10, timeoutMs: 10_000 },
};
const longestWaitMs = 30_000;
/** Milliseconds for what waits when the plugin is closed. */
const closeMs = 1500;

/** A queue of records that is bounded in bytes, and delivers them in batches, one after the other. */
export class PluginSink<Record> implements RecordSink<Record> {
  readonly #settings: Required<Pick<SinkOptions<Record>, keyof typeof defaults>>;
  #waiting: { readonly record: Record; readonly bytes: number }[] = [];
  #bytes = 0;
  #delivered = 0;
  #dropped = 0;
  #timer: NodeJS.Timeout | null = null;
  #delivering: Promise<void> | null = null;
  readonly #closing = new AbortController();

  constructor(
    readonly plugin: string,
    readonly options: SinkOptions<Record>,
    readonly log: Logger,
  ) {
    if (typeof options?.name !== 'string' || typeof options.deliver !== 'function')
      throw new TypeError(`A sink of ${plugin} needs a name, and deliver.`);
    this.#settings = { ...defaults, ...options };
    for (const name of Object.keys(defaults) as (keyof typeof defaults)[])
      if (!Number.isSafeInteger(this.#settings[name]) || this.#settings[name] < 1)
        throw new TypeError(`${name} of the sink ${options.name} must be a whole number from 1 on.`);
  }

  add(record: Record): boolean {
    const bytes = lengthOf(record);
    if (bytes === null || bytes > this.#settings.maxBytes || this.#closing.signal.aborted) {
      this.#dropped++;
      return false;
    }
    this.#waiting.push({ record, bytes });
    this.#bytes += bytes;
    if (this.#bytes > this.#settings.maxBytes) this.#dropOldest();
    if (this.#waiting.length >= this.#settings.batch) this.#begin();
    else this.#timer ??= setTimeout(() => this.#begin(), this.#settings.everyMs).unref();
    return true;
  }

  metrics(): Metric[] {
    const labels = { plugin: this.plugin, sink: this.options.name };
    return [
      { name: 'gateway_sink_queued_bytes', labels, value: this.#bytes },
      { name: 'gateway_sink_delivered_total', labels, value: this.#delivered },
      { name: 'gateway_sink_dropped_total', labels, value: this.#dropped },
    ];
  }

  /** Tries once more to deliver what waits; drops the rest. */
  async close(): Promise<void> {
    this.#closing.abort();
    if (this.#timer !== null) clearTimeout(this.#timer);
    let late: NodeJS.Timeout | undefined;
    const over = new Promise<void>((resolve) => {
      late = setTimeout(resolve, closeMs);
    });
    await Promise.race([this.#deliverRest(), over]);
    clearTimeout(late);
    this.#drop(this.#waiting.length);
  }

  async #deliverRest(): Promise<void> {
    await this.#delivering;
    while (this.#waiting.length > 0) await this.#deliver();
  }

  #dropOldest(): void {
    let count = 0;
    let bytes = this.#bytes;
    while (bytes > this.#settings.maxBytes) bytes -= this.#waiting[count++]!.bytes;
    this.#drop(count);
  }

  #drop(count: number): void {
    this.#dropped += this.#take(count);
  }

  #take(count: number): number {
    const taken = this.#waiting.splice(0, count);
    for (const { bytes } of taken) this.#bytes -= bytes;
    return taken.length;
  }

  #begin(): void {
    if (this.#timer !== null) clearTimeout(this.#timer);
    this.#timer = null;
    if (this.#delivering !== null || this.#closing.signal.aborted) return;
    this.#delivering = this.#deliverAll().finally(() => {
      this.#delivering = null;
      if (this.#waiting.length > 0)
        this.#timer ??= setTimeout(() => this.#begin(), this.#settings.everyMs).unref();
    });
  }

  async #deliverAll(): Promise<void> {
    do await this.#deliver();
    while (this.#waiting.length >= this.#settings.batch && !this.#closing.signal.aborted);
  }

  /** One batch, until it is delivered or given up. It waits in the queue meanwhile, and counts there. */
  async #deliver(): Promise<void> {
    const batch = this.#waiting.slice(0, this.#settings.batch);
    for (let attempt = 1; ; attempt++) {
      const failure = await this.#try(batch.map(({ record }) => record));
      // The oldest of them may have been dropped in between.
      const left = batch.filter((one) => this.#waiting.includes(one)).length;
      if (failure === null) {
        this.#delivered += this.#take(left);
        return;
      }
      const isLast = attempt >= this.#settings.attempts || this.#closing.signal.aborted;
      this.log[isLast ? 'error' : 'warn'](
        { plugin: this.plugin, sink: this.options.name, records: batch.length, attempt, err: failure },
        `the sink ${this.options.name} of the plugin ${this.plugin} could not deliver a batch${isLast ? ', which is dropped' : ''}`,
      );
      if (isLast) return this.#drop(left);
      await this.#pause(Math.min(longestWaitMs, 1000 * 2 ** (attempt - 1)));
    }
  }

  async #try(records: readonly Record[]): Promise<unknown> {
    const late = new AbortController();
    let timer: NodeJS.Timeout | undefined;
    const tooLate = new Promise<never>((_resolve, reject) => {
      timer = setTimeout(() => {
        late.abort(new DOMException('The delivery took too long.', 'TimeoutError'));
        reject(late.signal.reason);
      }, this.#settings.timeoutMs).unref();
    });
    const scope = { plugin: this.plugin, hook: 'deliver', requestId: null };
    try {
      await Promise.race([
        inPluginScope(scope, async () => this.options.deliver(records, late.signal)),
        tooLate,
      ]);
      return null;
    } catch (thrown) {
      return thrown ?? new Error('nothing was thrown');
    } finally {
      clearTimeout(timer);
    }
  }

  /** Ends early when the plugin is closed. */
  #pause(ms: number): Promise<void> {
    const { signal } = this.#closing;
    return new Promise((resolve) => {
      const done = (): void => {
        clearTimeout(timer);
        signal.removeEventListener('abort', done);
        resolve();
      };
      const timer = setTimeout(done, signal.aborted ? 0 : ms).unref();
      signal.addEventListener('abort', done);
    });
  }
}

function lengthOf(record: unknown): number | null {
  try {
    const text = JSON.stringify(record);
    return text === undefined ? null : Buffer.byteLength(text);
  } catch {
    return null;
  }
}
