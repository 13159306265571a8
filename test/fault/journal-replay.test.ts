// lane: slow
import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import {
  appendFileSync,
  copyFileSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { expect } from 'chai';
import { headerLine } from '../../src/common/ledger/journal-line.js';
import type { Intent, LedgerRow } from '../../src/common/ledger/record.js';
import { ownIdentity } from '../../src/common/ledger/writer.js';
import { type Ingestion, startIngestion } from '../../src/control-plane/ingestion/ingest.js';
import type { Ledger } from '../../src/control-plane/ledger/ledger.js';
import { openLedger } from '../../src/control-plane/ledger/sql.js';
import { openJournal } from '../../src/data-plane/journal/journal.js';
import { builtProgram } from '../support/gateway.js';
import { isLong } from '../support/long-forms.js';
import { intentText, settlementText } from '../support/record-lines.js';
import { intentOf, org, settlementOf } from './journal-records.js';

/** An id that was a process's and is nobody's now. */
const deadPid = (): number => spawnSync('true').pid;

describe('journals after a crash', () => {
  let dataDir: string;
  let dir: string;
  let ledger: Ledger;
  let ingestions: Ingestion[];
  let problems: string[];
  const onProblem = (error: Error): void => void problems.push(error.message);

  beforeEach(async () => {
    dataDir = mkdtempSync(join(tmpdir(), 'replay-'));
    dir = join(dataDir, 'journal');
    mkdirSync(dir);
    ledger = await openLedger({ dataDir });
    ingestions = [];
    problems = [];
  });
  afterEach(async () => {
    for (const ingestion of ingestions) await ingestion.stop();
    await ledger.close();
    rmSync(dataDir, { recursive: true, force: true });
  });

  const ingest = (through: Ledger = ledger): Ingestion => {
    const ingestion = startIngestion({ dir, ledger: through, onProblem, intervalMs: 60_000 });
    ingestions.push(ingestion);
    return ingestion;
  };
  const rows = async (): Promise<LedgerRow[]> => [...(await ledger.recent({ org, limit: 1_000_000 })).rows];
  const states = async (): Promise<Record<string, string>> =>
    Object.fromEntries((await rows()).map(({ id, state }) => [id, state]));
  const header = (identity = 'gone'): string => headerLine(identity);
  const write = (name: string, ...lines: string[]): void => writeFileSync(join(dir, name), lines.join(''));
  const logs = (): string[] => readdirSync(dir).filter((name) => name.endsWith('.log'));

  for (const [what, last, before] of [
    ['intent', intentText, () => ''],
    ['settlement', (intent: Intent) => settlementText(settlementOf(intent.id)), intentText],
  ] as const) {
    it(`torn at any byte of its last record, ${what === 'intent' ? 'an' : 'a'} ${what}: the whole ones count, the torn one does not`, async () => {
      const pid = deadPid();
      // One file for each length, all found at once.
      const full = last(intentOf('torn-at-0000')).length;
      for (let length = 0; length <= full; length++) {
        const number = String(length).padStart(4, '0');
        const intent = intentOf(`torn-at-${number}`);
        write(
          `${length}-${pid}-1.log`,
          header(),
          settlementText(settlementOf(`whole-${number}`)),
          before(intent),
          last(intent).slice(0, length),
        );
      }
      await ingest().flush();
      const found = await states();
      for (let length = 0; length <= full; length++) {
        const number = String(length).padStart(4, '0');
        const whole = what === 'intent' ? 'unknown' : 'settled';
        const torn = what === 'intent' ? undefined : 'unknown';
        expect(found[`whole-${number}`]).to.equal('settled');
        expect(found[`torn-at-${number}`], `${length} of ${full} bytes`).to.equal(
          length === full ? whole : torn,
        );
      }
      expect(logs()).to.deep.equal([]);
      expect(problems).to.deep.equal([]);
    });
  }

  it('torn for the moment by a live writer: the rest is awaited', async () => {
    const line = settlementText(settlementOf('one'));
    const name = `0-${process.pid}-1.log`;
    write(name, header(ownIdentity()), intentText(intentOf('one')));
    const ingestion = ingest();
    for (const part of line.split(/(?<=,)/)) {
      expect(await rows()).to.deep.equal([]);
      appendFileSync(join(dir, name), part);
      await ingestion.flush();
    }
    expect(await states()).to.deep.equal({ one: 'settled' });
  });

  it('an intent of a live worker just waits; once the worker has gone it is unknown, and the file goes', async () => {
    const journal = openJournal({ dir, worker: '7', onProblem });
    journal.intend(intentOf('open'));
    journal.intend(intentOf('done'));
    journal.settle(settlementOf('done'));
    await pause(5);
    const ingestion = ingest();
    await ingestion.flush();
    expect(await states()).to.deep.equal({ done: 'settled' });
    await ingestion.workerGone('6', process.pid);
    expect(await states()).to.deep.equal({ done: 'settled' });
    await ingestion.workerGone('7', process.pid);
    expect(await states()).to.deep.equal({ done: 'settled', open: 'unknown' });
    expect(logs()).to.deep.equal([]);
    journal.close();
  });

  it('a dead writer is noticed without a message, and not confused with a live process that has its id now', async function () {
    if (process.platform !== 'linux') return this.skip();
    write(`0-${process.pid}-1.log`, header('another boot:123'), intentText(intentOf('open')));
    await ingest().flush();
    expect(await states()).to.deep.equal({ open: 'unknown' });
  });

  it('of several attempts the last is what is reserved', async () => {
    write(
      `0-${deadPid()}-1.log`,
      header(),
      intentText(intentOf('a', { reserved: 1, provider: 'openai' })),
      intentText(intentOf('a', { reserved: 2, provider: 'anthropic' })),
    );
    await ingest().flush();
    expect((await rows()).map(({ cost, provider }) => [cost, provider])).to.deep.equal([[2, 'anthropic']]);
  });

  it('a late intent of a settled id is ignored', async () => {
    write(`0-${deadPid()}-1.log`, header(), settlementText(settlementOf('a')), intentText(intentOf('a')));
    await ingest().flush();
    expect(await states()).to.deep.equal({ a: 'settled' });
  });

  it('an intent in one file and its settlement in a later one belong together, across a restart too', async () => {
    const journal = openJournal({ dir, worker: '0', maxFileBytes: 1500, onProblem });
    journal.intend(intentOf('long'));
    for (let i = 0; i < 20; i++) {
      journal.intend(intentOf(`short-${i}`));
      journal.settle(settlementOf(`short-${i}`));
    }
    await pause(5);
    const before = logs().length;
    const first = ingest();
    await first.flush();
    expect(before).to.be.greaterThan(3);
    expect(logs()).to.have.length(1);
    await first.stop();

    const second = ingest();
    await second.flush();
    expect(await rows()).to.have.length(20);
    journal.settle(settlementOf('long'));
    journal.intend(intentOf('left'));
    journal.close();
    await second.workerGone('0', process.pid);
    const found = await states();
    expect(found['long']).to.equal('settled');
    expect(found['left']).to.equal('unknown');
    expect(Object.keys(found)).to.have.length(22);
    expect(await ledger.openIntents()).to.deep.equal([]);
    expect(await ledger.positions()).to.deep.equal(new Map());
  });

  it('what was carried over of a writer that died meanwhile becomes unknown', async () => {
    const journal = openJournal({ dir, worker: '0', maxFileBytes: 1000, onProblem });
    for (let i = 0; i < 10; i++) journal.intend(intentOf(`open-${i}`));
    const first = ingest();
    await first.flush();
    await first.stop();
    journal.close();
    expect((await ledger.openIntents()).length).to.be.greaterThan(5);
    // As after a reboot: its files are gone, or it is.
    for (const name of logs()) rmSync(join(dir, name));
    await ledger.apply({
      settled: null,
      unknown: [],
      positions: new Map(),
      closed: [],
      opened: (await ledger.openIntents()).map((intent) => ({ ...intent, writer: `0 ${deadPid()} gone` })),
    });
    await ingest().flush();
    const found = Object.values(await states());
    expect(found.length).to.be.greaterThan(5);
    expect(new Set(found)).to.deep.equal(new Set(['unknown']));
  });

  it('bytes that are no record are skipped and reported, and cost none of their neighbours', async () => {
    const good = ['a', 'b', 'c'].map((id) => settlementText(settlementOf(id)));
    const torn = settlementText(settlementOf('torn'));
    const plain = (n: number): string =>
      settlementText(settlementOf(`0190a1b2-0000-7000-8000-00000000000${n}`));
    write(
      `0-${deadPid()}-1.log`,
      header(),
      good[0] ?? '',
      `${torn.slice(0, 200)}\n`,
      // Ends like a record, and is none.
      `${torn.slice(0, torn.indexOf(']') + 1)}\n`,
      'S["x",1\u0000\u0000]\n',
      'S["y",null,null]\n',
      // One torn and another behind it, each plain.
      `${plain(1).slice(0, 300)}${plain(2)}`,
      `${plain(3).slice(0, 12)}${plain(4)}`,
      plain(5).replace(/\](\d+),(\d+)\n$/, ']$10,$2\n'),
      good[1] ?? '',
      `${'\u0000'.repeat(300)}\n`,
      'I["z",]\n',
      good[2] ?? '',
    );
    const ingestion = ingest();
    await ingestion.flush();
    await ingestion.flush();
    expect(await states()).to.deep.equal({ a: 'settled', b: 'settled', c: 'settled' });
    expect(problems.join('\n')).to.match(/are no record and were skipped/);
    expect(logs()).to.deep.equal([]);
  });

  it('a hole in a line whose ends are sound costs none of its neighbours', async () => {
    const ids = [1, 2, 3].map((n) => `0190a1b2-0000-7000-8000-00000000000${n}`);
    const [a = '', b = '', c = ''] = ids.map((id) => settlementText(settlementOf(id)));
    write(`0-${deadPid()}-1.log`, header(), a, `${b.slice(0, 200)}${'\u0000'.repeat(50)}${b.slice(250)}`, c);
    const ingestion = ingest();
    await ingestion.flush();
    await ingestion.flush();
    expect(Object.keys(await states())).to.have.members([ids[0], ids[2]]);
    expect(problems.join('\n')).to.match(/are no record and were skipped/);
  });

  it('a file that was read and not yet deleted when the process died is not counted again', async () => {
    const name = `0-${deadPid()}-1.log`;
    write(
      name,
      header(),
      intentText(intentOf('a')),
      settlementText(settlementOf('a')),
      intentText(intentOf('b')),
    );
    copyFileSync(join(dir, name), join(dataDir, 'kept'));
    await ingest().flush();
    copyFileSync(join(dataDir, 'kept'), join(dir, name));
    await ingest().flush();
    expect(await states()).to.deep.equal({ a: 'settled', b: 'unknown' });
    expect(await rows()).to.have.length(2);
  });

  it('while the ledger cannot be written nothing is lost; it goes on where it was', async () => {
    const journal = openJournal({ dir, worker: '0', onProblem });
    let broken = true;
    const full = Object.assign(new Error('disk is full'), { code: 'SQLITE_FULL' });
    const failing: Ledger = {
      keepBodies: null,
      apply: (batch) => (broken ? Promise.reject(full) : ledger.apply(batch)),
      positions: () => ledger.positions(),
      openIntents: () => ledger.openIntents(),
      changes: (after, limit) => ledger.changes(after, limit),
      checkpoint: () => ledger.checkpoint(),
      recent: (filter) => ledger.recent(filter),
      page: (query) => ledger.page(query),
      follow: (following) => ledger.follow(following),
      get: (organisation, id) => ledger.get(organisation, id),
      bodies: (organisation, id) => ledger.bodies(organisation, id),
      allBodies: (organisation, id) => ledger.allBodies(organisation, id),
      usage: (filter) => ledger.usage(filter),
      close: () => ledger.close(),
    };
    const ingestion = ingest(failing);
    for (let i = 0; i < 5; i++) {
      journal.settle(settlementOf(`id-${i}`));
      await pause(2);
      await ingestion.flush();
    }
    expect(problems).to.deep.equal(['Journals cannot be turned into the ledger now: disk is full']);
    broken = false;
    await ingestion.flush();
    expect(await rows()).to.have.length(5);
    journal.close();
  });

  describe('of real processes, killed', () => {
    const children: ChildProcess[] = [];
    const start = (script: string, ...given: string[]): ChildProcess => {
      const child = spawn(process.execPath, [builtProgram(`fault/${script}`), ...given], {
        stdio: ['ignore', 'pipe', 'inherit'],
      });
      children.push(child);
      return child;
    };
    const kill = async (child: ChildProcess): Promise<void> => {
      child.kill('SIGKILL');
      if (child.exitCode === null && child.signalCode === null) await once(child, 'exit');
    };
    after(() => {
      for (const child of children) child.kill('SIGKILL');
    });

    const upstream = (): string => join(dataDir, 'upstream');
    /** What an upstream has seen is in the ledger, once; nothing else is, but for an intent written just before the end. */
    const compare = async (writers: number): Promise<{ seen: number; unknown: number }> => {
      const seen = readFileSync(upstream(), 'utf8')
        .split('\n')
        .filter((id) => id.length === 36);
      const found = await rows();
      const ids = new Set(found.map(({ id }) => id));
      expect(ids.size).to.equal(found.length);
      const missing = seen.filter((id) => !ids.has(id));
      expect(missing, problems.join('\n')).to.deep.equal([]);
      expect(found.length - seen.length).to.be.within(0, writers);
      return { seen: seen.length, unknown: found.filter(({ state }) => state === 'unknown').length };
    };
    const started = async (file: string): Promise<void> => {
      for (let i = 0; i < 500 && !(existsSync(file) && readFileSync(file).length > 0); i++) await pause(10);
    };

    it('a writer at full speed loses nothing and doubles nothing', async function () {
      this.timeout(30_000);
      const ingestion = startIngestion({ dir, ledger, onProblem, intervalMs: 10 });
      ingestions.push(ingestion);
      const rounds = isLong ? 3 : 2;
      for (let round = 0; round < rounds; round++) {
        const before = existsSync(upstream()) ? readFileSync(upstream()).length : 0;
        const writer = start('journal-writer', dir, upstream());
        for (
          let i = 0;
          i < 500 && (existsSync(upstream()) ? readFileSync(upstream()).length : 0) === before;
          i++
        )
          await pause(10);
        await pause(200 + Math.random() * 200);
        await kill(writer);
        await ingestion.workerGone('0', writer.pid ?? 0);
      }
      const { seen, unknown } = await compare(rounds);
      expect(seen).to.be.greaterThan(50);
      expect(unknown).to.be.greaterThan(0);
      expect(logs()).to.deep.equal([]);
      expect(problems).to.deep.equal([]);
    });

    const kills = isLong ? 5 : 2;

    it('ingestion killed again and again in the middle of it loses nothing and doubles nothing', async function () {
      this.timeout(60_000);
      const writer = start('journal-writer', dir, upstream());
      await started(upstream());
      for (let round = 0; round < kills; round++) {
        const ingester = start('journal-ingester', dataDir);
        await once(ingester.stdout ?? ingester, 'data');
        await pause(Math.random() * 150);
        await kill(ingester);
        // The last round finds the writer dead.
        if (round === kills - 2) await kill(writer);
      }
      await ingest().flush();
      const { seen, unknown } = await compare(1);
      expect(seen).to.be.greaterThan(50);
      expect(unknown).to.be.greaterThan(0);
      expect(logs()).to.deep.equal([]);
      expect(await ledger.openIntents()).to.deep.equal([]);
    });
  });
});
