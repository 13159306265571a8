import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readdirSync, readFileSync, rmSync, unlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setImmediate as nextTurn, setTimeout as pause } from 'node:timers/promises';
import { expect } from 'chai';
import fc from 'fast-check';
import type { Charge } from '../../src/common/core/charges.js';
import { ledgerVersion } from '../../src/common/ledger/fields.js';
import { intentFields } from '../../src/common/ledger/intent-fields.js';
import { formatOf } from '../../src/common/ledger/journal-format.js';
import type { LedgerRow, Settlement } from '../../src/common/ledger/record.js';
import { restOf, unknownRow } from '../../src/common/ledger/rows.js';
import { isAlive, ownIdentity } from '../../src/common/ledger/writer.js';
import { openJournal } from '../../src/data-plane/journal/journal.js';
import { intentOf, org, settlementOf } from '../fault/journal-records.js';
import { loadedFile, loading } from '../support/loading.js';
import { arrayOf, intentText, settlementText } from '../support/record-lines.js';
import { scaled, TimeLimitError } from '../support/time-limits.js';

const current = formatOf(ledgerVersion)!;
const node = '0190a1b2-0000-7000-8000-0000000000a1';
const rowFrom = (line: string): LedgerRow => current.settlement(arrayOf(line), node);

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

/** Of a line: `I one`. */
function kindAndId(line: string): string {
  const { id } = line[0] === 'I' ? current.intent(line.slice(1)) : rowFrom(line);
  return `${line[0]} ${id}`;
}

async function until(what: () => boolean): Promise<void> {
  const end = performance.now() + scaled(3000);
  while (!what() && performance.now() < end) await pause(10);
  if (!what()) throw new TimeLimitError(`never happened: ${what}`);
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
    slug: maybe,
    integration: maybe,
    user: maybe,
    prompt: maybe,
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
            slug: maybe,
            integration: maybe,
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
        const { slug, integration, attempts } = change;
        // A single attempt has what the row has.
        const single = attempts.map((attempt) => ({ ...attempt, slug, integration }));
        const given = settlementOf('0190a1b2-0000-7000-8000-000000000001', {
          ...change,
          attempts: attempts.length > 1 ? attempts : single,
        });
        const line = settlementText(given);
        expect(line).to.match(/^S\[[\x20-\x7f]*\][\d,]*\n$/);
        expect(rowFrom(line)).to.deep.equal({ ...given, state: 'settled', node });
        const written = JSON.parse(arrayOf(line)) as unknown[];
        expect(written.at(-1)).to.deep.equal(restOf(rowFrom(line)));
      }),
    );
  });

  it('holds the slug of the stored provider, and reads rows without one', () => {
    const id = '0190a1b2-0000-7000-8000-000000000001';
    const slugOf = (line: string): string | null => rowFrom(line).slug;
    expect(slugOf(settlementText(settlementOf(id, { slug: 'main' })))).to.equal('main');
    expect(slugOf(settlementText(settlementOf(id, { slug: null })))).to.equal(null);
    const route = [{ kind: 'chosen', target: 'config', because: 'weight' }] as unknown as Settlement['route'];
    const both = rowFrom(settlementText(settlementOf(id, { slug: 'main', route })));
    expect(both).to.deep.include({ slug: 'main', route });
  });

  it("has a settlement's length at its end, and where the row's own fields begin, if they fit their slots", () => {
    const id = '0190a1b2-0000-7000-8000-000000000001';
    const foot = (given: Settlement): string[] => {
      const line = settlementText(given);
      const array = arrayOf(line);
      const [length, row] = line.slice(1 + array.length, -1).split(',');
      if (length !== '') expect(array).to.have.length(Number(length));
      return row === undefined ? [] : [array.slice(Number(row), Number(row) + 38)];
    };
    for (const change of [
      {},
      { trace: 'abc' },
      { key: null },
      { workspace: null },
      { org: `"${'-'.repeat(35)}` },
      { metadata: { a: 'é"' } },
    ]) {
      expect(foot(settlementOf(id, change)), JSON.stringify(change)).to.deep.equal([`"${id}"`]);
    }
    for (const change of [
      { trace: 'a"b' },
      { trace: '' },
      { trace: 'a ' },
      { trace: 'x'.repeat(65) },
      { id: 'short' },
      { id: `"${'-'.repeat(35)}` },
    ]) {
      expect(settlementText(settlementOf(id, change)), JSON.stringify(change)).to.match(/\]\n$/);
    }
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
    expect(one.match(/usage/g)).to.equal(null);
    expect(rowFrom(one).attempts[0]).to.deep.include({ usage, cost: 31 });
    const lost = { ...attempt!, error: 'hedge_lost' as const, usage: { ...usage, output: 0 }, cost: 4 };
    const won = { ...attempt!, usage, cost: 31 };
    const failed = { ...attempt!, status: 0, error: 'upstream_reset' as const, usage: null, cost: null };
    const given = settlementOf('two', { usage, cost: 35, attempts: [failed, lost, won] });
    expect(rowFrom(settlementText(given)).attempts).to.deep.equal(given.attempts);
  });

  it('has what a request holds back of budgets in its intent, and what it used of them in its settlement', () => {
    const id = '0190a1b2-0000-7000-8000-000000000001';
    const charges: Charge[] = [
      [
        `${org}/api_key/k/cost`,
        1_790_000_000_000,
        1_790_600_000_000,
        5_000_000_000,
        4_000_000_000,
        1_234_567,
      ],
      [`${org}/usage_limits_policy/p/tokens/model:"é"`, 1_790_000_000_000, null, 1000, null, 0],
    ];
    const intent = intentText(intentOf(id, { charges }));
    expect(unknownRow(current.intent(intent.slice(1, -1)), node).charges).to.deep.equal(charges);
    expect(rowFrom(settlementText(settlementOf(id, { charges }))).charges).to.deep.equal(charges);
    const without = [intentText(intentOf(id)), settlementText(settlementOf(id))];
    expect(without.filter((line) => line.includes('charges'))).to.deep.equal([]);
    expect(JSON.parse(without[0]!.slice(1))).to.have.length(intentFields.length);
    expect(current.intent(without[0]!.slice(1, -1)).charges).to.equal(null);
    expect(rowFrom(without[1]!).charges).to.equal(null);
  });

  it('turns an intent into a row at its reserved cost, or refuses its torn text', () => {
    const given = intentOf('0190a1b2-0000-7000-8000-000000000001', { path: '/v1/é"', reserved: 77 });
    const line = intentText(given).slice(1, -1);
    expect(current.intent(line)).to.deep.equal(given);
    expect(unknownRow(current.intent(line), node)).to.include({
      state: 'unknown',
      node,
      cost: 77,
      path: '/v1/é"',
      status: 0,
      configVersion: null,
      modelAsked: 'gpt-4o-mini',
    });
    for (let length = 0; length < line.length; length++) {
      expect(() => current.intent(line.slice(0, length)), line.slice(0, length)).to.throw(SyntaxError);
    }
  });

  it('keeps what stages add under their names', () => {
    const stages = { guardrails: { verdict: 'é', ms: 3 } };
    expect(rowFrom(settlementText(settlementOf('one', { stages })))).to.deep.include({ stages });
  });
});

