import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'chai';
import { unpack } from '../../src/common/ledger/packed-rows.js';
import type { Settlement } from '../../src/common/ledger/record.js';
import { maxPicos } from '../../src/common/vocabulary/money.js';
import { SqliteConnection } from '../../src/control-plane/database/sqlite.js';
import { type Ingestion, startIngestion } from '../../src/control-plane/ingestion/ingest.js';
import type { Ledger } from '../../src/control-plane/ledger/ledger.js';
import { openPostgresLedger } from '../../src/control-plane/ledger/postgres/ledger.js';
import { openLedger } from '../../src/control-plane/ledger/sql.js';
import { type FileJournal, openJournal } from '../../src/data-plane/journal/journal.js';
import { intentOf, org, settlementOf, workspace } from '../fault/journal-records.js';
import { eventually } from '../support/gateway.js';
import { MemoryLedger } from '../support/memory-ledger.js';
import { forEachStore } from '../support/stores.js';

const node = '0190a1b2-0000-7000-8000-0000000000a1';

/** What any ledger does, by whatever database. */
function contract(open: (dataDir: string) => Promise<Ledger>): void {
  let dataDir: string;
  let ledger: Ledger;
  let journal: FileJournal;
  let ingestion: Ingestion;
  const problems: string[] = [];
  const onProblem = (error: Error): void => void problems.push(error.message);

  beforeEach(async () => {
    problems.length = 0;
    dataDir = mkdtempSync(join(tmpdir(), 'ledger-'));
    const dir = join(dataDir, 'journal');
    journal = openJournal({ dir, worker: '0', node, maxBodyFileBytes: 4000, onProblem });
    ledger = await open(dataDir);
    ingestion = startIngestion({ dir, ledger, onProblem, intervalMs: 60_000 });
  });
  afterEach(async () => {
    journal.close();
    await ingestion.stop();
    await ledger.close();
    rmSync(dataDir, { recursive: true, force: true });
    expect(problems).to.deep.equal([]);
  });

  let clock = 1_763_700_000_000;
  const settle = async (...changes: (Partial<Settlement> & { id: string })[]): Promise<void> => {
    for (const change of changes) journal.settle(settlementOf(change.id, { at: clock++, ...change }));
    await new Promise((turn) => setImmediate(turn));
    await ingestion.flush();
  };
  it('reports each settled row once, also where a pass fails and lines are read again', async () => {
    const reported: string[] = [];
    let failures = 0;
    const failing = new Proxy(ledger, {
      get(of, name) {
        const value: unknown = Reflect.get(of, name);
        if (typeof value !== 'function') return value;
        if (name !== 'apply') return value.bind(of);
        return async (batch: { readonly settled: unknown }) => {
          if (batch.settled !== null && failures > 0) {
            failures--;
            throw new Error('away');
          }
          return value.call(of, batch);
        };
      },
    });
    await ingestion.stop();
    ingestion = startIngestion({
      ...{ dir: join(dataDir, 'journal'), ledger: failing, intervalMs: 60_000, onProblem() {} },
      onSettled({ packed, rows }) {
        const found = rows.map(({ id }) => id);
        if (packed !== null) for (const { id } of unpack(packed)) found.push(id);
        reported.push(...found);
      },
    });
    // It stays open: after a failure its file is read from here on again.
    journal.intend(intentOf('open-1'));
    await settle({ id: 'once-1' }, { id: 'once-2' });
    failures = 1;
    await settle({ id: 'once-3' });
    await settle({ id: 'once-4' });
    expect(reported).to.deep.equal(['once-1', 'once-2', 'once-3', 'once-4']);
  });

  const ids = async (filter: object): Promise<string[]> =>
    (await ledger.recent({ org, limit: 100, ...filter })).rows.map((row) => row.id);

  const fullSettlement = (id: string, change: Partial<Settlement> = {}): Settlement =>
    settlementOf(id, {
      config: 'pc-prod',
      configVersion: 'v7',
      error: 'upstream_truncated',
      errorMessage: 'It "ended"\nearly – 早い 😀',
      stream: true,
      firstByteMs: null,
      usage: { input: 9, output: 8, cached: 7, cacheWrite: 6, reasoning: 5, source: 'counted' },
      cost: null,
      metadata: { _user: 'ünal', empty: '' },
      trace: 'trace-1',
      span: 's',
      parentSpan: 'p',
      spanName: 'n',
      dropped: ['logit_bias'],
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
          usage: { input: 9, output: 8, cached: 7, cacheWrite: 6, reasoning: 5, source: 'counted' },
          cost: null,
        },
      ],
      ...change,
    });

  /** One that is put into the database as it stands in the journal, and all others. */
  const uuid = (n: number): string => `0190a1b2-0000-7000-8000-${String(n).padStart(12, '0')}`;

  it('gives back every field as it was settled', async () => {
    const given = [
      fullSettlement('one'),
      fullSettlement(uuid(1)),
      fullSettlement(uuid(2), { trace: uuid(2) }),
      fullSettlement(uuid(3), { trace: '"ünal"\\' }),
      fullSettlement(uuid(4), { workspace: null, key: null }),
      fullSettlement(uuid(5), { errorMessage: 'long '.repeat(20_000) }),
      fullSettlement(uuid(6), { provider: null, modelUsed: 'a"b\\",' }),
      fullSettlement(uuid(7), { at: 1 }),
    ];
    await settle(...given);
    for (const row of given) {
      expect(await ledger.get(org, row.id), row.id).to.deep.equal({ ...row, state: 'settled', node });
    }
  });

  it('lists the newest first, to the limit', async () => {
    await settle({ id: 'a' }, { id: 'b' }, { id: 'c' });
    await settle({ id: 'earlier', at: 1 });
    expect(await ids({ limit: 2 })).to.deep.equal(['c', 'b']);
    expect(await ids({})).to.deep.equal(['c', 'b', 'a', 'earlier']);
  });

  it('filters by workspace and by trace, given or its own', async () => {
    await settle({ id: 'a', trace: 't' }, { id: 'b', trace: 't', workspace: null }, { id: 'c' });
    expect(await ids({ workspace })).to.deep.equal(['c', 'a']);
    expect(await ids({ trace: 't' })).to.deep.equal(['b', 'a']);
    expect(await ids({ trace: 't', workspace })).to.deep.equal(['a']);
    expect(await ids({ trace: 'c' })).to.deep.equal(['c']);
    expect(await ids({ trace: 'a' })).to.deep.equal([]);
  });

  it('finds rows by what they have, whichever way they were put in', async () => {
    const other = workspace.replace(/.$/, 'f');
    await settle(
      { id: uuid(3), trace: 't' },
      { id: uuid(1), trace: 't', workspace: other, key: other },
      { id: uuid(2) },
      { id: 'odd', trace: 't', key: other },
    );
    expect(await ids({ trace: 't' })).to.deep.equal(['odd', uuid(1), uuid(3)]);
    expect(await ids({ trace: uuid(2) })).to.deep.equal([uuid(2)]);
    expect(await ids({ trace: uuid(3) })).to.deep.equal([]);
    expect(await ids({ workspace: other })).to.deep.equal([uuid(1)]);
    expect(await ids({ keys: [other] })).to.deep.equal(['odd', uuid(1)]);
    expect(await ids({})).to.deep.equal(['odd', uuid(2), uuid(1), uuid(3)]);
  });

  it('filters by keys: of any of them, of none', async () => {
    await settle({ id: 'a', key: 'k1' }, { id: 'b', key: 'k2', trace: 't' }, { id: 'c', key: 'k3' });
    expect(await ids({ keys: ['k1', 'k2'] })).to.deep.equal(['b', 'a']);
    expect(await ids({ keys: ['k1', 'k2'], trace: 't' })).to.deep.equal(['b']);
    expect(await ids({ keys: [] })).to.deep.equal([]);
  });

  it('finds a trace however many rows came since', async () => {
    await settle({ id: 'wanted', trace: 't' });
    await settle(...Array.from({ length: 9000 }, (_, i) => ({ id: `other-${i}`, trace: `x-${i}` })));
    expect(await ids({ trace: 't' })).to.deep.equal(['wanted']);
    expect(await ids({ trace: 'x-5000' })).to.deep.equal(['other-5000']);
  });

  it('follows: each row once, in the order of their coming, whatever the limit', async () => {
    await settle({ id: 'before' });
    let { cursor } = await ledger.recent({ org, limit: 10 });
    await settle({ id: 'a', at: 3 }, { id: 'theirs', org: 'other' }, { id: 'b', at: 2 }, { id: 'c', at: 1 });
    const seen: string[] = [];
    await eventually('three rows', async () => {
      const page = await ledger.recent({ org, limit: 2, after: cursor });
      seen.push(...page.rows.map((row) => row.id));
      cursor = page.cursor;
      return seen.length >= 3;
    });
    expect(seen).to.deep.equal(['a', 'b', 'c']);
  });

  it('shows an organisation nothing of another', async () => {
    await settle({ id: 'theirs', org: 'other', trace: 't' });
    journal.keepBodies({
      id: 'theirs',
      at: clock,
      org: 'other',
      workspace: null,
      request: 'secret',
      response: null,
      cut: false,
    });
    journal.close();
    await ingestion.flush();
    expect(await ids({})).to.deep.equal([]);
    expect(await ids({ trace: 't' })).to.deep.equal([]);
    expect(await ids({ trace: 'theirs' })).to.deep.equal([]);
    expect(await ledger.get(org, 'theirs')).to.equal(null);
    expect(await ledger.bodies(org, 'theirs')).to.equal(null);
  });

  it('gives back bodies, byte for byte text, or null', async () => {
    const at = Date.now();
    await settle({ id: 'one', at }, { id: 'two', at }, { id: 'none', at });
    const one = {
      id: 'one',
      at,
      org,
      workspace,
      request: '{"a":"é\\n"}\n',
      response: 'data: 😀\n\n',
      cut: true,
    };
    const two = { id: 'two', at, org, workspace: null, request: null, response: '', cut: false };
    journal.keepBodies({ ...one, request: Buffer.from(one.request) });
    for (let i = 0; i < 50; i++) journal.keepBodies({ ...one, id: `${i}`, request: 'x'.repeat(500) });
    journal.keepBodies(two);
    journal.close();
    await ingestion.flush();
    expect(await ledger.bodies(org, 'one')).to.deep.equal(one);
    expect(await ledger.bodies(org, 'two')).to.deep.equal(two);
    expect(await ledger.bodies(org, 'none')).to.equal(null);
    expect(await ledger.bodies(org, 'no such row')).to.equal(null);
  });

  it('gives back the bodies of the call to a provider with those of the client', async () => {
    const at = Date.now();
    await settle({ id: 'same', at }, { id: 'converted', at }, { id: 'lost', at });
    const bodiesOf = (id: string, side: string, same?: readonly [0 | 1, 0 | 1]) => ({
      ...{ id, at, org, workspace, request: `${side} asks`, response: `${side} is answered`, cut: false },
      headers: {
        request: { accept: side },
        ...(same && { call: { url: 'https://example.com', status: 200, same } }),
      },
    });
    const same = bodiesOf('same', 'client', [1, 1]);
    const client = bodiesOf('converted', 'client', [0, 1]);
    const provider = bodiesOf('converted/provider', 'provider');
    const lost = bodiesOf('lost', 'client', [0, 0]);
    for (const one of [same, client, provider, lost])
      journal.keepBodies({
        ...one,
        request: Buffer.from(one.request),
        headers: Buffer.from(JSON.stringify(one.headers)),
      });
    journal.close();
    await ingestion.flush();
    expect(await ledger.allBodies(org, 'same')).to.deep.equal({ client: same, provider: null });
    expect(await ledger.allBodies(org, 'converted')).to.deep.equal({ client, provider });
    expect(await ledger.bodies(org, 'converted')).to.deep.equal(client);
    expect(await ledger.allBodies(org, 'lost')).to.deep.equal({ client: lost, provider: null });
    expect(await ledger.allBodies('other', 'converted')).to.deep.equal({ client: null, provider: null });
  });

  it("is not deceived by a body that looks like another tenant's record", async () => {
    const at = Date.now();
    await settle({ id: 'victim', at }, { id: 'forger', at, org: 'other' });
    const forged = `\nB["victim",${at},"${org}",null,0,6,-1]\nforged\n`;
    journal.keepBodies({
      id: 'forger',
      at,
      org: 'other',
      workspace: null,
      request: forged,
      response: forged,
      cut: false,
    });
    journal.close();
    await ingestion.flush();
    expect(await ledger.bodies(org, 'victim')).to.equal(null);
    expect((await ledger.bodies('other', 'forger'))?.request).to.equal(forged);
  });

  it('keeps an unknown row at its reserved cost until a settlement takes its place, which followers then see', async () => {
    const at = clock++;
    journal.intend(intentOf('lost', { at, reserved: 4321, trace: 't' }));
    journal.intend(intentOf(uuid(9), { at }));
    journal.close();
    await ingestion.workerGone('0', process.pid);
    const unknown = await ledger.get(org, 'lost');
    expect(unknown).to.include({
      state: 'unknown',
      node,
      cost: 4321,
      trace: 't',
      provider: 'openai',
      status: 0,
    });
    const { cursor } = await ledger.recent({ org, limit: 1 });

    journal = openJournal({ dir: join(dataDir, 'journal'), worker: '1', node, onProblem });
    await settle({ id: 'lost', at, cost: 17 }, { id: 'next' });
    await settle({ id: uuid(9), at });
    expect(await ledger.get(org, uuid(9))).to.include({ state: 'settled', status: 200 });
    expect(await ledger.get(org, 'lost')).to.include({ state: 'settled', cost: 17, status: 200 });
    const { rows } = await eventually('three rows', async () => {
      const page = await ledger.recent({ org, limit: 10, after: cursor });
      return page.rows.length === 3 && page;
    });
    expect(rows.map((row) => row.id)).to.deep.equal(['lost', 'next', uuid(9)]);
  });

  it('lets several settlements of one batch take the place of unknown rows', async () => {
    const found = ['lost', 'gone', uuid(7), uuid(8)].map((id) => ({ id, at: clock++ }));
    for (const { id, at } of found) journal.intend(intentOf(id, { at }));
    journal.close();
    await ingestion.workerGone('0', process.pid);
    journal = openJournal({ dir: join(dataDir, 'journal'), worker: '1', node, onProblem });
    await settle(...found, { id: 'next' });
    for (const { id } of found) expect(await ledger.get(org, id)).to.include({ state: 'settled' });
    expect(await ids({})).to.have.members([...found.map(({ id }) => id), 'next']);
  });

  it('counts a settlement once: the first', async () => {
    for (const id of ['one', uuid(1)]) {
      const at = clock++;
      await settle({ id, at, cost: 1 });
      await settle({ id, at, cost: 2 });
      expect((await ledger.get(org, id))?.cost).to.equal(1);
    }
    expect(await ids({})).to.deep.equal([uuid(1), 'one']);
  });

  it('takes more settlements at once than are sorted', async () => {
    await settle(...Array.from({ length: 5000 }, (_, i) => ({ id: uuid(i) })));
    expect((await ledger.recent({ org, limit: 10_000 })).rows).to.have.length(5000);
  });

  it('has one row for each id in what rollups are derived from, in the order of ingestion, of all organisations', async () => {
    await settle({ id: uuid(1) }, { id: uuid(2), org: 'other' });
    await settle({ id: 'odd' });
    const page = (after: string) =>
      eventually('further rows', async () => {
        const found = await ledger.changes(after, 2);
        return found.rows.length > 0 && found;
      });
    // Another transaction on the same server may keep them back for a while.
    await eventually('all three', async () => (await ledger.changes('0', 3)).rows.length === 3);
    const first = await page('0');
    expect(first.rows.map(({ id }) => id)).to.deep.equal([uuid(1), uuid(2)]);
    const second = await page(first.cursor);
    expect(second.rows.map(({ id }) => id)).to.deep.equal(['odd']);
    expect((await ledger.changes(second.cursor, 2)).rows).to.deep.equal([]);
    await settle({ id: uuid(1), at: first.rows[0]?.at ?? 0 });
    expect((await ledger.changes(second.cursor, 2)).rows).to.deep.equal([]);
  });

  it('keeps what stages add, and amounts up to the largest to the last digit', async () => {
    const stages = { guardrails: { verdict: 'é', checks: [1, 2] } };
    await settle({ id: uuid(1), stages, cost: maxPicos }, { id: 'odd', stages, cost: maxPicos });
    for (const id of [uuid(1), 'odd']) {
      expect(await ledger.get(org, id)).to.deep.include({ stages, cost: maxPicos });
    }
  });

  it('keeps positions and open intents as they were given, until they are taken back', async () => {
    const nothing = { settled: null, unknown: [], positions: new Map(), opened: [], closed: [] };
    const intent = intentOf('open');
    await settle({ id: 'done', at: intent.at });
    await ledger.apply({
      ...nothing,
      positions: new Map([['a.log', 12]]),
      opened: [
        { writer: 'w', intent },
        { writer: 'w', intent: intentOf('done', { at: intent.at }) },
      ],
    });
    expect((await ledger.positions()).get('a.log')).to.equal(12);
    expect(await ledger.openIntents()).to.deep.equal([{ writer: 'w', intent }]);
    await ledger.apply({ ...nothing, positions: new Map([['a.log', null]]), closed: ['open'] });
    expect((await ledger.positions()).has('a.log')).to.equal(false);
    expect(await ledger.openIntents()).to.deep.equal([]);
  });
}

