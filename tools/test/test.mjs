// `npm test`: installs and builds where needed, runs the tests, closes with the counts. `--all`: also the slow ones, which kill
// processes or start several gateways; `--quick`: the tests that need no process and a few that do; `--verbose`: every
// test's name. Other arguments go to mocha; where they name files, those alone are run. docs/tests.md explains it.
import { mkdtempSync, rmSync } from 'node:fs';
import { availableParallelism, tmpdir } from 'node:os';
import { join } from 'node:path';
import { prepare } from '../prepare.mjs';
import { measureTimeScale, watchTimeScale } from './calibration.mjs';
import { LaneRunner } from './lane-runner.mjs';
import { chosenLanes } from './lanes.mjs';
import { runMocha, signalAll } from './mocha-run.mjs';
import { keepDurations, keepProcessor, Progress, readDurations, sumOf } from './progress.mjs';
import { repeatFailures } from './repeats.mjs';
import { nameTemplate } from './template.mjs';

let closing = '0 passed, 1 failed, 0 skipped';
// Also where the build fails and nothing was run: the last line is always the counts.
process.on('exit', () => console.log(closing));

prepare();
const own = new Set(['--all', '--quick', '--verbose']);
const given = process.argv.slice(2).filter((word) => !own.has(word));
const [isAll, isQuick, isVerbose] = [...own].map((word) => process.argv.includes(word));
// Read by test/support/long-forms.ts.
if (isAll) process.env.TEST_ALL = 'true';
const namesFiles = given.some((word) => word === '--spec' || word.endsWith('.test.ts'));
const folder = mkdtempSync(join(tmpdir(), 'headgate-test-'));
let isStopped = false;
for (const signal of ['SIGINT', 'SIGTERM']) {
  process.on(signal, () => {
    isStopped = true;
    signalAll(signal);
  });
}

const dropTemplate = nameTemplate();
let timeScale = 1;
await calibrate();
const problems = [];
const ended = namesFiles ? await runFiles() : await runLanes();
rmSync(folder, { recursive: true });
await dropTemplate();

const sum = (count) => ended.reduce((total, lane) => total + lane[count], 0);
for (const lane of ended) if (lane.problem !== null) problems.push(lane.problem);
if (isStopped) problems.push('Stopped before all tests had run.');
else if (sum('passes') === 0 && problems.length === 0 && sum('failures') === 0) problems.push('No test ran.');
for (const problem of problems) console.error(problem);
const failed = sum('failures') + problems.length;
closing = `${sum('passes')} passed, ${failed} failed, ${sum('pending')} skipped`;
process.exitCode = failed > 0 ? 1 : 0;

async function calibrate(print = console.log) {
  const before = timeScale;
  timeScale = await measureTimeScale();
  if (timeScale !== before)
    print(`Time limits × ${timeScale}${timeScale > 1 ? ': the machine is busy' : ''}.`);
}

async function runFiles() {
  const results = join(folder, 'results.json');
  return [await runMocha({ words: given, results, lane: null, slot: 0, timeScale })];
}

async function runLanes() {
  const durations = readDurations();
  const { lanes, leftOut } = chosenLanes(isAll ? 'all' : isQuick ? 'quick' : 'usual', durations);
  // A lane keeps about half a core busy: it waits for starts, databases and time that must pass. Those of units wait less.
  const width = isQuick ? Math.min(3, availableParallelism() + 1) : Math.min(4, availableParallelism() + 2);
  const progress = new Progress(lanes, width, durations);
  const say = (text) => progress.line(text);
  const ended = [];
  const words = [...given, process.stdout.isTTY ? '--color' : '--no-color'];
  const runners = Array.from({ length: width }, (_, slot) => new LaneRunner({ words, slot, timeScale }));
  let most = timeScale;
  const endWatch = watchTimeScale(timeScale, (now) => {
    for (const runner of runners) runner.setTimeScale(now);
    if (now > most) say(`Time limits × ${now}: the machine has become busy.`);
    most = Math.max(most, now);
  });
  const drain = async (runner, slot) => {
    for (let lane = waiting.shift(); lane !== undefined && !isStopped; lane = waiting.shift()) {
      const results = join(folder, `${slot}-${ended.length}.json`);
      progress.began(lane, `${results}.live`);
      const result = await runner.run(lane, results);
      ended.push({ ...result, lane });
      if (isVerbose || result.problem !== null) say(result.output);
      progress.ended(lane, result);
    }
    problems.push(...(await runner.close()));
  };
  const waiting = [...lanes];
  await Promise.all(runners.map(drain));
  endWatch();

  const failures = ended.flatMap(({ failed }) => failed);
  if (failures.length > 0 && !isStopped) {
    say('\nFailures beside other tests:');
    for (const { list } of failures) say(list);
    await calibrate(say);
    await repeatFailures(ended, { folder, timeScale, say });
  }
  progress.end();
  keepDurations(durations, Object.assign({}, ...ended.map(({ files }) => files)));
  const failed = ended.flatMap((lane) => lane.failed);
  // Each was printed as the first of a list of its own.
  for (const [i, { list }] of failed.entries())
    process.stdout.write(list.replace(/^( *)1\)/m, `$1${i + 1})`));
  const processor = Object.assign({}, ...ended.map((lane) => lane.processor));
  keepProcessor(processor);
  console.log(
    `\n${lanes.length} lanes in ${progress.seconds.toFixed(0)} s, ${sumOf(processor).toFixed(0)} s of the processor.`,
  );
  if (leftOut > 0) console.log(`${leftOut} files were left out: npm test -- --all runs every test.`);
  return ended;
}
