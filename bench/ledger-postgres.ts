import { fork } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import pg from 'pg';
import { Secret } from '../src/common/access/secret.js';
import { uuidv7 } from '../src/common/text/id.js';
import { startIngestion } from '../src/control-plane/ingestion/ingest.js';
import { openPostgresLedger } from '../src/control-plane/ledger/postgres/ledger.js';
import { openJournal } from '../src/data-plane/journal/journal.js';
import { intentOf, org, settlementOf, workspace } from '../test/fault/journal-records.js';
import { chargesOf } from './charges.js';

/**
 * A ledger in PostgreSQL that has many rows already: what ingestion costs, how far it is behind, and how long reading takes.
 * `node dist/bench/ledger-postgres.js [rows] [days] [ingested] [seconds] [budgets]`: 10 million over 30 days, of 100 organisations;
 * then 300,000 from journals at once, and 10,000 a second for 20 s, each charging so many budgets (none). In a database of its own on TEST_DATABASE_URL.
 */
const [rows = 10_000_000, days = 30, ingested = 300_000, seconds = 20, budgets = 0] = process.argv
  .slice(2)
  .map(Number);
const perSecond = 10_000;
const server = process.env['TEST_DATABASE_URL'] ?? 'postgres://postgres@127.0.0.1:5432/test';
const name = 'headgate_bench_ledger';
const dayMs = 86_400_000;

/** Of a process of its own: writes journals at the pace of a busy node. */
async function write(dir: string): Promise<void> {
  const journal = openJournal({ dir, worker: '1', node: 'bench', onProblem: console.error });
  const startedAt = performance.now();
  for (let written = 0; written < perSecond * seconds; ) {
    const due = Math.min(perSecond * seconds, ((performance.now() - startedAt) / 1000) * perSecond);
    for (; written < due; written++) {
      const id = uuidv7();
      const charges = chargesOf(written, budgets);
      journal.intend(intentOf(id, { charges }), { intended() {} });
      journal.settle(settlementOf(id, { charges }));
    }
    await pause(2);
  }
  journal.close();
}

async function main(): Promise<void> {
  const admin = new pg.Client({ connectionString: server });
  await admin.connect();
  await admin.query(`DROP DATABASE IF EXISTS ${name}`);
  await admin.query(`CREATE DATABASE ${name}`);
  const url = new URL(server);
  url.pathname = `/${name}`;
  const dataDir = mkdtempSync(join(tmpdir(), 'headgate-ledger-bench-'));
  try {
    await fill(url.href);
    await measure(url.href, dataDir);
  } finally {
    rmSync(dataDir, { recursive: true });
    await admin.query(`DROP DATABASE ${name} WITH (FORCE)`);
    await admin.end();
  }
}

/** Each day's table is filled before it is indexed, and attached then: a fifth of the time. */
async function fill(url: string): Promise<void> {
  const ledger = await openPostgresLedger({ url: new Secret(url), node: 'bench' });
  await ledger.ensurePartitions(Date.now());
  await ledger.close();
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  const each = Math.floor(rows / days);
  const today = Math.floor(Date.now() / dayMs);
  await client.query("SET maintenance_work_mem = '256MB'; SET synchronous_commit = off");
  for (let day = today - days; day < today; day++) {
    const from = day * dayMs;
    const table = `exchanges_${new Date(from).toISOString().slice(0, 10).replaceAll('-', '')}`;
    await client.query(`CREATE TABLE ${table} (LIKE exchanges INCLUDING DEFAULTS)`);
    await client.query(
      `INSERT INTO ${table} (n, state, id, at, cost, input_tokens, output_tokens, cached_tokens, cache_write_tokens,
         reasoning_tokens, total_us, upstream_us, first_byte_us, org, workspace, "key", provider, provider_slug, model,
         model_asked, endpoint, method, path, status, stream, attempt_count, retries, target, cache, config_version,
         usage_source, metadata, node_id, trace, rest)
       SELECT i, 0, to_hex_id(at, i), at, 1234567, 120, 240, 0, 0, 0, 812345, 811200, 411100,
         CASE i % 100 WHEN 0 THEN '${org}' ELSE 'org-' || i % 100 END,
         CASE i % 100 WHEN 0 THEN '${workspace}' ELSE 'workspace-' || i % 100 END,
         'key-' || i % 1000, 'openai', 'openai-main', 'gpt-4o-mini-2024-07-18', 'gpt-4o-mini', 'chat', 'POST',
         '/v1/chat/completions', 200, 0, 1, 0, 'targets[0]', 'DISABLED', 'none', 'provider', '{}', 'bench',
         CASE i % 10 WHEN 0 THEN md5(i::text || at::text) END,
         '{"attempts":[{"target":"targets[0]","provider":"openai","model":"gpt-4o-mini","started_us":123,"status":200,"duration_us":811200}]}'
       FROM (SELECT i, ${from} + i * ${dayMs}::bigint / ${each + 1} AS at FROM generate_series(1, ${each}) AS i) AS made`.replace(
        'to_hex_id(at, i)',
        `lpad(to_hex(at >> 16), 8, '0') || '-' || lpad(to_hex(at & 65535), 4, '0') || '-7000-8000-' || lpad(to_hex(i::bigint * 7919 % 281474976710656), 12, '0')`,
      ),
    );
    await client.query(
      `CREATE UNIQUE INDEX ON ${table} (id);
       ALTER TABLE exchanges ATTACH PARTITION ${table} FOR VALUES FROM (${from}) TO (${from + dayMs})`,
    );
  }
  await client.query('ANALYZE exchanges');
  const { rows: sizes } = await client.query<{ count: string; size: string }>(
    `SELECT count(*)::text AS count, pg_size_pretty(pg_database_size('${name}')) AS size FROM exchanges`,
  );
  console.log(`${sizes[0]?.count} rows in ${days} days, ${sizes[0]?.size}`);
  await client.end();
}

