import { getHeapStatistics } from 'node:v8';
import type { MemoryOwner, WorkerMemory } from '../../../common/ipc/messages.js';
import type { InsertedPlugin } from '../../../common/plugin-host/files/inserted.js';
import { HeapOwners } from './heap-owners.js';

/** Part of V8's heap limit: near the limit V8 mostly collects garbage, and at the limit it ends the process. */
const partOfLimit = 0.75;
/** Consecutive samples, a second apart, that must be above the bound, since garbage adds to single ones. */
const minSamples = 5;

/** Measures the memory of this data worker; to be called once a second. */
export class MemoryWatch {
  readonly #boundBytes: number;
  readonly #owners = new HeapOwners();
  #above = 0;

  /** `boundBytes` null: computed from V8's limit. */
  constructor(boundBytes: number | null) {
    this.#boundBytes = boundBytes ?? getHeapStatistics().heap_size_limit * partOfLimit;
  }

  addPlugins(insert: readonly InsertedPlugin[]): void {
    this.#owners.addPlugins(insert);
  }

  sample(): WorkerMemory {
    const { heapUsed, external } = process.memoryUsage();
    const bytes = heapUsed + external;
    const bound = this.#boundBytes;
    // Above half of the bound, allocations are sampled.
    if (bytes > bound / 2) this.#owners.start();
    else if (bytes < bound / 4) this.#owners.stop();
    this.#above = bytes > bound ? this.#above + 1 : 0;
    return { bytes, boundBytes: bound, isOver: this.#above >= minSamples };
  }

  /** For a worker that has served its last request. */
  owners(): MemoryOwner[] {
    return this.#owners.owners();
  }
}
