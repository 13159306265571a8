import { LRUCache } from 'lru-cache';
import { retainedBytes } from '../../../src/common/bytes/retained-bytes.js';
import type { CheckParameters, TextContext } from '../check.js';
import { checks } from '../checks/index.js';
import { runTextCheck } from '../run/text-check.js';
import type { CheckJob, JobCheck, JobResult } from './job.js';

/** Parameters of checks, and what checks have compiled of them. */
const known = new LRUCache<string, CheckParameters>({
  maxSize: 16 * 1024 * 1024,
  sizeCalculation: (parameters, key) => 1024 + key.length + retainedBytes(parameters),
});

/** Called by Piscina: runs the checks of a job, one after another. */
export default function runChecks({ phase, texts, checks: wanted, progress }: CheckJob): JobResult {
  const parameters = wanted.map(parametersOf);
  const missing = wanted.filter((_, i) => parameters[i] === undefined).map(({ key }) => key);
  if (missing.length > 0) return { missing };
  const context: TextContext = { phase, texts, text: texts.join('\n') };
  const results = wanted.map(({ id }, i) => {
    Atomics.store(progress, 0, i + 1);
    return runTextCheck(checks.get(id), context, parameters[i]!);
  });
  return { results };
}

function parametersOf({ key, parameters }: JobCheck): CheckParameters | undefined {
  const found = known.get(key);
  if (found !== undefined || parameters === undefined) return found;
  known.set(key, parameters);
  return parameters;
}
