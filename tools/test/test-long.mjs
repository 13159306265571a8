// `npm run test:long`: the long forms of the tests and of the benchmark, one after the other, and their results in
// docs/tests.md. `--short`: the same in a few minutes, to see that each works; `--only WORD`: those whose name has it.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { availableParallelism, tmpdir } from 'node:os';
import { join } from 'node:path';
import { prepare, root } from '../prepare.mjs';
import { measureTimeScale } from './calibration.mjs';
import { runMocha, signalAll } from './mocha-run.mjs';

const page = join(root, 'docs', 'tests.md');
const tableBegins = '<!-- Written by npm run test:long: do not edit. -->';
const tableEnds = '<!-- End of what npm run test:long has written. -->';

/** `minutes`: about what the whole takes on two quiet cores. `env`: what makes it long, and what makes it short. */
const parts = [
  {
    name: '50 kills of a data worker or of the control process under load',
    files: ['test/fault/kill.test.ts'],
    env: { whole: { KILL_ROUNDS: '50' }, short: {} },
    minutes: 3,
  },
  {
    name: '50 kills of any process while logs are ingested, deleted, exported and counted',
    files: ['test/fault/logs-kill.test.ts'],
    env: { whole: { LOG_KILLS: '50' }, short: {} },
    minutes: 5,
  },
  {
    name: '50 kills during changes by the administration',
    files: ['test/fault/kill-changes.test.ts'],
    env: { whole: { KILL_ROUNDS: '50' }, short: {} },
    minutes: 3,
  },
  {
    name: 'nodes that share a ledger in PostgreSQL, killed 20 times, half of them while it is unavailable',
    files: ['test/fault/ledger-postgres.test.ts'],
    env: { whole: { WHOLE_LOAD: 'true' }, short: {} },
    minutes: 2,
  },
  {
    name: 'whole gateways on one PostgreSQL, killed 20 times under load, half of them while it is unavailable',
    files: ['test/fault/nodes-killed.test.ts'],
    env: { whole: { WHOLE_LOAD: 'true' }, short: {} },
    minutes: 3,
  },
  {
    name: 'a config changed 100 times under 500 requests a second for 60 s',
    files: ['test/e2e/config-versions-in-use.test.ts'],
    env: { whole: { WHOLE_LOAD: 'true' }, short: {} },
    minutes: 2,
  },
  {
    name: 'a plugin replaced 100 times under 500 requests a second',
    files: ['test/fault/plugins-live.test.ts'],
    env: { whole: { PLUGIN_RELOADS: '100', PLUGIN_RPS: '500' }, short: {} },
    minutes: 2,
  },
  {
    name: 'a gateway on 100,000 keys and 1000 configs',
    files: ['test/e2e/large-store.test.ts', 'test/contract/store-size.test.ts'],
    env: { whole: { WHOLE_LOAD: 'true' }, short: {} },
    minutes: 1,
  },
  {
    name: '2,000 documents applied at once, and keys that are rotated for 400 days, on both databases',
    files: ['test/contract/documents-many.test.ts', 'test/contract/key-rotation.test.ts'],
    env: { whole: { WHOLE_LOAD: 'true' }, short: {} },
    minutes: 2,
  },
  {
    name: 'targets that fail for 60 s under load',
    files: ['test/fault/routing-failures.test.ts', 'test/fault/routing-soak.test.ts'],
    env: { whole: { ROUTING_SECONDS: '60' }, short: { ROUTING_SECONDS: '2' } },
    minutes: 8,
  },
  {
    name: 'three nodes on one PostgreSQL: 100 revoked keys, 10 rolling restarts, two versions, schedules for 60 s',
    files: ['test/fault/three-nodes.test.ts'],
    env: {
      whole: { WHOLE_LOAD: 'true' },
      short: { WHOLE_LOAD: 'true', NODE_ROUNDS: '1', SCHEDULE_SECONDS: '20' },
    },
    minutes: 8,
  },
  {
    name: 'limits: 200 clients and every unit against a model; rate limits and budgets of three nodes on one Redis that is killed, stalled and flushed',
    files: ['test/unit/limits-model.test.ts', 'test/fault/limits-three-nodes.test.ts'],
    env: { whole: { WHOLE_LOAD: 'true' }, short: { WHOLE_LOAD: 'true', LIMIT_SECONDS: '5' } },
    minutes: 4,
  },
  {
    name: '2,000 tenants with limits each: memory of a data worker, and one that sends ten times its limit',
    files: ['test/fault/limits-tenants.test.ts'],
    env: { whole: { WHOLE_LOAD: 'true' }, short: { WHOLE_LOAD: 'true' } },
    minutes: 2,
  },
  {
    name: 'a budget of three nodes on one Redis: 1000 requests at a time, a fifth left by their clients, one node killed',
    files: ['test/fault/budgets-spent.test.ts'],
    env: { whole: { WHOLE_LOAD: 'true' }, short: {} },
    minutes: 1,
  },
  {
    name: 'a store killed before each statement of its migrations and key rotation',
    files: ['test/fault/store-migrations.test.ts', 'test/fault/store-rotation.test.ts'],
    env: { whole: { STORE_KILLS: 'all' }, short: {} },
    minutes: 10,
  },
  {
    name: 'keys in time: killed before each statement, and two nodes killed for 400 days',
    files: ['test/fault/key-rotation-kill.test.ts'],
    env: { whole: { WHOLE_LOAD: 'true' }, short: {} },
    minutes: 12,
  },
  {
    name: 'two nodes without PostgreSQL: five states of 5 s each under 200 requests a second',
    files: ['test/fault/nodes-store-away.test.ts'],
    env: { whole: { WHOLE_LOAD: 'true' }, short: {} },
    minutes: 2,
  },
  {
    name: 'analytics: 500 random questions over 20,000 rows on both databases, and 50 kills of its process',
    files: ['test/contract/analytics.test.ts', 'test/fault/analytics-kill.test.ts'],
    env: {
      whole: { ANALYTICS_ROWS: '20000', ANALYTICS_QUESTIONS: '500', ANALYTICS_KILLS: '50' },
      short: {},
    },
    minutes: 8,
  },
  {
    name: 'anomalies: six weeks of four rhythms, looked at every minute',
    files: ['test/unit/anomaly-detector.test.ts'],
    env: { whole: { ANOMALY_SEEDS: '3', ANOMALY_STEP: '1' }, short: {} },
    minutes: 2,
  },
  {
    name: 'hostile connections, upstream answers, texts and journals, in every combination',
    files: [
      'test/fault/api-wire.test.ts',
      'test/fault/request-lines.test.ts',
      'test/fault/upstream.test.ts',
      'test/fault/journal-replay.test.ts',
      'test/e2e/admin-hostile-text.test.ts',
      'test/contract/store-audit.test.ts',
      'test/contract/upstream-tenants.test.ts',
    ],
    env: { whole: { WHOLE_LOAD: 'true' }, short: {} },
    minutes: 4,
  },
  {
    name: 'properties of formats and configs, by three times as many examples',
    files: [
      'test/unit/anthropic-client-format.test.ts',
      'test/unit/providers-anthropic.test.ts',
      'test/unit/providers-gemini.test.ts',
      'test/unit/schema-check.test.ts',
      'test/unit/router.test.ts',
      'test/unit/routing-validation.test.ts',
    ],
    env: { whole: { WHOLE_LOAD: 'true' }, short: {} },
    minutes: 1,
  },
  {
    name: 'bodies of 5 MB of every shape, from every format to every provider',
    files: ['test/e2e/large-bodies.test.ts'],
    env: { whole: { WHOLE_LOAD: 'true' }, short: {} },
    minutes: 2,
  },
  {
    name: 'restarts beside a busy program, outputs that take no lines, and memory after 20,000 requests',
    files: [
      'test/fault/restart-time.test.ts',
      'test/fault/log-output.test.ts',
      'test/fault/worker-memory.test.ts',
      'test/e2e/memory.test.ts',
    ],
    env: { whole: { WHOLE_LOAD: 'true' }, short: {} },
    minutes: 2,
  },
  {
    name: 'memory under 10 minutes of load (soak)',
    soakMinutes: { whole: 10, short: 0.5 },
    minutes: 11,
  },
];

