import type { BreakerCounts, BreakerPlace, BreakerProbed, BreakerState } from './breaker.js';
import type { Awaitable } from './directory.js';

/** What the shared cache has. */
export interface CacheRead {
  /** null: nothing, or it is too old. */
  readonly entry: string | null;
  /** Is another worker about to have it? */
  readonly led: boolean;
}

/** A vector of length 1: its little-endian 32-bit floats in base64. */
export type VectorText = string;

/** What a data worker asks of the state that all workers share, by kind. Plain JSON both ways. */
export interface SharedQuestions {
  /** Who is told that there is neither entry nor leader leads: `cache-write` or `cache-over` must follow. */
  'cache-read': { readonly question: { readonly key: string }; readonly answer: CacheRead };
  /** The same once the one who leads has its answer, or none. */
  'cache-wait': { readonly question: { readonly key: string }; readonly answer: CacheRead };
  /** The entry of this key, for one who does not mean to lead. */
  'cache-peek': { readonly question: { readonly key: string }; readonly answer: CacheRead };
  /** Keys of the answers whose questions are nearest, nearest first; of those behind this wall alone. */
  'vector-find': {
    readonly question: {
      readonly wall: string;
      readonly vector: VectorText;
      /** Cosine: no less similar than this. */
      readonly similarity: number;
    };
    /** null: this deployment keeps no vectors. */
    readonly answer: { readonly keys: readonly string[] | null };
  };
  /** Those that are not closed. */
  breakers: { readonly question: null; readonly answer: readonly BreakerState[] };
  /** May this request probe the target? One at a time may: the probe's number; null: not this one. */
  'breaker-probe': { readonly question: BreakerPlace; readonly answer: number | null };
}

/** What is told, by kind: by a worker to the shared state, and by that to every worker. Plain JSON. */
export interface SharedNews {
  /** `ttl`: seconds. `replacedBy`: who wrote it, where others may remember an older entry of this key; else null. */
  'cache-write': {
    readonly key: string;
    readonly entry: string;
    readonly ttl: number;
    readonly replacedBy: string | null;
  };
  /** There will be no entry of this key. */
  'cache-over': { readonly key: string };
  /** What is remembered of this entry is out of date, but for who has replaced it. */
  'cache-drop': { readonly key: string; readonly replacedBy: string };
  /** The answer to this question is kept under `key`. `ttl`: seconds. */
  'vector-add': {
    readonly wall: string;
    readonly key: string;
    readonly vector: VectorText;
    readonly ttl: number;
  };
  /** That answer is not to be found by this question any more. */
  'vector-drop': { readonly wall: string; readonly key: string };
  'breaker-counts': BreakerCounts;
  'breaker-probed': BreakerProbed;
  'breaker-state': BreakerState;
}

export type QuestionKind = keyof SharedQuestions;
export type NewsKind = keyof SharedNews;
export type Question<K extends QuestionKind> = SharedQuestions[K]['question'];
export type Answer<K extends QuestionKind> = SharedQuestions[K]['answer'];

/** A data worker's end of the state that the workers of a deployment share. The other end is the control process's. */
export interface Shared {
  /** Rejects where the control process cannot answer. */
  ask<K extends QuestionKind>(kind: K, question: Question<K>): Promise<Answer<K>>;
  /** Is not waited for; lost where the control process is gone. */
  tell<K extends NewsKind>(kind: K, news: SharedNews[K]): void;
  /** One listener a kind. */
  hear<K extends NewsKind>(kind: K, listener: (news: SharedNews[K]) => void): void;
}

/** The control process's end. */
export interface SharedDesk {
  answer<K extends QuestionKind>(
    kind: K,
    answer: (question: Question<K>, worker: number) => Awaitable<Answer<K>>,
  ): void;
  hear<K extends NewsKind>(kind: K, listener: (news: SharedNews[K], worker: number) => void): void;
  /** Tells every worker. */
  tell<K extends NewsKind>(kind: K, news: SharedNews[K]): void;
}
