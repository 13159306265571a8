import type { FromControl, FromWorker } from '../../src/common/ipc/messages.js';
import type { Shared } from '../../src/common/ipc/shared.js';
import type { Logger } from '../../src/common/plugin-host/plugin.js';
import { SharedStateServer } from '../../src/control-plane/shared-state/server.js';
import { SharedChannel } from '../../src/data-plane/directory/shared-channel.js';

export const silent: Logger = { info() {}, warn() {}, error() {} };

/** The control process's end of the shared state and any number of workers' ends, without the processes between them. */
export class SharedHub {
  readonly #ends = new Map<number, SharedChannel>();
  readonly server = new SharedStateServer((message) => {
    for (const end of this.#ends.values()) this.#toWorker(end, message);
  }, silent);
  #workers = 0;
  #underWay = 0;

  /** `send`: when a message arrives. */
  constructor(readonly send: (arrive: () => void) => void = setImmediate) {}

  worker(): Shared & { readonly number: number } {
    const number = this.#workers++;
    const end = new SharedChannel((message) => this.#toControl(number, message));
    this.#ends.set(number, end);
    return Object.assign(end, { number });
  }

  /** Hears nothing any more. */
  gone(worker: number): void {
    this.#ends.delete(worker);
  }

  /** Resolves when everything that was told has been heard, and everything that was told upon that. */
  async quiet(): Promise<void> {
    do await new Promise((turn) => setImmediate(turn));
    while (this.#underWay > 0);
  }

  #later(work: () => void): void {
    this.#underWay++;
    this.send(() => {
      // What an answer sets off comes in a microtask or two.
      work();
      setImmediate(() => this.#underWay--);
    });
  }

  #toControl(number: number, message: FromWorker): void {
    if (message.t !== 'shared-question' && message.t !== 'shared-news') return;
    const sent = crossed(message);
    this.#later(() => {
      // What a worker had sent before its end is not taken after it.
      if (!this.#ends.has(number)) return;
      this.server.take(sent, number, (answer) => {
        const end = this.#ends.get(number);
        if (end !== undefined) this.#toWorker(end, answer);
      });
    });
  }

  #toWorker(end: SharedChannel, message: FromControl): void {
    const sent = crossed(message);
    this.#later(() => {
      if (sent.t === 'shared-answer') end.answered(sent.id, sent.value);
      else if (sent.t === 'shared-failed') end.failed(sent.id);
      else if (sent.t === 'shared-news') end.received(sent.kind, sent.news as never);
    });
  }
}

/** As it comes out of the channel: what JSON cannot carry is not there. */
const crossed = <T>(message: T): T => JSON.parse(JSON.stringify(message)) as T;
