import type { CheckResult, FoundValue, ValueRun } from '../../check.js';
import type { Detector } from './detector.js';
import { type DetectedValue, idsOf } from './kind.js';
import { Redactor } from './redact.js';

export interface FindingsOptions {
  /** Put placeholders in place of what is found; the verdict is then true. */
  readonly redact: boolean;
  /** Turns the verdict: the text must hold something. */
  readonly not: boolean;
  /** What is searched, in a sentence: `personal data`. */
  readonly what: string;
}

/** The result of a check that searches texts for values. Its data has kinds and numbers, never a value. */
export function findingsResult(
  detector: Detector,
  texts: readonly string[],
  options: FindingsOptions,
): CheckResult {
  const findings = texts.map((text) => detector.find(text));
  const result = countedResult(countsOf(findings.flat()), options);
  if (!options.redact || findings.every(({ length }) => length === 0)) return result;
  const redactor = new Redactor();
  const transformed = texts.map((text, index) => redactor.replace(text, findings[index]!));
  return { ...result, transformed };
}

/** The same, value by value. */
export class FindingsRun implements ValueRun {
  readonly #redactor = new Redactor();
  readonly #counts: Record<string, number> = {};

  constructor(
    readonly detector: Detector,
    readonly options: FindingsOptions,
  ) {}

  find(text: string): FoundValue[] {
    return this.detector
      .find(text)
      .map((value) => ({ start: value.start, end: value.end, kinds: idsOf(value) }));
  }

  take({ kinds: [kind = '', ...others] = [] }: FoundValue, value: string): string | null {
    for (const id of [kind, ...others]) this.#counts[id] = (this.#counts[id] ?? 0) + 1;
    return this.options.redact ? this.#redactor.placeholder(kind, value) : null;
  }

  result(): CheckResult {
    return countedResult(this.#counts, this.options);
  }
}

/** By the number of values of each kind, without the changed texts. */
function countedResult(
  counts: Readonly<Record<string, number>>,
  { redact, not, what }: FindingsOptions,
): CheckResult {
  const categories = Object.keys(counts);
  const isFound = categories.length > 0;
  const isRedacted = redact && isFound;
  const found = isFound ? `Found ${what}: ${categories.join(', ')}.` : `Found no ${what}.`;
  const data = {
    explanation: isRedacted ? `${found} Placeholders are in place of it.` : found,
    detectedCategories: categories,
    counts,
    redacted: isRedacted,
    not,
  };
  return { verdict: isRedacted || isFound === not, data };
}

function countsOf(findings: readonly DetectedValue[]): Record<string, number> {
  const counts: Record<string, number> = {};
  for (const id of findings.flatMap(idsOf)) counts[id] = (counts[id] ?? 0) + 1;
  return counts;
}
