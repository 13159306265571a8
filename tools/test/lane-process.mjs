// Runs lanes one after the other, each by a mocha of its own, as tools/test/lane-runner.mjs sends them: to load mocha, what the
// tests import and what that imports takes two seconds, once.
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { root } from '../prepare.mjs';
import { lingerMs } from './mocha-run.mjs';

// mocha would have `require` try each file first, which knows nothing of the hooks of imports.
Object.defineProperty(process.features, 'require_module', { value: false });
const { default: Mocha } = await import('mocha');
const require = createRequire(import.meta.url);
const { loadOptions } = require('mocha/lib/cli/options.cjs');
const { handleRequires } = require('mocha/lib/cli/run-helpers.cjs');
const reporter = join(root, 'tools/test/reporter.cjs');

/** From here on another process runs the next lane: collecting its garbage would take longer than the other's start. */
const mostBytes = 200 * 1024 * 1024;
setFlagsFromString('--expose-gc');
const collect = runInNewContext('gc');

function bytesInUse(before = () => {}) {
  before();
  const { heapUsed, external } = process.memoryUsage();
  return heapUsed + external;
}

let required = null;

/**
 * What `npm test` has just built of a source: tsx would compile each file again, in each of its threads too, and have every
 * function given its name by a call.
 */
const builtOf = (file) =>
  join(root, file.endsWith('.ts') ? join('dist', file.replace(/\.ts$/, '.js')) : file);

async function run({ words, files, results, lane }) {
  const options = loadOptions(words);
  required ??= handleRequires(options.require.map(builtOf));
  const mocha = new Mocha({ ...options, ...(await required), reporter, reporterOption: { results, lane } });
  mocha.files = files.map(builtOf);
  await mocha.loadFilesAsync();
  await new Promise((done) => mocha.run(done));
  mocha.dispose();
}

/** What was open after each lane: how many of each kind. */
const openAfter = [];

function countOpen() {
  const counts = {};
  for (const kind of process.getActiveResourcesInfo()) counts[kind] = (counts[kind] ?? 0) + 1;
  return counts;
}

/** Each kind that is open, and the lane since which there have been no fewer. */
function leftOpen() {
  return Object.entries(countOpen()).map(([kind, count]) => {
    const fewer = openAfter.findLastIndex(({ counts }) => (counts[kind] ?? 0) < count);
    return `${count} × ${kind} since ${openAfter[fewer + 1]?.lane ?? 'the end'}`;
  });
}

// What keeps this process alive once there is nothing more to run, for the message about it: half of the time that it has.
process.once('disconnect', () => {
  const halfMs = (lingerMs / 2) * Number(process.env.TEST_TIME_SCALE);
  setTimeout(() => console.error(leftOpen().join(', ')), halfMs).unref();
});

process.on('message', async ({ timeScale, end, ...lane }) => {
  if (timeScale !== undefined) {
    // Read by test/support/time-limits.ts each time.
    process.env.TEST_TIME_SCALE = String(timeScale);
    return;
  }
  const error = await run(lane).then(
    () => null,
    (thrown) => thrown,
  );
  if (error !== null) console.error(error);
  openAfter.push({ lane: lane.lane, counts: countOpen() });
  // Where this lane's output ends: a message may be there before what was printed.
  for (const stream of [process.stdout, process.stderr]) stream.write(end);
  process.send({
    isLoaded: error === null,
    isLarge: bytesInUse() > mostBytes && bytesInUse(collect) > mostBytes,
  });
});
