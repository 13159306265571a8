import { fileURLToPath } from 'node:url';
import pg from 'pg';
import { Secret } from '../src/common/access/secret.js';
import { dayMs } from '../src/control-plane/analytics/buckets.js';
import { PostgresAnalytics } from '../src/control-plane/analytics/postgres.js';
import type { AnalyticsQuestion } from '../src/control-plane/analytics/question.js';
import { PostgresCopies } from '../src/control-plane/analytics/rollups/postgres-copies.js';
import { PostgresCounts } from '../src/control-plane/analytics/rollups/postgres-counts.js';
import { PostgresRollups } from '../src/control-plane/analytics/rollups/postgres-rollups.js';
import { openPostgresLedger } from '../src/control-plane/ledger/postgres/ledger.js';
import { measureBeside } from './analytics-beside.js';
import { allQuestions, askOn, end, measure } from './analytics-questions.js';
import { measurePages } from './log-questions.js';

/**
 * How long graphs, groups and filters over a ledger in PostgreSQL take, in milliseconds. `node dist/bench/analytics-postgres.js [rows] [days] [database]`:
 * the requests of `bench/analytics.ts`, in a database of its own on TEST_DATABASE_URL; one that is named is kept, and filled once.
 */
const rows = Number(process.argv[2] ?? 10_000_000);
const days = Number(process.argv[3] ?? 90);
const [, , , , kept] = process.argv;
const server = process.env['TEST_DATABASE_URL'] ?? 'postgres://postgres@127.0.0.1:5432/test';
const name = kept ?? 'headgate_bench_analytics';
const url = new URL(server);
url.pathname = `/${name}`;

const random = (salt: number): string => `(hashint8extended(i, ${salt}) & 9223372036854775807)`;
const pick = (given: string, count: number, salt: number): string =>
  `'${given}-' || ${random(salt)} % ${count}`;
const normal = `((${[20, 21, 22, 23].map((salt) => `${random(salt)} % 1000`).join(' + ')}) / 577.0::float8 - 3.46)`;

/** Each day's table is filled before it is indexed, and attached then. */
async function fill(client: pg.Client): Promise<void> {
  const [first, last] = [Math.floor(end / dayMs) - days, Math.floor(end / dayMs)];
  const perDay = rows / days;
  await client.query("SET maintenance_work_mem = '256MB'; SET synchronous_commit = off");
  for (let day = first; day <= last; day++) {
    const from = day * dayMs;
    // Half of the first day, and half of the last one.
    const [min, max] = [Math.max(from, end - days * dayMs), Math.min(from + dayMs, end)];
    const count = Math.round((perDay * (max - min)) / dayMs);
    const table = `exchanges_${new Date(from).toISOString().slice(0, 10).replaceAll('-', '')}`;
    const start = (day - first) * Math.ceil(perDay);
    await client.query(`CREATE TABLE ${table} (LIKE exchanges INCLUDING DEFAULTS)`);
    await client.query(`INSERT INTO ${table} (n, state, id, at, cost, input_tokens, output_tokens, cached_tokens, cache_write_tokens,
        reasoning_tokens, total_us, upstream_us, first_byte_us, org, workspace, "key", "user", provider, provider_slug, model,
        model_asked, endpoint, method, path, status, stream, attempt_count, retries, target, cache, config, prompt,
        usage_source, metadata, node_id, trace, rest)
      SELECT i, 0, lpad(to_hex(at >> 16), 8, '0') || '-' || lpad(to_hex(at & 65535), 4, '0') || '-7000-8000-' || lpad(to_hex(i), 12, '0'),
        at, ${random(12)} % 50000000000, ${random(13)} % 5000, ${random(14)} % 900, 0, 0, 0,
        exp(13.5 + 0.7 * ${normal})::bigint, 811200, exp(12.5 + 0.5 * ${normal})::bigint, 'org',
        CASE WHEN ${random(0)} % 10 < 7 THEN 'w-0' WHEN ${random(0)} % 10 < 9 THEN 'w-1' ELSE 'w-2' END,
        ${pick('key', 100, 1)}, ${pick('user', 5000, 2)}, ${pick('provider', 5, 3)}, ${pick('slug', 8, 4)}, ${pick('model', 20, 5)},
        'gpt-4o-mini', 'chat', 'POST', '/v1/chat/completions',
        CASE ${random(10)} % 50 WHEN 0 THEN 429 WHEN 1 THEN 500 ELSE 200 END, (${random(16)} % 2)::int, 1,
        CASE WHEN ${random(17)} % 20 = 0 THEN 1 ELSE 0 END, 'targets[0]',
        CASE ${random(11)} % 8 WHEN 0 THEN 'HIT' WHEN 1 THEN 'MISS' ELSE 'DISABLED' END,
        CASE WHEN ${random(6)} % 2 = 0 THEN ${pick('config', 10, 7)} END,
        CASE WHEN ${random(8)} % 5 = 0 THEN ${pick('prompt', 20, 9)} END, 'provider',
        ('{"team":"t' || ${random(19)} % 30 || '","_user":"user-' || ${random(2)} % 5000 || '"}')::json, 'bench', NULL,
        '{"attempts":[{"target":"targets[0]","provider":"openai","model":"gpt-4o-mini","started_us":123,"status":200,"duration_us":811200}]}'
      FROM (SELECT ${start} + i AS i, ${min} + (i * ${(max - min) / (count + 1)})::bigint AS at FROM generate_series(1::bigint, ${count}) AS i) AS made`);
    await client.query(
      `CREATE UNIQUE INDEX ON ${table} (id);
       ALTER TABLE exchanges ATTACH PARTITION ${table} FOR VALUES FROM (${from}) TO (${from + dayMs})`,
    );
  }
}

