import { workerData } from 'node:worker_threads';
import type { CheckJob, JobResult } from '../../plugins/guardrails/pool/job.js';

const kept: unknown[] = [];

/** A thread whose checks may run for ever, use all memory, or end it; others pass. */
export default function runUnruly({ texts, keys, place }: CheckJob): JobResult {
  const results = keys.split('\n').map((id, i) => {
    Atomics.store(workerData as Int32Array, place, i + 1);
    if (id === 'loop') for (;;) kept.length = 0;
    if (id === 'heap') for (;;) kept.push(new Array(1000).fill(Math.random()));
    if (id === 'exit') process.exit(1);
    return { result: { verdict: true, data: texts[0]?.length ?? 0 }, ms: 0 };
  });
  return { results };
}
