// `npm test`: installs and builds where needed, runs every test, closes with the counts. Arguments go to mocha.
import { spawn } from 'node:child_process';
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { prepare, root } from './prepare.mjs';

/** A run that has ended and whose process lives on has left something open. */
const lingerMs = 20_000;

let closing = '0 passed, 1 failed';
// Also where the build fails and nothing was run: the last line is always the counts.
process.on('exit', () => console.log(closing));

prepare();
const folder = mkdtempSync(join(tmpdir(), 'headgate-test-'));
const counts = join(folder, 'counts.json');
const mocha = join(root, 'node_modules', 'mocha', 'bin', 'mocha.js');
const reporter = join(root, '.ci', 'reporter.cjs');
const given = process.argv.slice(2);
// Not in .mocharc.json: mocha would add it to whatever files a developer names.
const everything = 'test/{unit,contract,golden,e2e,fault,fuzz}/**/*.test.ts';
const specs = given.some((word) => word === '--spec' || word.endsWith('.test.ts')) ? [] : [everything];
const child = spawn(process.execPath, [mocha, '--reporter', reporter, ...given, ...specs], {
  cwd: root,
  stdio: 'inherit',
  env: { ...process.env, TEST_COUNTS: counts },
});

let lingering = false;
let endedAt = 0;
const watch = setInterval(() => {
  if (!existsSync(counts)) return;
  endedAt ||= Date.now();
  if (Date.now() - endedAt < lingerMs) return;
  lingering = true;
  child.kill('SIGKILL');
}, 500);
for (const signal of ['SIGINT', 'SIGTERM']) process.on(signal, () => child.kill(signal));

child.on('exit', (code, signal) => {
  clearInterval(watch);
  const seen = existsSync(counts)
    ? JSON.parse(readFileSync(counts, 'utf8'))
    : { passes: 0, failures: 0, pending: 0 };
  rmSync(folder, { recursive: true });
  let broken = 0;
  if (lingering) {
    console.error('A test left a socket, timer or process open: mocha did not exit by itself.');
    broken = 1;
  } else if (seen.failures === 0 && (code !== 0 || seen.passes === 0)) {
    console.error(
      seen.passes === 0 ? 'No test ran.' : `mocha ended with ${signal ?? code}, though no test failed.`,
    );
    broken = 1;
  }
  const failed = seen.failures + broken;
  const skipped = seen.pending > 0 ? `, ${seen.pending} skipped` : '';
  closing = `${seen.passes} passed, ${failed} failed${skipped}`;
  process.exitCode = failed > 0 ? 1 : 0;
});
