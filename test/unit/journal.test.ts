import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readdirSync, readFileSync, rmSync, unlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setImmediate as nextTurn, setTimeout as pause } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { expect } from 'chai';
import fc from 'fast-check';
import { openJournal } from '../../src/ledger/journal.js';
import type { Settlement } from '../../src/ledger/record.js';
import { rowFromText, unknownRowText } from '../../src/ledger/record-text.js';
import { isAlive, ownIdentity } from '../../src/ledger/writer.js';
import { intentOf, settlementOf } from '../fault/journal-records.js';
import { arrayOf, intentText, settlementText } from '../support/record-lines.js';

const files = (dir: string, kind = '.log'): string[] =>
  readdirSync(dir)
    .filter((name) => name.endsWith(kind))
    .sort();
const linesOf = (dir: string): string[] =>
  files(dir).flatMap((name) =>
    readFileSync(join(dir, name), 'utf8')
      .split('\n')
      .filter((line) => /^[IS]/.test(line)),
  );

async function until(what: () => boolean): Promise<void> {
  for (let i = 0; i < 300 && !what(); i++) await pause(10);
  expect(what()).to.equal(true);
}

describe('the text of a journal', () => {
  const text = fc.string({
    unit: fc.oneof(
      fc.constantFrom('"', '\\', '\n', '\u2028', 'é', '😀', '\u0000', '\u007f'),
      fc.string({ minLength: 1, maxLength: 1 }),
    ),
  });
  const maybe = fc.option(text);
  const whole = fc.nat();
  const usage = fc.record({
    input: whole,
    output: whole,
    cached: whole,
    cacheWrite: whole,
    reasoning: whole,
    source: fc.constantFrom('provider' as const, 'counted' as const, 'none' as const),
  });
  const used = fc.oneof(
    fc.record({ usage: fc.constant(null), cost: fc.constant(null) }),
    fc.record({ usage, cost: fc.option(fc.maxSafeNat()) }),
  );
  const settlement = fc.record({
    path: text,
    provider: maybe,
    modelUsed: maybe,
    modelAsked: maybe,
    key: maybe,
    workspace: maybe,
    configVersion: text,
    error: maybe,
    errorMessage: maybe,
    stream: fc.boolean(),
    firstByteMs: fc.option(fc.nat().map((micros) => micros / 1000)),
    cost: fc.option(fc.maxSafeNat()),
    retries: fc.integer({ min: -1, max: 5 }),
    usage,
    metadata: fc.dictionary(
      text.filter((name) => name !== '__proto__'),
      text,
      { noNullPrototype: true },
    ),
    dropped: fc.array(text),
    trace: text,
    attempts: fc.array(
      fc
        .tuple(
          fc.record({
            target: text,
            provider: text,
            model: maybe,
            startedAt: whole,
            status: whole,
            error: fc.constantFrom(null, 'upstream_idle_timeout' as const),
            durationMs: whole,
          }),
          used,
        )
        .map(([attempt, use]) => ({ ...attempt, ...use })),
    ),
  });

  it('holds any settlement, in one line of ASCII', () => {
    fc.assert(
      fc.property(settlement, (change) => {
        const given = settlementOf('0190a1b2-0000-7000-8000-000000000001', change);
        const line = settlementText(given);
        expect(line).to.match(/^S\[[\x20-\x7f]*\][\d,]*\n$/);
        expect(rowFromText(arrayOf(line), 'settled')).to.deep.equal({ ...given, state: 'settled' });
      }),
    );
  });

  it("tells a plain settlement's length, and where its trace begins if that is its own", () => {
    const id = '0190a1b2-0000-7000-8000-000000000001';
    const foot = (given: Settlement): string[] => {
      const line = settlementText(given);
      const array = arrayOf(line);
      const [length, start] = line.slice(1 + array.length, -1).split(',');
      if (length !== '') expect(array).to.have.length(Number(length));
      return start === undefined ? [] : [array.slice(Number(start), Number(start) + 3)];
    };
    expect(settlementText(settlementOf(id))).to.match(/\]\d{3}\n$/);
    expect(foot(settlementOf(id))).to.deep.equal([]);
    expect(foot(settlementOf(id, { trace: 'abc' }))).to.deep.equal(['abc']);
    for (const change of [
      { trace: 'a"b' },
      { trace: 'x'.repeat(300) },
      { key: null },
      { org: `"${'-'.repeat(35)}` },
    ]) {
      expect(settlementText(settlementOf(id, change)), JSON.stringify(change)).to.match(/\]\n$/);
    }
    expect(settlementText(settlementOf('short'))).to.match(/\]\n$/);
  });

  it('holds what each of several attempts used, and of a single one not twice', () => {
    const usage = {
      input: 9,
      output: 8,
      cached: 7,
      cacheWrite: 6,
      reasoning: 5,
      source: 'provider' as const,
    };
    const [attempt] = settlementOf('one').attempts;
    const one = settlementText(settlementOf('one', { usage, cost: 31 }));
    expect(one.match(/9,8,7,6,5,"provider"/g)).to.have.length(1);
    const lost = { ...attempt!, error: 'hedge_lost' as const, usage: { ...usage, output: 0 }, cost: 4 };
    const won = { ...attempt!, usage, cost: 31 };
    const failed = { ...attempt!, status: 0, error: 'upstream_reset' as const, usage: null, cost: null };
    const given = settlementOf('two', { usage, cost: 35, attempts: [failed, lost, won] });
    expect(rowFromText(arrayOf(settlementText(given)), 'settled').attempts).to.deep.equal(given.attempts);
  });

  it('reads attempts of before they had a usage of their own', () => {
    const attempts = '["t","openai","m",0,500,null,1],["u","openai","m",2,200,null,3]';
    const text = arrayOf(settlementText(settlementOf('one', { attempts: [] }))).replace(
      '[]',
      `[${attempts}]`,
    );
    const row = rowFromText(text, 'settled');
    expect(row.attempts.map(({ target, usage, cost }) => [target, usage, cost])).to.deep.equal([
      ['t', null, null],
      ['u', null, null],
    ]);
  });

  it('turns an intent into a row at its reserved cost, or refuses its torn text', () => {
    const line = intentText(
      intentOf('0190a1b2-0000-7000-8000-000000000001', { path: '/v1/é"', reserved: 77 }),
    ).slice(1, -1);
    const row = rowFromText(unknownRowText(line), 'unknown');
    expect(row).to.include({
      state: 'unknown',
      cost: 77,
      path: '/v1/é"',
      status: 0,
      configVersion: null,
      modelAsked: 'gpt-4o-mini',
    });
    for (let length = 0; length < line.length; length++) {
      expect(() => unknownRowText(line.slice(0, length)), line.slice(0, length)).to.throw(SyntaxError);
    }
  });
});

