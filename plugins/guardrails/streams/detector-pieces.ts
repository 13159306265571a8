import type { CheckResult, FoundValue } from '../check.js';
import type { Detector } from '../checks/detect/detector.js';
import { DetectorCache } from '../checks/detect/detector-cache.js';
import { type FindingsOptions, FindingsRun } from '../checks/detect/findings-result.js';
import { personalKinds } from '../checks/pii/kinds.js';
import { secretCategories, secretKinds } from '../checks/secrets/kinds.js';
import { OpenValues } from './open-values.js';
import type { PieceCheckOf, PieceRun } from './piece-check.js';

/** Searches the pieces of a stream for values of some kinds. */
class DetectorRun implements PieceRun {
  readonly #run: FindingsRun;
  #isChanged = false;

  constructor(
    readonly detector: Detector,
    readonly openValues: OpenValues,
    readonly options: FindingsOptions,
  ) {
    this.#run = new FindingsRun(detector, options);
  }

  find(text: string, from: number): readonly FoundValue[] {
    return this.#run.find(text).filter(({ end }) => end > from);
  }

  open(text: string, from: number): number {
    return this.openValues.open(text, from);
  }

  take(found: FoundValue, value: string): string | null {
    this.#isChanged ||= this.options.redact;
    return this.#run.take(found, value);
  }

  result(): CheckResult {
    return this.#isChanged ? { ...this.#run.result(), transformed: [] } : this.#run.result();
  }
}

function detectorPieces(detectors: DetectorCache, what: string, usual: readonly string[]): PieceCheckOf {
  const openValues = new WeakMap<Detector, OpenValues>();
  return ({ categories = usual, redact, not }) => {
    if (not === true) return null;
    const detector = detectors.of(categories as readonly string[]);
    let open = openValues.get(detector);
    if (open === undefined) {
      open = new OpenValues(detector.kinds);
      openValues.set(detector, open);
    }
    const [values, options] = [open, { redact: redact === true, not: false, what }];
    return { redacts: options.redact, begin: () => new DetectorRun(detector, values, options) };
  };
}

export const personalPieces = detectorPieces(new DetectorCache(personalKinds), 'personal data', []);
export const secretPieces = detectorPieces(new DetectorCache(secretKinds), 'secrets', secretCategories);