/** What the server's own maintenance does after a while. */
const maintain = (client: pg.Client) => client.query('ANALYZE');

async function print(client: pg.Client): Promise<void> {
  const found = await client.query<{ line: string }>(
    `SELECT relname || ': ' || pg_size_pretty(pg_table_size(oid)) || ', indexes ' || pg_size_pretty(pg_indexes_size(oid)) AS line
       FROM pg_class WHERE relkind = 'r' AND relname ~ '^(day|week)_'
     UNION ALL SELECT 'copied_requests: ' || pg_size_pretty(sum(pg_table_size(oid))) || ', indexes ' || pg_size_pretty(sum(pg_indexes_size(oid)))
       FROM pg_class WHERE relkind = 'r' AND relname ~ '^copied_requests_'
     UNION ALL SELECT 'the whole database: ' || pg_size_pretty(pg_database_size('${name}'))`,
  );
  for (const { line } of found.rows) console.log(`  ${line}`);
}

async function main(): Promise<void> {
  const ledger = await openPostgresLedger({ url: new Secret(url.href), node: 'bench' });
  await ledger.prepare();
  if (process.env['BENCH_ASKS']) {
    const asked = new PostgresAnalytics(ledger.statements);
    await askOn(days, (question) => asked.ask(question));
  }
  const client = new pg.Client({ connectionString: url.href });
  await client.connect();
  const { rows: some } = await client.query('SELECT 1 FROM exchanges LIMIT 1');
  if (some.length === 0) {
    const began = performance.now();
    await fill(client);
    await maintain(client);
    console.log(`${rows} rows made in ${((performance.now() - began) / 1000).toFixed(0)} s`);
  }
  const rollups = new PostgresRollups((work) => ledger.statements.apart(work));
  const began = performance.now();
  const made = await rollups.rollUp(end);
  const weeks = await rollups.rollUpWeeks();
  if (made + weeks > 0) {
    console.log(
      `${made} days and ${weeks} weeks rolled up in ${((performance.now() - began) / 1000).toFixed(0)} s`,
    );
    await maintain(client);
  }
  const copying = performance.now();
  const copies = new PostgresCopies((work) => ledger.statements.apart(work));
  const copied = await copies.copy(end, Number.POSITIVE_INFINITY);
  if (copied > 0)
    console.log(`${copied} days copied in ${((performance.now() - copying) / 1000).toFixed(0)} s`);
  const counting = performance.now();
  const counts = new PostgresCounts((work) => ledger.statements.apart(work));
  const counted = await counts.count(end, Number.POSITIVE_INFINITY);
  if (counted > 0)
    console.log(`${counted} days counted in ${((performance.now() - counting) / 1000).toFixed(0)} s`);
  await print(client);
  const analytics = new PostgresAnalytics(ledger.statements);
  const ask = (question: AnalyticsQuestion) => analytics.ask(question);
  for (const [what, list] of allQuestions(days)) await measure(what, list, ask, () => performance.now());
  ledger.reading.counter = (about) => analytics.count(about);
  await measurePages(ledger, days);
  console.log(`memory of this process ${Math.round(process.memoryUsage().rss / 1048576)} MB`);
  await client.end();
  await ledger.close();
}

const admin = new pg.Client({ connectionString: server });
await admin.connect();
const { rows: found } = await admin.query('SELECT 1 FROM pg_database WHERE datname = $1', [name]);
if (found.length === 0) await admin.query(`CREATE DATABASE ${name}`);
try {
  await main();
  await measureBeside(fileURLToPath(import.meta.url), [String(rows), String(days), name]);
} finally {
  if (kept === undefined) await admin.query(`DROP DATABASE ${name} WITH (FORCE)`);
  await admin.end();
}
