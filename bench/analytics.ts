import { mkdirSync, mkdtempSync, rmSync, statSync } from 'node:fs';
import { setPriority } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { dayMs } from '../src/control-plane/analytics/buckets.js';
import { AnalyticsFile } from '../src/control-plane/analytics/duckdb/file.js';
import { measureBeside } from './analytics-beside.js';
import { allQuestions, askOn, end, measure } from './analytics-questions.js';

/**
 * How much time of one core graphs, groups and filters of a file of analytics take, in milliseconds. `node dist/bench/analytics.js [rows] [days] [folder]`: 10 million
 * requests in 90 days, seven of ten of them in one of three workspaces; the file is made in the folder, and kept where one is given.
 * DuckDB has one thread, so that this is how long an answer takes on an idle machine. Then requests pass through a gateway beside a
 * process that asks without a pause, with the low priority of the gateway's own.
 */
const rows = Number(process.argv[2] ?? 10_000_000);
const days = Number(process.argv[3] ?? 90);
const [, , , , kept] = process.argv;
const start = end - days * dayMs;

const pick = (name: string, count: number, salt: number): string =>
  `'${name}-' || CAST(hash(i + ${salt}) % ${count} AS VARCHAR)`;

/** About a normal value: durations of requests are near a log-normal distribution. */
const normal = `((${[20, 21, 22, 23].map((salt) => `hash(i + ${salt}) % 1000`).join(' + ')}) / 577.0 - 3.46)`;

/** Made by DuckDB itself, a hundred times as fast as by the ledger. */
async function fill(file: AnalyticsFile): Promise<void> {
  const step = 500_000;
  await file.connection.run(
    "ALTER TABLE requests ADD COLUMN metadata_0 VARCHAR; INSERT INTO metadata_columns VALUES ('org', 'team', 0)",
  );
  for (let from = 0; from < rows; from += step) {
    await file.connection.run(`INSERT INTO requests BY NAME SELECT
        i AS seq, CAST(${start} + i * ${(days * dayMs) / rows} AS BIGINT) AS at, 'org' AS org,
        CASE WHEN hash(i) % 10 < 7 THEN 'w-0' WHEN hash(i) % 10 < 9 THEN 'w-1' ELSE 'w-2' END AS workspace,
        ${pick('key', 100, 1)} AS key_id, ${pick('user', 5000, 2)} AS user_name,
        ${pick('provider', 5, 3)} AS provider, ${pick('slug', 8, 4)} AS provider_slug, ${pick('model', 20, 5)} AS model,
        CASE WHEN hash(i + 6) % 2 = 0 THEN ${pick('config', 10, 7)} END AS config,
        CASE WHEN hash(i + 8) % 5 = 0 THEN ${pick('prompt', 20, 9)} END AS prompt,
        CASE WHEN hash(i + 10) % 50 = 0 THEN 429 WHEN hash(i + 10) % 50 = 1 THEN 500 ELSE 200 END AS status,
        CASE WHEN hash(i + 11) % 8 = 0 THEN 'HIT' WHEN hash(i + 11) % 8 = 1 THEN 'MISS' ELSE 'DISABLED' END AS cache,
        CAST(hash(i + 12) % 50000000000 AS BIGINT) AS cost, NULL AS saved_cost,
        CAST(hash(i + 13) % 5000 AS BIGINT) AS input, CAST(hash(i + 14) % 900 AS BIGINT) AS output,
        CAST(exp(13.5 + 0.7 * ${normal}) AS BIGINT) AS total_us,
        CASE WHEN hash(i + 16) % 2 = 0 THEN CAST(exp(12.5 + 0.5 * ${normal}) AS BIGINT) END AS first_byte_us,
        CAST(CASE WHEN hash(i + 17) % 20 = 0 THEN 1 ELSE 0 END AS INTEGER) AS retries, hash(i + 10) % 50 > 1 AS ok,
        hash(i + 18) % 100 = 0 AS is_fallback, 'trace-' || CAST(i AS VARCHAR) AS trace, NULL AS span,
        '{"team":"t' || CAST(hash(i + 19) % 30 AS VARCHAR) || '","_user":"user-' || CAST(hash(i + 2) % 5000 AS VARCHAR) || '"}' AS metadata,
        't' || CAST(hash(i + 19) % 30 AS VARCHAR) AS metadata_0, NULL AS integration, 0 AS cached, 0 AS cache_write, 0 AS reasoning, NULL AS usage_kinds, true AS is_used,
        CAST(NULL AS INTEGER) AS feedback_count, CAST(NULL AS DOUBLE) AS feedback_value, CAST(NULL AS DOUBLE) AS feedback_weight
      FROM range(${from}, ${Math.min(rows, from + step)}) AS numbers(i)`);
  }
  await file.connection.run('CHECKPOINT');
}

const root = kept ?? mkdtempSync(join('/tmp', 'headgate-analytics-bench-'));
mkdirSync(root, { recursive: true });
const path = join(root, 'analytics.duckdb');
if (process.env['BENCH_ASKS']) {
  setPriority(15);
  const asked = await AnalyticsFile.open(path);
  await askOn(days, (question) => asked.ask(question));
}
const file = await AnalyticsFile.open(path);
const [counted] = await file.rows('SELECT CAST(count(*) AS DOUBLE) AS rows FROM requests', []);
const begun = performance.now();
if (Number(counted?.['rows']) === 0) await fill(file);
console.log(`${rows} rows made in ${((performance.now() - begun) / 1000).toFixed(0)} s`);
const [day] = await file.rows('SELECT CAST(count(*) AS DOUBLE) AS days FROM days', []);
if (Number(day?.['days']) === 0) {
  const began = performance.now();
  await file.connection.run(
    `INSERT INTO days SELECT DISTINCT CAST("at" // ${dayMs} AS INTEGER), false FROM requests`,
  );
  let made = 0;
  if (!process.env['NO_ROLLUPS']) while (await file.rollUp(end, 0)) made++;
  await file.connection.run('CHECKPOINT');
  console.log(`${made} days rolled up in ${((performance.now() - began) / 1000).toFixed(0)} s`);
  for (const table of ['requests', 'day_sums', 'day_users', 'day_durations']) {
    const [of] = await file.rows(`SELECT CAST(count(*) AS DOUBLE) AS rows FROM ${table}`, []);
    console.log(`  ${table}: ${of?.['rows']} rows`);
  }
}
const memory = (): number => Math.round(process.memoryUsage().rss / 1048576);
/** Of this process, on whatever core. */
const cpuMs = (): number => {
  const { user, system } = process.cpuUsage();
  return (user + system) / 1000;
};
console.log(`file ${Math.round(statSync(path).size / 1048576)} MB`);
const before = memory();
for (const [name, list] of allQuestions(days))
  await measure(name, list, (question) => file.ask(question), cpuMs);
console.log(`memory ${before} MB before the first question, ${memory()} MB after the last one`);
file.close();
await measureBeside(fileURLToPath(import.meta.url), [String(rows), String(days), root]);
if (kept === undefined) rmSync(root, { recursive: true });
