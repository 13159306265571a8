import type { Awaitable } from '../core/directory.js';
import type { StateKey } from '../plugin-host/shared-state.js';
import type { OwnPrices } from '../prices/pricing.js';
import type { ModelsAnswer, ModelsQuestion } from '../vocabulary/model-list.js';
import type { BreakerCounts, BreakerPlace, BreakerProbed, BreakerState } from './breaker.js';

/**
 * Questions of a data worker to the state that all workers share, by kind. Plain JSON in both directions. A stage with
 * a part in the control process adds its own kinds, and those of its messages, with `declare module` of this file, in
 * its folder.
 */
export interface SharedQuestions {
  /** Adds to a counter of a stage; `ms`: how long it counts from its first addition. The answer is its sum. */
  'state-add': {
    readonly question: StateKey & { readonly amount: number; readonly ms: number };
    readonly answer: number;
  };
  /** JSON text of a value of a stage; null: there is none. */
  'state-get': { readonly question: StateKey; readonly answer: string | null };
  /** Those that are not closed. */
  breakers: { readonly question: null; readonly answer: readonly BreakerState[] };
  /** May this request probe the target? Only one at a time; the probe's number; null: no. */
  'breaker-probe': { readonly question: BreakerPlace; readonly answer: number | null };
  /**
   * A piece of the prices of an operator's own; null: they are those of the revision that the worker `has`. `revision`: that of
   * the pieces it got so far, -1: none; where it is another by now, the answer is the first piece again.
   */
  prices: {
    readonly question: { readonly has: number; readonly revision: number; readonly piece: number };
    readonly answer: {
      readonly revision: number;
      readonly piece: number;
      /** Pieces in all; 0: there are no prices. */
      readonly count: number;
      readonly prices: OwnPrices;
    } | null;
  };
  /** A body as it was before guardrails changed it. `full`: too much waits to be sealed; `unwanted`: this node keeps no bodies. */
  'unredacted-text': { readonly question: UnredactedBody; readonly answer: 'kept' | 'full' | 'unwanted' };
  /** The models that calls of a key can use now. */
  models: { readonly question: ModelsQuestion; readonly answer: ModelsAnswer };
}

/** A body of an exchange before guardrails changed it. */
export interface UnredactedBody {
  readonly organisationId: string;
  /** Of the exchange. */
  readonly id: string;
  readonly part: 'request' | 'response';
  readonly text: string;
  /** Is it longer than what is kept of it? */
  readonly cut: boolean;
}

/** Messages without an answer, by kind: from a worker to the shared state, and from there to every worker. Plain JSON. */
export interface SharedNews {
  /** A value of a stage, as JSON text, for `ms` milliseconds; null: it is deleted. */
  'state-set': StateKey & { readonly value: string | null; readonly ms: number };
  'breaker-counts': BreakerCounts;
  'breaker-probed': BreakerProbed;
  'breaker-state': BreakerState;
  /** A provider has refused the credential of a stored provider, which is mapped to secrets. */
  'credential-refused': { readonly workspace: string; readonly name: string };
  /** There are other prices of an operator's own. */
  prices: { readonly revision: number };
}

export type QuestionKind = keyof SharedQuestions;
export type NewsKind = keyof SharedNews;
export type SharedQuestion<K extends QuestionKind> = SharedQuestions[K]['question'];
export type SharedAnswer<K extends QuestionKind> = SharedQuestions[K]['answer'];

export interface QuestionLimits<K extends QuestionKind> {
  /** Milliseconds after which the question rejects; 5,000 by default. */
  readonly withinMs?: number;
  /** Called with an answer that arrives later, to undo its effect. */
  readonly late?: (answer: SharedAnswer<K>) => void;
}

/** A data worker's end of the state that the workers of a deployment share. The other end is the control process's. */
export interface Shared {
  /** Rejects if the control process cannot answer, or not in time. */
  ask<K extends QuestionKind>(
    kind: K,
    question: SharedQuestion<K>,
    limits?: QuestionLimits<K>,
  ): Promise<SharedAnswer<K>>;
  /** The caller does not wait for it; lost if the control process has ended. */
  send<K extends NewsKind>(kind: K, news: SharedNews[K]): void;
  /** One listener a kind. */
  on<K extends NewsKind>(kind: K, listener: (news: SharedNews[K]) => void): void;
}

/** The control process's end. */
export interface SharedServer {
  answer<K extends QuestionKind>(
    kind: K,
    answer: (question: SharedQuestion<K>, worker: number) => Awaitable<SharedAnswer<K>>,
  ): void;
  on<K extends NewsKind>(kind: K, listener: (news: SharedNews[K], worker: number) => void): void;
  /** Sends to every worker. */
  broadcast<K extends NewsKind>(kind: K, news: SharedNews[K]): void;
}
