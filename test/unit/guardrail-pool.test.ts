import { readdirSync, readFileSync } from 'node:fs';
import { pathToFileURL } from 'node:url';
import { expect } from 'chai';
import { CheckPool, type CheckPoolOptions, type PoolResult } from '../../plugins/guardrails/pool/pool.js';
import { loadedFile } from '../support/loading.js';

const options: CheckPoolOptions = {
  deadlineMs: 300,
  waitMs: 60_000,
  threads: 1,
  spareThreads: 0,
  heapMb: 48,
  maxQueue: 3,
  maxQueueBytes: 1000,
};
const unruly = pathToFileURL(loadedFile('test/support/unruly-checks.ts'));

describe('the threads that run checks', function () {
  this.timeout(60_000);
  let pool: CheckPool;

  beforeEach(() => {
    pool = new CheckPool(options, unruly);
  });
  afterEach(() => pool.close());

  const run = (ids: readonly string[], text = 'text'): Promise<PoolResult[]> =>
    pool.run(
      'before',
      [text],
      ids.map((id) => ({ key: id, id, parameters: {} })),
    );
  const verdictsOf = (results: readonly PoolResult[]): unknown[] =>
    results.map((one) => (typeof one === 'string' ? one : one.result.verdict));

  it('end a check that never does, and run the others of its text again', async () => {
    expect(verdictsOf(await run(['quick', 'loop', 'other']))).to.deep.equal([true, 'timeout', true]);
    expect(verdictsOf(await run(['loop']))).to.deep.equal(['timeout']);
    expect(verdictsOf(await run(['quick']))).to.deep.equal([true]);
  });

  it('survive a check that uses too much memory, and one that ends its thread', async () => {
    const patient = new CheckPool({ ...options, deadlineMs: 30_000 }, unruly);
    const ask = async (id: string): Promise<unknown[]> =>
      verdictsOf(
        await patient.run(
          'before',
          ['text'],
          ['quick', id].map((one) => ({ key: one, id: one, parameters: {} })),
        ),
      );
    expect(await ask('heap')).to.deep.equal([true, 'thread_lost']);
    expect(await ask('exit')).to.deep.equal([true, 'thread_lost']);
    expect(await ask('quick')).to.deep.equal([true, true]);
    await patient.close();
  });

  it('take no more texts than they may, by number and by length, and others once there is room', async () => {
    const asked = ['loop', 'quick', 'quick', 'quick'].map((id) => run([id]));
    expect((await Promise.all(asked)).flatMap(verdictsOf)).to.deep.equal([
      'timeout',
      true,
      true,
      'queue_full',
    ]);
    expect(verdictsOf(await run(['quick'], 'x'.repeat(1001)))).to.deep.equal(['queue_full']);
    expect(verdictsOf(await run(['quick'], 'x'.repeat(1000)))).to.deep.equal([true]);
    expect(pool.queued).to.equal(0);
  });

  it('leave the processor to the event loop, on Linux', async function () {
    if (process.platform !== 'linux') return this.skip();
    const own = new CheckPool({ ...options, deadlineMs: 30_000 });
    await own.run('before', ['a'], [{ key: 'n', id: 'default.notNull', parameters: { not: false } }]);
    const priorities = readdirSync('/proc/self/task').map((task) => {
      const stat = readFileSync(`/proc/self/task/${task}/stat`, 'latin1');
      return Number(stat.slice(stat.lastIndexOf(')') + 2).split(' ')[16]);
    });
    expect(Math.max(...priorities)).to.be.at.least(10);
    await own.close();
  });

  it('get the parameters of a check once, and again after they have ended', async () => {
    const own = new CheckPool({ ...options, deadlineMs: 30_000 });
    const check = (maxWords: number) => [
      { key: `v:${maxWords}`, id: 'default.wordCount', parameters: { minWords: 0, maxWords, not: false } },
    ];
    for (const [maxWords, verdict] of [
      [1, false],
      [2, true],
      [1, false],
    ] as const)
      expect(verdictsOf(await own.run('before', ['two words'], check(maxWords)))).to.deep.equal([verdict]);
    await own.close();
    expect(verdictsOf(await own.run('before', ['two words'], check(1)))).to.deep.equal(['queue_full']);
  });
});
