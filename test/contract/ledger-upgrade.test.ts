import { copyFileSync, existsSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'chai';
import type { LedgerRow, Settlement } from '../../src/common/ledger/record.js';
import { SqliteConnection } from '../../src/control-plane/database/sqlite.js';
import { startIngestion } from '../../src/control-plane/ingestion/ingest.js';
import type { Ledger } from '../../src/control-plane/ledger/ledger.js';
import { openLedger } from '../../src/control-plane/ledger/sql.js';
import { upgradeReport } from '../../src/control-plane/ledger/upgrade-report.js';
import { org, settlementOf } from '../fault/journal-records.js';
import { root } from '../support/root.js';

/** A database and a journal as the program before version 3 left them, written by its own code. */
const fixtures = join(root, 'test/fixtures/ledger-v2/');
const at0 = 1_763_700_000_000;
const uuid = (n: number): string => `0190a1b2-0000-7000-8000-${String(n).padStart(12, '0')}`;

const usage = { input: 9, output: 8, cached: 7, cacheWrite: 6, reasoning: 5, source: 'counted' as const };
const full = (id: string, change: Partial<Settlement> = {}): Settlement =>
  settlementOf(id, {
    at: at0,
    config: 'pc-prod',
    configVersion: 'v7',
    error: 'upstream_truncated',
    errorMessage: 'It "ended"\nearly – 早い 😀',
    stream: true,
    firstByteMs: null,
    usage,
    cost: null,
    user: 'ünal',
    metadata: { _user: 'ünal', empty: '' },
    trace: 'trace-1',
    span: 's',
    parentSpan: 'p',
    spanName: 'n',
    dropped: ['logit_bias'],
    retries: 1,
    attempts: [
      {
        target: 'targets[0]',
        slug: null,
        integration: null,
        provider: 'openai',
        model: null,
        startedAt: 1.5,
        status: 0,
        error: 'upstream_idle_timeout',
        durationMs: 5000,
        usage: null,
        cost: null,
      },
      {
        target: 'targets[1]',
        slug: null,
        integration: null,
        provider: 'anthropic',
        model: 'claude',
        startedAt: 5002,
        status: 200,
        error: null,
        durationMs: 9.25,
        usage,
        cost: 31_000_000,
      },
    ],
    route: [
      {
        kind: 'pick',
        target: 'config',
        by: 'cost',
        score: 162_000_000,
        next: 'targets[1]',
        nextScore: null,
      },
      { kind: 'moved_on', target: 'targets[0]', because: 504 },
    ],
    ...change,
  });

/** What it settled, in the units of today: it counted in micro-dollars. */
const settled = (from: number): Settlement[] => {
  const cost = 162_000_000;
  const hit = { cache: 'HIT' as const, cost: 0, costSaved: cost, msSaved: 811.2, attempts: [] };
  return [
    settlementOf(uuid(from), { at: at0 + 1, cost }),
    full(uuid(from + 1), { cost: 31_000_000 }),
    full(uuid(from + 2), { trace: uuid(from + 2) }),
    full(uuid(from + 3), { trace: '"ünal"\\' }),
    settlementOf(uuid(from + 4), { at: at0 + 2, workspace: null, key: null, cost }),
    full(`odd-${from}`, { provider: null, modelUsed: 'a"b\\",', slug: null, route: null }),
    settlementOf(uuid(from + 5), { at: at0 + 3, ...hit }),
  ];
};

describe('a ledger of the version before', () => {
  let dataDir: string;
  let ledger: Ledger | null;
  const problems: string[] = [];
  const onProblem = (error: Error): void => void problems.push(error.message);

  beforeEach(() => {
    problems.length = 0;
    ledger = null;
    dataDir = mkdtempSync(join(tmpdir(), 'ledger-upgrade-'));
    mkdirSync(join(dataDir, 'journal'));
  });
  afterEach(async () => {
    await ledger?.close();
    rmSync(dataDir, { recursive: true, force: true });
  });

  const copyDatabase = (): void => copyFileSync(join(fixtures, 'ledger.db'), join(dataDir, 'ledger.db'));
  const open = async (): Promise<Ledger> => {
    ledger = await openLedger({ dataDir });
    return ledger;
  };
  const rowsOf = async (from: Ledger): Promise<Map<string, LedgerRow>> =>
    new Map((await from.changes('0', 1000)).rows.map((row) => [row.id, row]));
  const row = (settlement: Settlement): LedgerRow => ({ ...settlement, state: 'settled', node: null });

  it('has all of its rows, in their order', async () => {
    copyDatabase();
    const rows = await rowsOf(await open());
    for (const given of settled(1)) expect(rows.get(given.id), given.id).to.deep.equal(row(given));
    expect(rows.get(uuid(20))).to.include({
      state: 'unknown',
      cost: 4_321_000_000,
      at: at0 + 4,
      provider: 'openai',
    });
    expect(rows.get(uuid(21))).to.include({ state: 'unknown', cost: null, workspace: null, trace: 't' });
    expect(rows.get(uuid(40))).to.include({ state: 'settled', cost: 5_000_000, at: at0 + 7 });
    expect([...rows.keys()]).to.deep.equal(
      [1, 2, 3, 6, 4, 5].map(uuid).concat('odd-1', [20, 21, 40].map(uuid)),
    );
  });

  it('goes on where the version before was: open intents, positions, cursors', async () => {
    copyDatabase();
    const opened = await open();
    expect(await opened.positions()).to.deep.equal(new Map([['9-1-1.log', 7]]));
    const [intent] = await opened.openIntents();
    expect(intent?.intent).to.include({ id: uuid(30), reserved: 1_234_000_000, user: null });
    const { cursor } = await opened.recent({ org, limit: 1 });
    expect(cursor).to.equal('10');
    const ingestion = startIngestion({ dir: join(dataDir, 'journal'), ledger: opened, onProblem });
    await ingestion.flush();
    await ingestion.stop();
    const { rows } = await opened.recent({ org, limit: 10, after: cursor });
    expect(rows.map(({ id, state, cost }) => [id, state, cost])).to.deep.equal([
      [uuid(30), 'unknown', 1_234_000_000],
    ]);
    expect(await opened.openIntents()).to.deep.equal([]);
  });

  it('is upgraded once, also where the upgrade was interrupted', async () => {
    copyDatabase();
    const messages: string[] = [];
    const onUpgrade = upgradeReport({ info: (_fields, message) => void messages.push(message) });
    const interrupted = await openLedger({
      dataDir,
      onUpgrade() {
        throw new Error('killed');
      },
    }).catch((error: Error) => error.message);
    expect(interrupted).to.match(/killed/);
    await (await openLedger({ dataDir, onUpgrade })).close();
    expect((await rowsOf(await open())).size).to.equal(10);
    expect(messages).to.deep.equal([]);
  });

  it('shows how far the upgrade is', async () => {
    copyDatabase();
    const messages: string[] = [];
    const onUpgrade = upgradeReport({ info: (_fields, message) => void messages.push(message) });
    ledger = await openLedger({ dataDir, onUpgrade });
    expect(messages).to.deep.equal(['The ledger is upgraded: 100 % of 10 rows.']);
  });

  it('has real columns afterwards, that SQL reads as they are', async () => {
    copyDatabase();
    await (await open()).close();
    ledger = null;
    const connection = await SqliteConnection.open(join(dataDir, 'ledger.db'), []);
    const [found] = await connection.all(
      `SELECT "user", model, cost, input_tokens, total_us, attempt_count, metadata ->> '$._user' AS named,
        rest ->> '$.attempts[1].provider' AS second FROM exchanges WHERE id = ?`,
      [uuid(2)],
    );
    expect(found).to.deep.equal({
      user: 'ünal',
      model: 'gpt-4o-mini-2024-07-18',
      cost: 31_000_000,
      input_tokens: 9,
      total_us: 812_345,
      attempt_count: 2,
      named: 'ünal',
      second: 'anthropic',
    });
    await connection.close();
  });

  it('takes over a journal of that version', async () => {
    const opened = await open();
    copyFileSync(join(fixtures, 'journal.log'), join(dataDir, 'journal', '7-999999999-1.log'));
    const ingestion = startIngestion({ dir: join(dataDir, 'journal'), ledger: opened, onProblem });
    await ingestion.flush();
    await ingestion.stop();
    const rows = await rowsOf(opened);
    for (const given of settled(101)) expect(rows.get(given.id), given.id).to.deep.equal(row(given));
    expect(rows.get(uuid(120))).to.include({ state: 'unknown', cost: 77_000_000 });
    expect(rows.size).to.equal(8);
    expect(problems).to.deep.equal([]);
  });

  it('leaves alone a journal of a later program', async () => {
    const opened = await open();
    const path = join(dataDir, 'journal', '7-999999999-1.log');
    writeFileSync(path, 'H[99,"gone"]\nS[]\n');
    const ingestion = startIngestion({ dir: join(dataDir, 'journal'), ledger: opened, onProblem });
    await ingestion.flush();
    await ingestion.flush();
    await ingestion.stop();
    expect(problems.join()).to.match(/was written by a later program/);
    expect(existsSync(path)).to.equal(true);
  });
});
