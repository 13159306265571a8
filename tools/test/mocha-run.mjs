// Starts mocha in a process of its own and reads what tools/test/reporter.cjs has written of it.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { setTimeout } from 'node:timers/promises';
import { root } from '../prepare.mjs';

/** A run that has ended and whose process lives on has left something open. */
export const lingerMs = 20_000;
/** What bin/mocha.js starts as a second process where there are options of Node. */
const mocha = createRequire(import.meta.url).resolve('mocha/lib/cli/cli.js');
const config = JSON.parse(readFileSync(join(root, '.mocharc.json'), 'utf8'));
const nodeOptions = config['node-option'].map((option) => `--${option}`);
const reporter = join(root, 'tools/test/reporter.cjs');
export const nothing = {
  ...{ passes: 0, failures: 0, pending: 0, seconds: 0 },
  ...{ files: {}, processor: {}, passed: [], failed: [] },
};

/** Processes of tests that have been started and have not ended. */
export const running = new Set();

/** Sends every mocha that runs, and what it has started, this signal. */
export function signalAll(signal) {
  for (const child of running) killGroup(child, signal);
}

/** Sends it, and what it has started, this signal. */
export function killGroup({ pid }, signal) {
  try {
    process.kill(-pid, signal);
  } catch (error) {
    if (error.code !== 'ESRCH') throw error;
  }
}

/**
 * @param {object} run
 * @param {string[]} run.words arguments of mocha: options and files
 * @param {string} run.results a file that is created, with what the reporter writes; `<results>.live` while it runs
 * @param {string | null} run.lane its name; its output is then kept back. null: its output is this process's
 * @param {number} run.slot which of those that run at the same time it is: each has ports of its own
 * @param {number} run.timeScale how many times longer its time limits are than on a quiet machine
 * @returns what the reporter wrote, `output`, and `problem`: a sentence where mocha itself failed, else null
 */
export async function runMocha({ words, results, lane, slot, timeScale }) {
  const isLane = lane !== null;
  const colours = isLane && process.stdout.isTTY ? ['--color'] : [];
  const child = spawn(
    process.execPath,
    [...nodeOptions, mocha, '--reporter', reporter, ...colours, ...words],
    {
      cwd: root,
      // A group of its own, with what the tests start.
      detached: true,
      stdio: isLane ? ['ignore', 'pipe', 'pipe'] : 'inherit',
      env: {
        ...process.env,
        TEST_RESULTS: results,
        TEST_SLOT: String(slot),
        TEST_TIME_SCALE: String(timeScale),
        ...(isLane && { TEST_LANE: lane }),
      },
    },
  );
  running.add(child);
  const output = [];
  for (const stream of [child.stdout, child.stderr]) stream?.on('data', (bytes) => output.push(bytes));

  let isLingering = false;
  let endedAt = 0;
  const watch = setInterval(() => {
    if (!existsSync(results)) return;
    endedAt ||= Date.now();
    if (Date.now() - endedAt < lingerMs * timeScale) return;
    isLingering = true;
    killGroup(child, 'SIGKILL');
  }, 500);

  const closed = once(child, 'close');
  const [code, signal] = await once(child, 'exit');
  clearInterval(watch);
  running.delete(child);
  // A process that a test has not ended may keep the output open for ever.
  await Promise.race([closed, setTimeout(2000, null, { ref: false })]);
  for (const stream of [child.stdout, child.stderr]) stream?.destroy();
  const seen = existsSync(results) ? JSON.parse(readFileSync(results, 'utf8')) : nothing;
  const of = isLane ? ` (${lane})` : '';
  let problem = null;
  if (isLingering)
    problem = `A test left a socket, timer or process open: mocha did not exit by itself${of}.`;
  else if (seen.failures === 0 && code !== 0)
    problem = `mocha ended with ${signal ?? code}, though no test failed${of}.`;
  return { ...seen, output: Buffer.concat(output).toString(), problem };
}
