import { workerData } from 'node:worker_threads';
import { LRUCache } from 'lru-cache';
import { retainedBytes } from '../../../src/common/bytes/retained-bytes.js';
import { lowerThreadPriority } from '../../../src/common/threads/thread-priority.js';
import { checks } from '../checks/index.js';
import { runTextChain } from '../run/text-chain.js';
import { dataOf } from '../run/text-check.js';
import { type CheckJob, type JobCheck, type JobResult, unpacked } from './job.js';

lowerThreadPriority();

const progress = workerData as Int32Array;

/** Of a regular expression. */
const compiledBytes = 32 * 1024;

/** Checks with their parameters, and what they have compiled of these. */
const known = new LRUCache<string, JobCheck>({
  maxSize: 16 * 1024 * 1024,
  // A schema or an expression takes more once it is compiled.
  sizeCalculation: ({ id, parameters }, key) =>
    (id.startsWith('default.regex') ? compiledBytes : 1024) + key.length + 8 * retainedBytes(parameters),
});

/** Called by Piscina: runs the checks of a job, one after another. */
export default function runChecks({ phase, texts: given, keys, checks: sent, place }: CheckJob): JobResult {
  const wanted: JobCheck[] = [];
  for (const [i, key] of keys.split('\n').entries()) {
    const check = known.get(key) ?? sent?.[i];
    if (check === undefined) return { missing: true };
    if (sent !== null) known.set(key, check);
    wanted.push(check);
  }
  const links = wanted.map(({ id, parameters }) => ({ check: checks.get(id), parameters }));
  const begins = (index: number): void => {
    Atomics.store(progress, place, index + 1);
  };
  const results = runTextChain(phase, unpacked(given), links, begins).map(({ result, ms }) => ({
    result: { ...result, data: dataOf(result) },
    ms,
  }));
  return { results };
}
