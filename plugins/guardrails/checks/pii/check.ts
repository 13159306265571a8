import type { TextCheck } from '../../check.js';
import { DetectorCache } from '../detect/detector-cache.js';
import { FindingsRun, findingsResult } from '../detect/findings-result.js';
import { personalKinds } from './kinds.js';

interface Parameters {
  readonly categories: readonly string[];
  readonly redact: boolean;
  readonly not: boolean;
}

const detectors = new DetectorCache(personalKinds);

/** Is the text without personal data of these categories? With `redact` it passes, with placeholders. */
export const pii: TextCheck = {
  id: 'gateway.pii',
  runs: 'text',
  transforms: true,
  run({ texts }, parameters) {
    const { categories, redact, not } = parameters as unknown as Parameters;
    return findingsResult(detectors.of(categories), texts, { redact, not, what: 'personal data' });
  },
  begin(parameters) {
    const { categories, redact, not } = parameters as unknown as Parameters;
    return new FindingsRun(detectors.of(categories), { redact, not, what: 'personal data' });
  },
};
