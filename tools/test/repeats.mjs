// A test that failed because time ran out is run once more, alone. One that fails again has failed.
import { join } from 'node:path';
import { runMocha } from './mocha-run.mjs';

/** More than this is no busy machine: what is left of them is not repeated, and has failed. */
const mostRepeats = 25;

/**
 * Repeats the failures in `ended` whose cause is a time limit, and corrects these results: passes, failures and `failed`.
 * Where a hook ran out of time, the tests of its suite are repeated, since mocha has left them out.
 */
export async function repeatTimeLimits(ended, { folder, timeScale, say }) {
  const repeated = [];
  for (const result of ended) {
    for (const failure of result.failed.filter(({ isTimeLimit }) => isTimeLimit)) {
      if (repeated.length >= mostRepeats) break;
      const again = await runMocha({
        words: ['--grep', pattern(failure), failure.file],
        results: join(folder, `repeat-${repeated.length}.json`),
        lane: `repeat of ${failure.title}`,
        slot: 0,
        timeScale,
      });
      const isWell = again.failures === 0 && again.problem === null && again.passes > 0;
      repeated.push({ failure, isWell });
      if (!isWell) continue;
      const passedBefore = new Set(failure.passedBefore);
      result.passes += again.passed.filter((title) => !passedBefore.has(title)).length;
      result.failures -= 1;
      result.failed = result.failed.filter((other) => other !== failure);
    }
  }
  say('');
  say('Repeated alone, after time ran out:');
  for (const { failure, isWell } of repeated)
    say(`  ${isWell ? 'passed' : 'FAILED again'}: ${failure.title} (${failure.file})`);
}

/** Of a test its whole title, of a hook that of the suite whose tests it precedes or follows. */
function pattern({ title, suite, isHook }) {
  const escaped = (isHook ? suite : title).replace(/[.*+?^${}()|[\]\\]/g, '\\$&');
  return isHook ? `^${escaped}` : `^${escaped}$`;
}
