import { Detector } from './detector.js';
import type { AnyKind } from './kind.js';

/** Detectors of subsets of some kinds. One of them takes some 400 KB: few are kept. */
export class DetectorCache {
  readonly #detectors = new Map<string, Detector>();

  constructor(
    readonly kinds: readonly AnyKind[],
    readonly most = 16,
  ) {}

  /** A detector of the kinds with these ids. */
  of(ids: readonly string[]): Detector {
    const kinds = this.kinds.filter(({ id }) => ids.includes(id));
    const key = [...new Set(kinds.map(({ id }) => id))].join();
    const known = this.#detectors.get(key);
    if (known !== undefined) return known;
    const detector = new Detector(kinds);
    const oldest = this.#detectors.keys().next();
    if (this.#detectors.size >= this.most && oldest.done !== true) this.#detectors.delete(oldest.value);
    this.#detectors.set(key, detector);
    return detector;
  }
}
