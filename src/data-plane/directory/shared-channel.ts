import type { FromWorker } from '../../common/ipc/messages.js';
import type {
  NewsKind,
  QuestionKind,
  QuestionLimits,
  Shared,
  SharedAnswer,
  SharedNews,
  SharedQuestion,
} from '../../common/ipc/shared.js';
import { OpenQuestions } from './waiting.js';

const defaultWithinMs = 5000;

/** A data worker's end of what the workers share, over the channel to the control process. */
export class SharedChannel implements Shared {
  readonly #waiting = new OpenQuestions();
  readonly #listeners = new Map<string, (news: never) => void>();

  constructor(readonly post: (message: FromWorker) => void) {}

  ask<K extends QuestionKind>(
    kind: K,
    question: SharedQuestion<K>,
    { withinMs = defaultWithinMs, late }: QuestionLimits<K> = {},
  ): Promise<SharedAnswer<K>> {
    const post = (id: number): void => this.post({ t: 'shared-question', id, kind, question });
    return this.#waiting.ask<SharedAnswer<K>>(post, withinMs, late);
  }

  send<K extends NewsKind>(kind: K, news: SharedNews[K]): void {
    this.post({ t: 'shared-news', kind, news });
  }

  on<K extends NewsKind>(kind: K, listener: (news: SharedNews[K]) => void): void {
    this.#listeners.set(kind, listener);
  }

  /** News from the control process. */
  received<K extends NewsKind>(kind: K, news: SharedNews[K]): void {
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
