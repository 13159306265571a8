import type { FromControl, FromWorker } from '../../common/ipc/messages.js';
import type {
  NewsKind,
  QuestionKind,
  SharedAnswer,
  SharedNews,
  SharedQuestion,
  SharedServer,
} from '../../common/ipc/shared.js';
import type { Logger } from '../../common/plugin-host/plugin.js';

type Post = (message: FromControl) => void;
type SharedMessage = Extract<FromWorker, { t: 'shared-question' | 'shared-news' }>;

/** Serves the data workers' shared state: passes their questions and news to the handler of each kind. */
export class SharedStateServer implements SharedServer {
  readonly #answers = new Map<string, (question: never, worker: number) => unknown>();
  readonly #listeners = new Map<string, (news: never, worker: number) => void>();

  constructor(
    readonly sendAll: Post,
    readonly log: Logger,
  ) {}

  answer<K extends QuestionKind>(
    kind: K,
    answer: (question: SharedQuestion<K>, worker: number) => SharedAnswer<K> | Promise<SharedAnswer<K>>,
  ): void {
    this.#answers.set(kind, answer);
  }

  on<K extends NewsKind>(kind: K, listener: (news: SharedNews[K], worker: number) => void): void {
    this.#listeners.set(kind, listener);
  }

  broadcast<K extends NewsKind>(kind: K, news: SharedNews[K]): void {
    this.sendAll({ t: 'shared-news', kind, news });
  }

  /** Handles a worker's message; `reply` sends to that worker. */
  take(message: SharedMessage, worker: number, reply: Post): void {
    if (message.t === 'shared-news') {
      try {
        this.#listeners.get(message.kind)?.(message.news as never, worker);
      } catch (error) {
        this.log.error({ err: error, kind: message.kind }, 'news of a worker could not be taken');
      }
      return;
    }
    this.#ask(message.kind, message.question, worker).then(
      (value) => reply({ t: 'shared-answer', id: message.id, value }),
      (error: unknown) => {
        this.log.error({ err: error, kind: message.kind }, 'a question of a worker could not be answered');
        reply({ t: 'shared-failed', id: message.id });
      },
    );
  }

  async #ask(kind: QuestionKind, question: unknown, worker: number): Promise<unknown> {
    const answer = this.#answers.get(kind);
    if (answer === undefined) throw new Error(`nobody answers ${kind}`);
    return answer(question as never, worker);
  }
}
