import type { FromWorker } from '../core/messages.js';
import type { Answer, NewsKind, Question, QuestionKind, Shared, SharedNews } from '../core/shared.js';
import { Waiting } from './waiting.js';

/** A data worker's end of what the workers share, over the channel to the control process. */
export class SharedChannel implements Shared {
  readonly #waiting = new Waiting();
  readonly #listeners = new Map<string, (news: never) => void>();

  constructor(readonly post: (message: FromWorker) => void) {}

  ask<K extends QuestionKind>(kind: K, question: Question<K>): Promise<Answer<K>> {
    return this.#waiting.ask<Answer<K>>((id) => this.post({ t: 'shared-question', id, kind, question }));
  }

  tell<K extends NewsKind>(kind: K, news: SharedNews[K]): void {
    this.post({ t: 'shared-news', kind, news });
  }

  hear<K extends NewsKind>(kind: K, listener: (news: SharedNews[K]) => void): void {
    this.#listeners.set(kind, listener);
  }

  /** News from the control process. */
  told<K extends NewsKind>(kind: K, news: SharedNews[K]): void {
    this.#listeners.get(kind)?.(news as never);
  }

  answered(id: number, value: unknown): void {
    this.#waiting.answered(id, value);
  }

  failed(id: number): void {
    this.#waiting.failed(id);
  }

  lost(): void {
    this.#waiting.lost();
  }
}
