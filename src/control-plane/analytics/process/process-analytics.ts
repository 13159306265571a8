import { type ChildProcess, fork } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { GatewayError } from '../../../common/core/errors.js';
import type { Logger } from '../../../common/plugin-host/plugin.js';
import type { AnswerMessage } from '../duckdb/answering.js';
import type { Analytics, AnalyticsQuestion, AnswerTo } from '../question.js';

export interface ProcessAnalyticsOptions {
  readonly dataDir: string;
  readonly log: Pick<Logger, 'warn'>;
  /** The process's program; the built one unless given. */
  readonly program?: string;
  /** The process ends when it was asked nothing for so long; 5 minutes unless given. Milliseconds. */
  readonly idleMs?: number;
  /** A process that has not answered within this is killed; 12 s unless given. Milliseconds. */
  readonly deadlineMs?: number;
}

interface Waiting {
  readonly resolve: (answer: unknown) => void;
  readonly reject: (error: Error) => void;
  readonly timer: NodeJS.Timeout;
}

type Message = AnswerMessage | { readonly warning: string } | { readonly isReady: true };

/** Questions under way; more are refused. */
const mostWaiting = 200;
/** After a process that did not start or died, no other one is started for so long. Milliseconds. */
const pauseMs = 1000;

const away = (message: string): GatewayError => new GatewayError('store_unavailable', message);

/**
 * Analytics over the ledger in SQLite, by a process of its own that starts with the first question. One that is dead answers nothing:
 * its questions fail, and the next one starts another.
 */
export class ProcessAnalytics implements Analytics {
  #child: ChildProcess | null = null;
  readonly #waiting = new Map<number, Waiting>();
  #number = 0;
  #idle: NodeJS.Timeout | undefined;
  #restAt = 0;
  #isClosed = false;

  constructor(readonly options: ProcessAnalyticsOptions) {}

  /** Its id; null: none runs. */
  get pid(): number | null {
    return this.#child?.pid ?? null;
  }

  async ask<Q extends AnalyticsQuestion>(question: Q): Promise<AnswerTo<Q>> {
    if (this.#waiting.size >= mostWaiting)
      throw away('Too many questions to analytics wait: ask again in a moment.');
    const child = this.#running();
    const number = ++this.#number;
    const answer = await new Promise((resolve, reject) => {
      const timer = setTimeout(() => {
        this.options.log.warn({ pid: child.pid }, 'The analytics process did not answer and is replaced.');
        child.kill('SIGKILL');
        this.#gone(child);
      }, this.options.deadlineMs ?? 12_000);
      this.#waiting.set(number, { resolve, reject, timer });
      child.send({ number, question }, (error) => {
        if (error !== null) this.#gone(child);
      });
    });
    return answer as AnswerTo<Q>;
  }

  #running(): ChildProcess {
    clearTimeout(this.#idle);
    if (this.#child !== null) return this.#child;
    if (this.#isClosed || performance.now() < this.#restAt)
      throw away('Analytics is not available: ask again in a moment.');
    const file = this.options.program ?? fileURLToPath(new URL('./analytics-process.js', import.meta.url));
    const child = fork(file, [this.options.dataDir], {
      // Times of seven numbers a point, in long lists.
      serialization: 'advanced',
      execArgv: ['--disable-proto=delete', '--max-semi-space-size=4', '--max-old-space-size=192'],
    });
    child.on('message', (message: Message) => this.#on(message));
    child.on('error', () => this.#gone(child));
    child.on('exit', () => this.#gone(child));
    this.#child = child;
    return child;
  }

  #on(message: Message): void {
    if ('warning' in message) {
      this.options.log.warn({ problem: message.warning }, 'analytics');
      return;
    }
    if (!('number' in message)) return;
    const waiting = this.#waiting.get(message.number);
    if (waiting === undefined) return;
    this.#waiting.delete(message.number);
    clearTimeout(waiting.timer);
    if (message.problem === undefined) waiting.resolve(message.answer);
    else waiting.reject(away(message.problem));
    if (this.#waiting.size === 0)
      this.#idle = setTimeout(() => this.#end(), this.options.idleMs ?? 300_000).unref();
  }

  #end(): void {
    const child = this.#child;
    this.#child = null;
    if (child?.connected) child.disconnect();
  }

  #gone(child: ChildProcess): void {
    if (this.#child !== child) return;
    this.#child = null;
    this.#restAt = performance.now() + pauseMs;
    const waiting = [...this.#waiting.values()];
    this.#waiting.clear();
    for (const { reject, timer } of waiting) {
      clearTimeout(timer);
      reject(away('The analytics process has ended: ask again in a moment.'));
    }
  }

  /** Ends the process; the file is left as it is. */
  async close(): Promise<void> {
    this.#isClosed = true;
    clearTimeout(this.#idle);
    const child = this.#child;
    if (child === null || child.exitCode !== null) return;
    const ended = new Promise((resolve) => child.once('exit', resolve));
    const timer = setTimeout(() => child.kill('SIGKILL'), 3000);
    this.#end();
    await ended;
    clearTimeout(timer);
  }
}