prepare();
const isShort = process.argv.includes('--short');
const form = isShort ? 'short' : 'whole';
const at = process.argv.indexOf('--only');
const only = at < 0 ? '' : (process.argv[at + 1] ?? '');
const chosen = parts.filter(({ name }) => name.includes(only));
let isStopped = false;
let bench = null;
for (const signal of ['SIGINT', 'SIGTERM']) {
  process.on(signal, () => {
    isStopped = true;
    signalAll(signal);
    bench?.kill(signal);
  });
}

const folder = mkdtempSync(join(tmpdir(), 'headgate-long-'));
const minutes = chosen.reduce((sum, part) => sum + part.minutes, 0);
console.log(`${chosen.length} parts${isShort ? ', shortened' : `, about ${minutes} minutes`}.`);
const total = { passed: 0, failed: chosen.length === 0 ? 1 : 0, skipped: 0 };
for (const [i, part] of chosen.entries()) {
  if (isStopped) break;
  const left = chosen.slice(i).reduce((sum, { minutes }) => sum + minutes, 0);
  console.log(`\n${i + 1}/${chosen.length} ${part.name}${isShort ? '' : ` (about ${left} minutes left)`}`);
  const result = part.soakMinutes === undefined ? await runTests(part) : await runSoak(part);
  // What was stopped says nothing of the gateway.
  if (isStopped) break;
  total.passed += result.passed;
  total.failed += result.failed;
  total.skipped += result.skipped;
  console.log(`  ${result.figure}`);
  record(part, result);
}
rmSync(folder, { recursive: true });
if (isStopped) total.failed += 1;
console.log(`\n${total.passed} passed, ${total.failed} failed, ${total.skipped} skipped`);
process.exitCode = total.failed > 0 ? 1 : 0;