async function measure(url: string, dataDir: string): Promise<void> {
  const dir = join(dataDir, 'journal');
  const onProblem = (error: Error): void => console.error(error.message);
  const ledger = await openPostgresLedger({ url: new Secret(url), node: 'bench', onProblem });
  const journal = openJournal({ dir, worker: '0', node: 'bench', onProblem });
  for (let i = 0; i < ingested; i++) {
    const id = uuidv7();
    const charges = chargesOf(i, budgets);
    journal.intend(intentOf(id, { charges }), { intended() {} });
    journal.settle(settlementOf(id, { charges }));
    if (i % 64 === 63) await new Promise((turn) => setImmediate(turn));
  }
  journal.close();
  await ledger.positions();
  const before = process.cpuUsage();
  const startedAt = performance.now();
  const ingestion = startIngestion({ dir, ledger, onProblem });
  await ingestion.flush();
  const tookS = (performance.now() - startedAt) / 1000;
  const { user, system } = process.cpuUsage(before);
  const each = ((user + system) / ingested).toFixed(1);
  console.log(`ingestion: ${Math.round(ingested / tookS)} rows/s, ${each} µs of this process a row`);

  const child = fork(fileURLToPath(import.meta.url), [...process.argv.slice(2, 7)], {
    env: { ...process.env, BENCH_JOURNAL: dir },
  });
  let behind = 0;
  let ended = false;
  child.on('exit', () => {
    ended = true;
  });
  const cpu = process.cpuUsage();
  while (!ended) {
    await pause(50);
    behind = Math.max(behind, ingestion.behindMs);
  }
  const used = process.cpuUsage(cpu);
  const paced = ((used.user + used.system) / (perSecond * seconds)).toFixed(1);
  console.log(`at ${perSecond} rows/s: at most ${(behind / 1000).toFixed(2)} s behind, ${paced} µs a row`);

  const [newest] = (await ledger.recent({ org, limit: 1 })).rows;
  const old = (await ledger.recent({ org: 'org-1', limit: 1 })).rows[0];
  const reads = {
    'the newest 50 of an organisation': () => ledger.recent({ org, limit: 50 }),
    'the newest 50 of a quiet organisation': () => ledger.recent({ org: 'org-1', limit: 50 }),
    'the newest 50 of a workspace': () =>
      ledger.recent({ org: 'org-1', workspace: 'workspace-1', limit: 50 }),
    'a trace': () => ledger.recent({ org, trace: 'unknown', limit: 50 }),
    'a row by its id': () => ledger.get(org, newest?.id ?? ''),
    'an old row by its id': () => ledger.get('org-1', old?.id ?? ''),
    '1000 rows after the beginning': () => ledger.recent({ org, after: '0', limit: 1000 }),
  };
  for (const [what, read] of Object.entries(reads)) {
    const times: number[] = [];
    for (let i = 0; i < 40; i++) {
      const from = performance.now();
      await read();
      times.push(performance.now() - from);
    }
    times.sort((a, b) => a - b);
    console.log(`${what}: ${times[20]?.toFixed(1)} ms, at most ${times.at(-1)?.toFixed(1)} ms`);
  }
  await ingestion.stop();
  await ledger.close();
}

const journalDir = process.env['BENCH_JOURNAL'];
await (journalDir === undefined ? main() : write(journalDir));
