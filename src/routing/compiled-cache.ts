import { LRUCache } from 'lru-cache';
import type { ResolvedConfig } from '../core/target.js';
import { compileConfig } from './compile.js';

export interface CacheBounds {
  readonly maxEntries: number;
  /** Bytes of text, and about as much again for what it compiles to. */
  readonly maxBytes: number;
}

const defaultBounds: CacheBounds = { maxEntries: 1000, maxBytes: 16 * 1024 * 1024 };

/** What an entry takes beside its text. */
const entryOverhead = 1024;

/** Inline configs, compiled: a client sends the same header with every call. A config that is refused is not kept. */
export class CompiledConfigs {
  readonly #isProvider: (name: string) => boolean;
  readonly #headerPrefixes: readonly string[];
  readonly #kept: LRUCache<string, ResolvedConfig>;

  constructor(
    isProvider: (name: string) => boolean,
    headerPrefixes: readonly string[] = [],
    bounds: CacheBounds = defaultBounds,
  ) {
    this.#isProvider = isProvider;
    this.#headerPrefixes = headerPrefixes;
    this.#kept = new LRUCache({
      max: bounds.maxEntries,
      maxSize: bounds.maxBytes,
      sizeCalculation: (_config, text) => entryOverhead + text.length * 4,
    });
  }

  /** Throws `AB01` as compileConfig does. */
  get(text: string): ResolvedConfig {
    let config = this.#kept.get(text);
    if (config === undefined) {
      config = compileConfig(text, {
        slug: null,
        version: 'inline',
        isProvider: this.#isProvider,
        headerPrefixes: this.#headerPrefixes,
      });
      this.#kept.set(text, config);
    }
    return config;
  }

  get size(): number {
    return this.#kept.size;
  }

  clear(): void {
    this.#kept.clear();
  }
}