describe('the ledger', () => {
  forEachStore(({ dialect, options }) => {
    contract(async (dataDir) => {
      if (dialect === 'sqlite') return openLedger({ dataDir });
      const { databaseUrl } = await options(dataDir);
      return openPostgresLedger({ url: databaseUrl!, node });
    });
  });
});

describe('the ledger in SQLite', () => {
  it('is opened again as it was left, and refuses a file from a later program', async () => {
    const dataDir = mkdtempSync(join(tmpdir(), 'ledger-'));
    await (await openLedger({ dataDir })).close();
    const ledger = await openLedger({ dataDir });
    const row = { ...settlementOf('one'), state: 'settled' as const, node };
    const settled = { packed: null, rows: [row] };
    await ledger.apply({ settled, unknown: [], positions: new Map(), opened: [], closed: [] });
    await ledger.close();
    const again = await openLedger({ dataDir });
    expect(await again.get(org, 'one')).to.deep.equal(row);
    await again.close();
    const connection = await SqliteConnection.open(join(dataDir, 'ledger.db'), ['user_version = 99']);
    await connection.close();
    const refused = await openLedger({ dataDir }).catch((error: Error) => error.message);
    expect(refused).to.match(/ledger\.db is at version 99 .* start the newer program/);
    rmSync(dataDir, { recursive: true, force: true });
  });
});

describe('a ledger that takes rows', () => {
  contract(async (dataDir) => new MemoryLedger(join(dataDir, 'journal')));
});
