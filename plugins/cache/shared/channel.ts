/** Messages between the cache's stages in data workers and its part in the control process. */

/** The answer of the shared cache. */
export interface CacheRead {
  /** null: none, or it has expired. */
  readonly entry: string | null;
  /** Is another worker about to have it? */
  readonly led: boolean;
}

/** A vector of length 1: its little-endian 32-bit floats in base64. */
export type VectorText = string;

interface Key {
  readonly key: string;
}

declare module '../../../src/common/ipc/shared.js' {
  interface SharedQuestions {
    /** A worker that finds neither entry nor leader leads: `cache-write` or `cache-over` must follow. */
    'cache-read': { readonly question: Key; readonly answer: CacheRead };
    /** The same once the leader has its answer, or none. */
    'cache-wait': { readonly question: Key; readonly answer: CacheRead };
    /** The entry of this key, for a worker that does not want to lead. */
    'cache-peek': { readonly question: Key; readonly answer: CacheRead };
    /** Keys of the answers whose questions are nearest, nearest first, within this scope alone. */
    'vector-find': {
      readonly question: {
        readonly scope: string;
        readonly vector: VectorText;
        /** Cosine: at least this similar. */
        readonly similarity: number;
      };
      /** null: this deployment keeps no vectors. */
      readonly answer: { readonly keys: readonly string[] | null };
    };
  }

  interface SharedNews {
    /** `ttl`: seconds. `replacedBy`: the writer, where others may remember an older entry of this key; else null. */
    'cache-write': {
      readonly key: string;
      readonly entry: string;
      readonly ttl: number;
      readonly replacedBy: string | null;
    };
    /** There will be no entry of this key. */
    'cache-over': Key;
    /** All workers but the one that replaced this entry have to forget it. */
    'cache-drop': { readonly key: string; readonly replacedBy: string };
    /** Stores a question whose answer is kept under `key`. `ttl`: seconds. */
    'vector-add': {
      readonly scope: string;
      readonly key: string;
      readonly vector: VectorText;
      readonly ttl: number;
    };
    /** The question no longer leads to this answer. */
    'vector-drop': { readonly scope: string; readonly key: string };
  }
}
