import { LRUCache } from 'lru-cache';
import type { ResolvedConfig } from '../../common/core/target.js';
import type { KeptConfigs } from '../../common/plugin-host/host.js';
import { compileConfig } from './compile.js';

/** Bytes of heap that all entries together may keep. */
const defaultMaxBytes = 32 * 1024 * 1024;

/** Bytes of an entry beside its key and its config. */
const entryBytes = 512;

/**
 * Compiled inline configs, by their text, since a client sends the same header with
 * every call; and configs with values of other headers, by keys of their own. A refused config is not kept.
 * Limited by the bytes that entries keep alive, each counted as if it shared nothing with another.
 */
export class CompiledConfigs implements KeptConfigs {
  readonly #isProvider: (name: string) => boolean;
  readonly #headerPrefixes: readonly string[];
  readonly #kept: LRUCache<string, ResolvedConfig>;

  /** `maxBytes`: of heap, by estimate. */
  constructor(
    isProvider: (name: string) => boolean,
    headerPrefixes: readonly string[] = [],
    maxBytes = defaultMaxBytes,
  ) {
    this.#isProvider = isProvider;
    this.#headerPrefixes = headerPrefixes;
    this.#kept = new LRUCache({
      maxSize: maxBytes,
      // A key exists twice: as received, and as parsed.
      sizeCalculation: (config, key) => entryBytes + 4 * key.length + config.bytes,
    });
  }

  compile(text: string): ResolvedConfig {
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

  get(key: string): ResolvedConfig | undefined {
    return this.#kept.get(key);
  }

  set(key: string, config: ResolvedConfig): void {
    this.#kept.set(key, config);
  }

  get size(): number {
    return this.#kept.size;
  }

  /** Of heap, by estimate. */
  get bytes(): number {
    return this.#kept.calculatedSize;
  }

  clear(): void {
    this.#kept.clear();
  }
}
