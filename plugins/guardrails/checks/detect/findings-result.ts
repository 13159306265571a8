import type { CheckResult } from '../../check.js';
import type { Detector } from './detector.js';
import type { DetectedValue } from './kind.js';
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
  const { redact, not, what } = options;
  const findings = texts.map((text) => detector.find(text));
  const counts = countsOf(findings.flat());
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
  if (!isRedacted) return { verdict: isFound === not, data };
  const redactor = new Redactor();
  return {
    verdict: true,
    data,
    transformed: texts.map((text, index) => redactor.replace(text, findings[index]!)),
  };
}

function countsOf(findings: readonly DetectedValue[]): Record<string, number> {
  const counts: Record<string, number> = {};
  for (const { kind } of findings) counts[kind.id] = (counts[kind.id] ?? 0) + 1;
  return counts;
}
