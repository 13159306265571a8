import { getHeapStatistics } from 'node:v8';
import type { MemoryOwner, WorkerMemory } from '../../../common/ipc/messages.js';
import type { InsertedPlugin } from '../../../common/plugin-host/files/inserted.js';
import { HeapOwners } from './heap-owners.js';

/** Of what V8 gives the process: near its limit it collects garbage most of the time, and at the limit it ends the process. */
const partOfLimit = 0.75;
/** Looks, a second apart, that all have to be above the bound: between two collections there is garbage. */
const looks = 5;

/** Looks once a second how much memory this data worker uses. */
export class MemoryWatch {
  readonly #boundBytes: number;
  readonly #owners = new HeapOwners();
  #above = 0;

  /** `boundBytes` null: by V8's limit. */
  constructor(boundBytes: number | null) {
    this.#boundBytes = boundBytes ?? getHeapStatistics().heap_size_limit * partOfLimit;
  }

  know(insert: readonly InsertedPlugin[]): void {
    this.#owners.know(insert);
  }

  look(): WorkerMemory {
    const { heapUsed, external } = process.memoryUsage();
    const bytes = heapUsed + external;
    const bound = this.#boundBytes;
    // From half of the bound on, what still grows is looked at.
    if (bytes > bound / 2) this.#owners.start();
    else if (bytes < bound / 4) this.#owners.stop();
    this.#above = bytes > bound ? this.#above + 1 : 0;
    return { bytes, boundBytes: bound, isOver: this.#above >= looks };
  }

  /** For a worker that has served its last request. */
  owners(): MemoryOwner[] {
    return this.#owners.owners();
  }
}
