// `npm test`: installs and builds where needed, runs every test, closes with the counts. Arguments go to mocha; where
// they name files, those alone are run.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { availableParallelism, tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout } from 'node:timers/promises';
import { prepare, root } from './prepare.mjs';

/** A run that has ended and whose process lives on has left something open. */
const lingerMs = 20_000;

const mocha = join(root, 'node_modules', 'mocha', 'bin', 'mocha.js');
const reporter = join(root, '.ci', 'reporter.cjs');

let closing = '0 passed, 1 failed';
// Also where the build fails and nothing was run: the last line is always the counts.
process.on('exit', () => console.log(closing));

prepare();
const given = process.argv.slice(2);
const folder = mkdtempSync(join(tmpdir(), 'headgate-test-'));
const running = new Set();
let isStopped = false;
for (const signal of ['SIGINT', 'SIGTERM']) {
  process.on(signal, () => {
    isStopped = true;
    for (const child of running) kill(child, signal);
  });
}

const namesFiles = given.some((word) => word === '--spec' || word.endsWith('.test.ts'));
const ended = namesFiles ? [await run({ name: null, files: [] })] : await runLanes();
rmSync(folder, { recursive: true });

const sum = (count) => ended.reduce((total, lane) => total + lane[count], 0);
for (const { list } of ended) if (!namesFiles) process.stdout.write(list);
const problems = ended.flatMap(({ problem }) => problem ?? []);
if (sum('passes') === 0 && problems.length === 0 && sum('failures') === 0) problems.push('No test ran.');
for (const problem of problems) console.error(problem);
const failed = sum('failures') + problems.length;
const skipped = sum('pending') > 0 ? `, ${sum('pending')} skipped` : '';
closing = `${sum('passes')} passed, ${failed} failed${skipped}`;
process.exitCode = failed > 0 ? 1 : 0;

/**
 * Everything, in several processes. Tests wait for processes to start and for time-outs to pass: a lane more than there are
 * processors, up to three, keeps those busy, and many short ones keep them so to the end. What measures milliseconds
 * comes last, alone.
 */
async function runLanes() {
  const files = ['unit', 'golden', 'fuzz', 'contract', 'e2e', 'fault'].flatMap((kind) =>
    readdirSync(join(root, 'test', kind), { recursive: true })
      .filter((file) => file.endsWith('.test.ts'))
      .map((file) => `test/${kind}/${file}`),
  );
  const left = new Set(files);
  /** A lane of the files that match, and that no lane before it took. */
  const take = (name, matches) => {
    const taken = [...left].filter(matches).sort();
    for (const file of taken) left.delete(file);
    return { name, files: taken };
  };
  const named = (pattern) => (file) => pattern.test(file);
  const contains = (text) => (file) => readFileSync(join(root, file), 'utf8').includes(text);
  const alone = [
    take(
      'those that measure time',
      named(/^test\/(fault\/provider-faults|e2e\/(large-bodies|cli-help-cost))\b/),
    ),
  ];
  // In one process, since it is there that they share a gateway.
  const shared = take('requests', contains('shareGateway('));
  // The longest first.
  const beside = [
    take('faults of targets', named(/^test\/fault\/(redis|routing|upstream)/)),
    take('large ones', named(/^test\/(contract\/store-size|e2e\/large-store)/)),
    take('commands that are documented', named(/^test\/e2e\/(docs|selftest|start)/)),
    take('deaths', named(/^test\/fault\/(admin|drain|journal|kill|plugin|stopped)/)),
    take('faults at doors', named(/^test\/fault\/door/)),
    take('access', named(/^test\/e2e\/(access|admin-(acts|canaries)|audit)/)),
    shared,
    take('caches', named(/^test\/(contract|e2e)\/(cache|vectors)/)),
    take('faults', named(/^test\/fault\//)),
    take('commands', named(/^test\/e2e\/(cli|data-lock|store-commands)/)),
    take('administration', named(/^test\/e2e\/admin/)),
    take('gateways', named(/^test\/e2e\//)),
    take('contracts', named(/^test\/contract\//)),
    take('units', () => true),
  ];
  const ended = [];
  const drain = async (lanes, slot) => {
    while (lanes.length > 0 && !isStopped) ended.push(await run(lanes.shift(), slot));
  };
  const width = Math.min(3, availableParallelism() + 1);
  await Promise.all(Array.from({ length: width }, (_, slot) => drain(beside, slot)));
  await drain(alone, 0);
  return ended;
}

function kill({ pid }, signal) {
  try {
    process.kill(-pid, signal);
  } catch (error) {
    if (error.code !== 'ESRCH') throw error;
  }
}

/**
 * Runs mocha on these files; a lane with a name holds its output back until it is over, and lists no failures. `slot`: which
 * of those that run at the same time it is.
 */
async function run({ name, files }, slot = 0) {
  const counts = join(folder, `${name}.json`);
  const isLane = name !== null;
  const colours = isLane && process.stdout.isTTY ? ['--color'] : [];
  const child = spawn(process.execPath, [mocha, '--reporter', reporter, ...colours, ...given, ...files], {
    cwd: root,
    // A group of its own: mocha runs the tests in a process below the one that is started here.
    detached: true,
    stdio: isLane ? ['ignore', 'pipe', 'pipe'] : 'inherit',
    env: { ...process.env, TEST_COUNTS: counts, TEST_SLOT: String(slot), ...(isLane && { TEST_LANE: name }) },
  });
  running.add(child);
  const output = [];
  for (const stream of [child.stdout, child.stderr]) stream?.on('data', (bytes) => output.push(bytes));

  let lingering = false;
  let endedAt = 0;
  const watch = setInterval(() => {
    if (!existsSync(counts)) return;
    endedAt ||= Date.now();
    if (Date.now() - endedAt < lingerMs) return;
    lingering = true;
    kill(child, 'SIGKILL');
  }, 500);

  const exit = once(child, 'exit');
  const closed = once(child, 'close');
  const [code, signal] = await exit;
  clearInterval(watch);
  running.delete(child);
  // What a test has left running may hold the output open for ever.
  await Promise.race([closed, setTimeout(2000, null, { ref: false })]);
  for (const stream of [child.stdout, child.stderr]) stream?.destroy();
  const nothing = { passes: 0, failures: 0, pending: 0, seconds: 0, list: '' };
  const seen = existsSync(counts) ? JSON.parse(readFileSync(counts, 'utf8')) : nothing;
  if (isLane) {
    process.stdout.write(Buffer.concat(output));
    const { passes, failures, seconds } = seen;
    console.log(`\n  ${name}: ${passes} passing, ${failures} failing (${seconds.toFixed(0)} s)\n`);
  }
  const of = isLane ? ` (${name})` : '';
  let problem = null;
  if (lingering) problem = `A test left a socket, timer or process open: mocha did not exit by itself${of}.`;
  else if (seen.failures === 0 && code !== 0)
    problem = `mocha ended with ${signal ?? code}, though no test failed${of}.`;
  return { ...seen, problem };
}
