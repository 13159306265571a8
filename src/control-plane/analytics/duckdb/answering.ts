import type { AnalyticsQuestion } from '../question.js';
import type { Follower } from './follower.js';

/** A question to the process, and its answer: `problem` is a sentence for the caller. */
export interface QuestionMessage {
  readonly number: number;
  readonly question: AnalyticsQuestion;
}
export interface AnswerMessage {
  readonly number: number;
  readonly answer?: unknown;
  readonly problem?: string;
}

/** A question waits so long for the file to be as far as the ledger, and its statements may take so long. Milliseconds. */
const catchUpMs = 3000;
const statementMs = 4500;
/** Questions that wait; more are refused. */
const mostWaiting = 100;
const followMs = 500;

/** Answers questions one after the other, and follows the ledger in between. */
export class Answering {
  #turn: Promise<unknown> = Promise.resolve();
  #waiting = 0;
  readonly #timer: NodeJS.Timeout;
  #isFollowing = false;

  constructor(
    readonly follower: Follower,
    readonly onProblem: (error: Error) => void,
  ) {
    this.#timer = setInterval(() => this.#follow(), followMs);
  }

  #follow(): void {
    if (this.#isFollowing || this.#waiting > 0) return;
    this.#isFollowing = true;
    this.#inTurn(() => this.#advance())
      .catch((error: Error) => this.onProblem(error))
      .finally(() => {
        this.#isFollowing = false;
      });
  }

  async #advance(): Promise<void> {
    if (!(await this.follower.catchUp(followMs)) || this.#waiting > 0) return;
    // One day: a question waits for no more.
    await this.follower.rollUp(1);
  }

  #inTurn<T>(work: () => Promise<T>): Promise<T> {
    const done = this.#turn.then(work);
    this.#turn = done.catch(() => {});
    return done;
  }

  async answer({ number, question }: QuestionMessage): Promise<AnswerMessage> {
    if (this.#waiting >= mostWaiting)
      return { number, problem: 'Too many questions to analytics wait: ask again in a moment.' };
    this.#waiting++;
    try {
      return await this.#inTurn(() => this.#answer(number, question));
    } catch (error) {
      this.onProblem(error as Error);
      return { number, problem: 'Analytics could not answer: ask again in a moment.' };
    } finally {
      this.#waiting--;
    }
  }

  async #answer(number: number, question: AnalyticsQuestion): Promise<AnswerMessage> {
    if (!(await this.follower.catchUp(catchUpMs))) {
      const { done, total } = await this.follower.progress();
      return {
        number,
        problem: `Analytics has read ${done} of ${total} rows of the ledger: ask again in a moment.`,
      };
    }
    let isLate = false;
    const timer = setTimeout(() => {
      isLate = true;
      this.follower.file.interrupt();
    }, statementMs);
    try {
      return { number, answer: await this.follower.file.ask(question) };
    } catch (error) {
      if (!isLate) throw error;
      return {
        number,
        problem: 'The question takes too long: ask about a shorter time, or with fewer filters.',
      };
    } finally {
      clearTimeout(timer);
    }
  }

  async close(): Promise<void> {
    clearInterval(this.#timer);
    await this.#turn;
    await this.follower.close();
  }
}
