import type { FromWorker, LookupKind, LookupRecords } from '../../common/ipc/messages.js';
import { OpenQuestions } from './waiting.js';

/** A request whose key, config or provider is not known by then is answered with 503. Milliseconds. */
const defaultWithinMs = 5000;

/** A data worker's questions to the control process for keys, configs and providers. */
export class LookupChannel {
  readonly #waiting = new OpenQuestions();

  constructor(
    readonly post: (message: FromWorker) => void,
    readonly withinMs = defaultWithinMs,
  ) {}

  ask<K extends LookupKind>(
    kind: K,
    workspace: string | null,
    name: string,
    withinMs = this.withinMs,
  ): Promise<LookupRecords[K] | null> {
    return this.#waiting.ask((id) => this.post({ t: 'lookup', id, kind, workspace, name }), withinMs);
  }

  answered(id: number, value: LookupRecords[LookupKind] | null): void {
    this.#waiting.answered(id, value);
  }

  failed(id: number): void {
    this.#waiting.failed(id);
  }

  lost(): void {
    this.#waiting.lost();
  }
}
