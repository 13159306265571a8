import type { TextCheck } from '../../check.js';
import { DetectorCache } from '../detect/detector-cache.js';
import { FindingsRun, findingsResult } from '../detect/findings-result.js';
import { secretCategories, secretKinds } from './kinds.js';

interface Parameters {
  /** Absent: all. */
  readonly categories?: readonly string[];
  readonly redact: boolean;
  readonly not: boolean;
}

const detectors = new DetectorCache(secretKinds);

/** Is the text without keys, tokens and passwords? With `redact` it passes, with placeholders. */
export const secrets: TextCheck = {
  id: 'gateway.secrets',
  runs: 'text',
  transforms: true,
  run({ texts }, parameters) {
    const { categories = secretCategories, redact, not } = parameters as unknown as Parameters;
    return findingsResult(detectors.of(categories), texts, { redact, not, what: 'secrets' });
  },
  begin(parameters) {
    const { categories = secretCategories, redact, not } = parameters as unknown as Parameters;
    return new FindingsRun(detectors.of(categories), { redact, not, what: 'secrets' });
  },
};
