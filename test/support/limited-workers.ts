import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import startLimits from '../../plugins/limits/control.js';
import { GatewayError } from '../../src/common/core/errors.js';
import type { LedgerRow } from '../../src/common/ledger/record.js';
import type { RunningPart } from '../../src/common/plugin-host/control.js';
import { SqliteConnection } from '../../src/control-plane/database/sqlite.js';
import { Spent } from '../../src/control-plane/ledger/budgets/spent.js';
import type { BudgetLedger } from '../../src/control-plane/ledger/ledger.js';
import { openLedger } from '../../src/control-plane/ledger/sql.js';
import { SharedStateServer } from '../../src/control-plane/shared-state/server.js';
import type { SharedChannel } from '../../src/data-plane/directory/shared-channel.js';
import { type Ask, BareWorker, type Client, soon } from './bare-worker.js';

const silent = { info() {}, warn() {}, error() {} };

/** Data workers in this process, with the counters of limits that they share, and a provider that answers at once. */
export class LimitedWorkers {
  readonly dataDir = mkdtempSync(join(tmpdir(), 'headgate-limits-'));
  readonly workers: BareWorker[] = [];
  /** Questions of the workers for permits. */
  questions = 0;
  /** Does the control process answer questions, now? */
  isAnswering = true;
  /** Workers that take and send no messages. */
  readonly stopped = new Set<number>();
  /** Requests that the provider has got. */
  sent = 0;
  /** What the provider says was used. */
  usage = { prompt_tokens: 10, completion_tokens: 20, total_tokens: 30 };
  /**
   * Called for each request of the provider; returns whether it is answered now, with which status it fails, or that its
   * connection ends before the answer or within it.
   */
  answers: () => boolean | number | 'reset' | 'cut' = () => true;
  #control: RunningPart | null = null;
  #ledger!: BudgetLedger;
  #spent!: Spent;
  readonly #channels = new Map<number, SharedChannel>();

  static async start(count: number): Promise<LimitedWorkers> {
    const all = new LimitedWorkers();
    await all.#start(count);
    return all;
  }

  async #start(count: number): Promise<void> {
    const server = new SharedStateServer((message) => {
      if (message.t !== 'shared-news') return;
      for (const [number, channel] of this.#channels) {
        if (this.stopped.has(number)) continue;
        setImmediate(() => channel.received(message.kind, message.news as never));
      }
    }, silent);
    this.#ledger = await openLedger({ dataDir: this.dataDir });
    this.#spent = new Spent({ ledger: this.#ledger, node: 'node', isShared: false });
    this.#control = await startLimits(
      { withoutRedis: 'local_share' },
      {
        log: silent,
        shared: server,
        nodes: null,
        dataDir: this.dataDir,
        workers: count,
        spent: this.#spent,
        schedule() {},
        openDatabase: SqliteConnection.open,
        openVectors: async () => null,
      },
    );
    server.answer('prices', () => null);
    for (let number = 0; number < count; number++) {
      const worker = new BareWorker();
      worker.onShared = (message, shared) => {
        this.#channels.set(number, shared);
        if (message.t !== 'shared-question' && message.t !== 'shared-news') return;
        if (this.stopped.has(number)) return;
        if (message.t === 'shared-question' && message.kind === 'limits-take') {
          this.questions++;
          if (!this.isAnswering) {
            setTimeout(() => shared.failed(message.id), 100);
            return;
          }
        }
        setImmediate(() =>
          server.take(message, number, (reply) => {
            if (this.stopped.has(number)) return;
            if (reply.t === 'shared-answer') shared.answered(reply.id, reply.value);
            else if (reply.t === 'shared-failed') shared.failed(reply.id);
          }),
        );
      };
      worker.onAsked = ({ handler }) => {
        this.sent++;
        const isAnswered = this.answers();
        if (isAnswered === false) return;
        setImmediate(() => {
          if (isAnswered === 'reset') return handler.error(new GatewayError('upstream_reset', 'It ended.'));
          if (isAnswered === 'cut') {
            handler.head(200, ['content-type', 'application/json']);
            handler.data(Buffer.from('{"id": "c", "choices": ['));
            return handler.error(new GatewayError('upstream_truncated', 'It broke off.'));
          }
          handler.head(isAnswered === true ? 200 : isAnswered, ['content-type', 'application/json']);
          handler.data(
            Buffer.from(
              JSON.stringify({
                id: 'c',
                object: 'chat.completion',
                model: 'gpt-4o-mini',
                choices: [{ index: 0, message: { role: 'assistant', content: 'Hi' }, finish_reason: 'stop' }],
                usage: this.usage,
              }),
            ),
          );
          handler.end();
        });
      };
      this.workers.push(await worker.start());
    }
  }

  /** Sends a chat by one of the workers; resolves when it is answered. */
  async ask(key: string, how: Ask & { readonly worker?: number } = {}): Promise<Client> {
    const client = this.workers[how.worker ?? 0]!.ask(key, {
      stream: false,
      ...how,
    });
    await soon('the request is answered', () => client.ended);
    return client;
  }

  /** The process of a worker has ended, as far as the control process knows. */
  gone(worker: number): void {
    this.#control?.workerGone?.(worker);
  }

  /** Puts what the workers have settled into the ledger. */
  async ingest(): Promise<void> {
    const settled = this.workers.flatMap((worker) => worker.settled.splice(0));
    const rows = settled.map((settlement): LedgerRow => ({ ...settlement, state: 'settled', node: 'node' }));
    const batch = { unknown: [], positions: new Map(), opened: [], closed: [] };
    await this.#spent.apply(process.pid, { ...batch, settled: { packed: null, rows } });
  }

  get ledger(): BudgetLedger {
    return this.#ledger;
  }

  async close(): Promise<void> {
    for (const worker of this.workers) worker.close();
    await this.#control?.close?.();
    await this.#ledger.close();
    rmSync(this.dataDir, { recursive: true, force: true });
  }
}

/** The value of a header of an answer; undefined: it has none. */
export function headerOf({ headers }: Client, name: string): string | undefined {
  const at = headers.findIndex((text, i) => i % 2 === 0 && text === name);
  return at < 0 ? undefined : headers[at + 1];
}
