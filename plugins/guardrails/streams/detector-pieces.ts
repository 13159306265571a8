import type { CheckResult } from '../check.js';
import type { Detector } from '../checks/detect/detector.js';
import { DetectorCache } from '../checks/detect/detector-cache.js';
import { countedResult, type FindingsOptions } from '../checks/detect/findings-result.js';
import { idsOf } from '../checks/detect/kind.js';
import { Redactor } from '../checks/detect/redact.js';
import { personalKinds } from '../checks/pii/kinds.js';
import { secretCategories, secretKinds } from '../checks/secrets/kinds.js';
import { OpenValues } from './open-values.js';
import type { FoundValue, PieceCheckOf, PieceRun } from './piece-check.js';

/** Searches the pieces of a stream for values of some kinds. */
class DetectorRun implements PieceRun {
  readonly #redactor = new Redactor();
  readonly #counts: Record<string, number> = {};

  constructor(
    readonly detector: Detector,
    readonly openValues: OpenValues,
    readonly options: FindingsOptions,
  ) {}

  find(text: string, from: number, after: number): readonly FoundValue[] {
    const found: FoundValue[] = [];
    for (const value of this.detector.find(text)) {
      const { start, end } = value;
      if (start >= after && end > from) found.push({ start, end, kinds: idsOf(value) });
    }
    return found;
  }

  open(text: string, from: number): number {
    return this.openValues.open(text, from);
  }

  take({ kinds: [kind = '', ...others] = [] }: FoundValue, value: string): string | null {
    for (const id of [kind, ...others]) this.#counts[id] = (this.#counts[id] ?? 0) + 1;
    return this.options.redact ? this.#redactor.placeholder(kind, value) : null;
  }

  result(): CheckResult {
    const result = countedResult(this.#counts, this.options);
    const isChanged = this.options.redact && Object.keys(this.#counts).length > 0;
    return isChanged ? { ...result, transformed: [] } : result;
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