describe('who wrote a journal', () => {
  it('is told from a later process with the same id', () => {
    expect(isAlive(process.pid, ownIdentity())).to.equal(true);
    expect(isAlive(process.pid, '')).to.equal(true);
    if (process.platform === 'linux') expect(isAlive(process.pid, `${ownIdentity()}0`)).to.equal(false);
    const { pid } = spawnSync('true');
    expect(isAlive(pid, '')).to.equal(false);
  });
});

describe('a journal', () => {
  let dir: string;
  const problems: string[] = [];
  const open = (more = {}) =>
    openJournal({ dir, worker: '3', onProblem: (error) => problems.push(error.message), ...more });

  beforeEach(() => {
    dir = mkdtempSync(join(tmpdir(), 'journal-'));
    problems.length = 0;
  });
  afterEach(() => rmSync(dir, { recursive: true, force: true }));

  it('has an intent on file when it returns, and a settlement by the end of the turn', async () => {
    const journal = open();
    journal.intend(intentOf('one'));
    expect(linesOf(dir)).to.have.length(1);
    journal.settle(settlementOf('one'));
    journal.settle(settlementOf('two'));
    expect(linesOf(dir)).to.have.length(1);
    await nextTurn();
    expect(linesOf(dir).map((line) => line.slice(0, 6))).to.deep.equal(['I["one', 'S["one', 'S["two']);
    journal.close();
  });

  it('keeps the order of settlements and intents of one turn', async () => {
    const journal = open();
    journal.settle(settlementOf('one'));
    journal.intend(intentOf('two'));
    expect(linesOf(dir).map((line) => line.slice(0, 6))).to.deep.equal(['S["one', 'I["two']);
    journal.close();
  });

  it('holds a record larger than its buffer', async () => {
    const journal = open();
    journal.settle(settlementOf('one', { errorMessage: 'x'.repeat(200_000) }));
    journal.close();
    expect(linesOf(dir)[0]).to.have.length.greaterThan(200_000);
  });

  it('goes on in another file when one is full, and never writes to a name twice', async () => {
    const journal = open({ maxFileBytes: 2000 });
    for (let i = 0; i < 40; i++) journal.intend(intentOf(`id-${i}`));
    journal.close();
    expect(files(dir)).to.have.length.greaterThan(4);
    expect(linesOf(dir).map((line) => line.split('"')[1])).to.deep.equal(
      Array.from({ length: 40 }, (_, i) => `id-${i}`),
    );
    const before = files(dir);
    open().close();
    expect(files(dir)).to.have.length(before.length + 1);
    expect(files(dir)).to.include.members(before);
  });

  it('that cannot be opened says so once, keeps its records in memory, and has them on file once it can be', async () => {
    const path = join(dir, 'journal');
    writeFileSync(path, 'a file in the way');
    const journal = openJournal({
      dir: path,
      worker: '0',
      onProblem: (error) => problems.push(error.message),
    });
    expect(journal.healthy).to.equal(false);
    for (let i = 0; i < 1000; i++) journal.intend(intentOf(`id-${i}`));
    journal.settle(settlementOf('id-0'));
    await pause(600);
    expect(problems).to.have.length(1);
    expect(problems[0]).to.match(/cannot be written/);
    unlinkSync(path);
    await until(() => journal.healthy);
    expect(linesOf(path)).to.have.length(1001);
    expect(journal.dropped).to.equal(0);
    journal.close();
  });

  it('drops and counts what does not fit into memory either', () => {
    const path = join(dir, 'journal');
    writeFileSync(path, 'a file in the way');
    const journal = openJournal({ dir: path, worker: '0', onProblem: () => {} });
    const large = 'x'.repeat(1024 * 1024);
    for (let i = 0; i < 20; i++) journal.settle(settlementOf(`id-${i}`, { errorMessage: large }));
    expect(journal.dropped).to.be.within(12, 14);
    journal.close();
  });

  it('survives a disk that fills up in the middle of a record, and goes on where it stopped', async function () {
    if (spawnSync('prlimit', ['--version']).status !== 0) return this.skip();
    const script = fileURLToPath(new URL('../fault/journal-full-disk.ts', import.meta.url));
    const command = `trap '' XFSZ; ulimit -S -f 20; exec '${process.execPath}' --import tsx '${script}' '${dir}'`;
    const child = spawn('bash', ['-c', command], { stdio: ['ignore', 'pipe', 'inherit'] });
    let said = '';
    child.stdout.setEncoding('utf8').on('data', (text) => {
      said += text;
      if (said.includes('unhealthy')) spawnSync('prlimit', ['--fsize=unlimited', '--pid', String(child.pid)]);
    });
    const [code] = await once(child, 'exit');
    expect(code).to.equal(0);
    expect(said.match(/problem/g)).to.have.length(1);
    expect(said).to.match(/unhealthy[\s\S]*healthy again/);
    const ids = linesOf(dir).map((line) => (JSON.parse(line.slice(1)) as string[])[0]);
    expect(ids).to.deep.equal(Array.from({ length: 200 }, (_, i) => `id-${i}`));
  });

  it('keeps bodies apart, at most a quarter of a second late', async () => {
    const journal = open();
    journal.keepBodies({
      id: 'one',
      at: 1,
      org: 'o',
      workspace: null,
      request: Buffer.from('{"é":1}'),
      response: 'né',
      cut: false,
    });
    await until(
      () =>
        files(dir, '.bodies').length === 1 &&
        readFileSync(join(dir, files(dir, '.bodies')[0] ?? ''), 'utf8').endsWith('né\n'),
    );
    expect(readFileSync(join(dir, files(dir, '.bodies')[0] ?? ''), 'utf8')).to.equal(
      'B["one",1,"o",null,0,8,3]\n{"é":1}né\n',
    );
    expect(linesOf(dir)).to.deep.equal([]);
    journal.close();
  });

  it('drops and counts bodies that come faster than the disk takes them', async () => {
    const journal = open();
    const megabyte = Buffer.alloc(1024 * 1024);
    for (let i = 0; i < 40; i++)
      journal.keepBodies({
        id: `${i}`,
        at: 1,
        org: 'o',
        workspace: null,
        request: megabyte,
        response: null,
        cut: false,
      });
    expect(journal.droppedBodies).to.be.within(20, 28);
    journal.close();
  });
});
