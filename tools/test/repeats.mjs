// Failures that a busy machine may have caused are run once more, alone. What fails again has failed.
import { join } from 'node:path';
import { runMocha } from './mocha-run.mjs';

/** More than this is no busy machine: what is left of them is not repeated, and has failed. */
const mostRepeats = 25;
const mostFiles = 6;
/**
 * Repeats failures in `ended` and corrects these results: passes, failures and `failed`. Tests that ran out of time are
 * repeated one by one; where a hook did, the tests of its suite, since mocha has left them out. Of a file that failed in
 * another way the whole is repeated, as it is where a test fails alone: its tests may build on each other. Files share processes: what another one holds in
 * memory, or has patched, is not there in the repeat.
 */
export async function repeatFailures(ended, { folder, timeScale, say }) {
  let runs = 0;
  const repeat = (words, name) =>
    runMocha({
      words,
      results: join(folder, `repeat-${runs++}.json`),
      lane: `repeat of ${name}`,
      slot: 0,
      timeScale,
    });
  const lines = [];
  /** Was it well this time? */
  const correct = (result, failures, again, what) => {
    const isWell = again.failures === 0 && again.problem === null && again.passes > 0;
    lines.push(`  ${isWell ? 'passed' : 'FAILED again'}: ${what}`);
    if (!isWell) return false;
    const passedBefore = new Set(result.passed);
    const passedNow = again.passed.filter((title) => !passedBefore.has(title));
    result.passed.push(...passedNow);
    result.passes += passedNow.length;
    result.failures -= failures.length;
    result.failed = result.failed.filter((failure) => !failures.includes(failure));
    return true;
  };

  let files = 0;
  for (const result of ended) {
    for (const file of new Set(result.failed.map(({ file }) => file))) {
      let failures = result.failed.filter((failure) => failure.file === file);
      let why = 'which had failed beside others';
      if (failures.every(({ isTimeLimit }) => isTimeLimit)) {
        why = 'the whole of it';
        const left = [];
        for (const failure of failures) {
          const isOver = runs >= mostRepeats;
          const again = isOver ? null : await repeat(['--grep', pattern(failure), file], failure.title);
          if (isOver || !correct(result, [failure], again, `${failure.title} (${file})`)) left.push(failure);
        }
        failures = left;
      }
      if (failures.length > 0 && runs < mostRepeats && files++ < mostFiles)
        correct(result, failures, await repeat([file], file), `${file}, ${why}`);
    }
  }
  say('');
  say('Repeated alone:');
  for (const line of lines) say(line);
}

/** Of a test its whole title, of a hook that of the suite whose tests it precedes or follows. */
function pattern({ title, suite, isHook }) {
  const escaped = (isHook ? suite : title).replace(/[.*+?^${}()|[\]\\]/g, '\\$&');
  return isHook ? `^${escaped}` : `^${escaped}$`;
}
