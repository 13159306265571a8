import type { CheckResult } from '../../check.js';
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

/** The same by the number of values of each kind, without the changed texts. */
export function countedResult(
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