async function runTests({ name, files, env }) {
  const timeScale = await measureTimeScale();
  Object.assign(process.env, env[form]);
  const result = await runMocha({
    words: files,
    results: join(folder, `${parts.findIndex((part) => part.name === name)}.json`),
    lane: name,
    slot: 0,
    timeScale,
  });
  for (const variable of Object.keys(env[form])) delete process.env[variable];
  for (const { list } of result.failed) process.stdout.write(list);
  if (result.problem !== null) console.error(result.problem);
  const failed = result.failures + (result.problem === null ? 0 : 1);
  // Tests print their measurements on lines of their own, further in than the names of tests.
  const printed = result.output
    .split('\n')
    .filter(
      (line) => /^ {6,}\d*\D*\d.* (?:ms|MB|rows|sent|s\b)/.test(line) && !/✔|✓|^\s+(?:\d+\)|-) /.test(line),
    )
    .map((line) => line.trim());
  const busy = timeScale > 1 ? ` on a busy machine (limits × ${timeScale})` : '';
  const counts = `${result.passes} passed, ${failed} failed in ${result.seconds.toFixed(0)} s${busy}`;
  return {
    passed: result.passes,
    failed,
    skipped: result.pending,
    figure: [counts, ...printed].join('; '),
  };
}

async function runSoak({ soakMinutes }) {
  bench = spawn(process.execPath, [join(root, 'dist/bench/run.js'), '--soak', String(soakMinutes[form])], {
    cwd: root,
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  let output = '';
  bench.stdout.on('data', (text) => {
    output += text;
  });
  const [code] = await once(bench, 'close');
  bench = null;
  const figure = /^memory over .*/m.exec(output)?.[0] ?? `the benchmark ended with ${code} and no figure`;
  const isWell = code === 0 && figure.startsWith('memory');
  return { passed: isWell ? 1 : 0, failed: isWell ? 0 : 1, skipped: 0, figure };
}

/** A shortened run does not replace the row of one in full. */
function record({ name }, { figure }) {
  const text = readFileSync(page, 'utf8');
  const [from, to] = [text.indexOf(tableBegins) + tableBegins.length, text.indexOf(tableEnds)];
  const rows = new Map(
    [...text.slice(from, to).matchAll(/^\| (.*?) \| (in full|shortened|not run) .*\|$/gm)].map(
      ([row, name, how]) => [name, { row, how }],
    ),
  );
  if (isShort && rows.get(name)?.how === 'in full') return;
  const how = isShort ? 'shortened' : 'in full';
  const date = new Date().toISOString().slice(0, 10);
  const cells = [name, how, figure.replaceAll('|', '/'), `${date}, ${availableParallelism()} cores`];
  rows.set(name, { row: `| ${cells.join(' | ')} |` });
  const table = [
    '| what | run | figure | date |',
    '| --- | --- | --- | --- |',
    ...parts.map(({ name }) => rows.get(name)?.row ?? `| ${name} | not run | | |`),
  ];
  writeFileSync(page, `${text.slice(0, from)}\n\n${table.join('\n')}\n\n${text.slice(to)}`);
}