describe('who wrote a journal', () => {
  it('is distinguished from a later process with the same id', () => {
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
    expect(linesOf(dir).map(kindAndId)).to.deep.equal(['I one', 'S one', 'S two']);
    journal.close();
  });

  it('keeps the order of settlements and intents of one turn', async () => {
    const journal = open();
    journal.settle(settlementOf('one'));
    journal.intend(intentOf('two'));
    expect(linesOf(dir).map(kindAndId)).to.deep.equal(['S one', 'I two']);
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

  it('that cannot be opened reports so once, keeps its records in memory, and writes them once it can be', async () => {
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
    const script = loadedFile('test/fault/journal-full-disk.ts');
    const command = `trap '' XFSZ; ulimit -S -f 20; exec '${process.execPath}' ${loading.join(' ')} '${script}' '${dir}'`;
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

  it('keeps headers with the bodies, also very long ones', async () => {
    const journal = open();
    const headersOf = (value: string) => JSON.stringify({ request: { 'x-long': value } });
    const bodies = { at: 1, org: 'o', workspace: 'w', request: null, response: 'yes', cut: true };
    const [long, short] = [headersOf('x'.repeat(100_000)), headersOf('short')];
    journal.keepBodies({ ...bodies, id: 'one', headers: Buffer.from(long) });
    journal.keepBodies({ ...bodies, id: 'two', headers: Buffer.from(short) });
    journal.close();
    expect(readFileSync(join(dir, files(dir, '.bodies')[0] ?? ''), 'utf8')).to.equal(
      `B["one",1,"o","w",1,${long},-1,3]\nyes\nB["two",1,"o","w",1,${short},-1,3]\nyes\n`,
    );
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
