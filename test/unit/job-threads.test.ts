import { readdirSync, readFileSync } from 'node:fs';
import { setTimeout as pause } from 'node:timers/promises';
import { expect } from 'chai';
import { JobThreads } from '../../src/common/threads/job-threads.js';
import { createBodyReader } from '../../src/data-plane/endpoints/body-reader.js';
import { findEndpoint } from '../../src/data-plane/endpoints/table.js';
import { createTokenCounter } from '../../src/data-plane/journal/token-counter.js';

describe('threads for jobs', () => {
  const create = (threads: number, spareThreads: number): JobThreads =>
    new JobThreads({ module: new URL('file:///none.js'), threads, spareThreads, heapMb: 16, idleMs: 1000 });

  /** Jobs that run at the same time at most, if each takes so many milliseconds. */
  async function mostAtOnce(jobs: JobThreads, times: readonly number[]): Promise<number> {
    let [now, most] = [0, 0];
    const use = async (ms: number): Promise<void> => {
      most = Math.max(most, ++now);
      await pause(ms);
      now--;
    };
    await Promise.all(times.map((ms) => jobs.inTurn(10_000, () => use(ms))));
    return most;
  }

  it('run as many short jobs at the same time as they may, and leave spare threads alone', async () => {
    expect(await mostAtOnce(create(1, 1), Array(20).fill(1))).to.equal(1);
    expect(await mostAtOnce(create(2, 1), Array(20).fill(1))).to.equal(2);
  });

  it('run a job in a spare thread while another one takes long', async () => {
    const jobs = create(1, 1);
    let isLongDone = false;
    const long = jobs.inTurn(10_000, () => pause(2000)).then(() => (isLongDone = true));
    const places = await Promise.all(
      Array.from({ length: 5 }, () =>
        jobs.inTurn(10_000, async (place) => {
          await pause(1);
          return place;
        }),
      ),
    );
    expect(isLongDone).to.equal(false);
    expect(new Set(places).size).to.equal(1);
    await long;
    expect(await mostAtOnce(jobs, [1, 1, 1])).to.equal(1);
  });

  it('let jobs wait while all of them take long, in their order', async () => {
    const jobs = create(1, 1);
    const done: number[] = [];
    const ask = (id: number, ms: number) => jobs.inTurn(10_000, () => pause(ms)).then(() => done.push(id));
    await Promise.all([ask(1, 300), ask(2, 600), ask(3, 1), ask(4, 1)]);
    expect(done).to.deep.equal([1, 3, 4, 2]);
  });

  it('leave the processor to the event loop, on Linux', async function () {
    if (process.platform !== 'linux') return this.skip();
    this.timeout(60_000);
    const lowered = (): number =>
      readdirSync('/proc/self/task').filter((task) => {
        const stat = readFileSync(`/proc/self/task/${task}/stat`, 'latin1');
        return Number(stat.slice(stat.lastIndexOf(')') + 2).split(' ')[16]) >= 10;
      }).length;
    const before = lowered();
    const reader = createBodyReader();
    const messages = Array(60_000).fill({ role: 'user', content: 'hello there, how are you today? ok' });
    const body = Buffer.from(JSON.stringify({ model: 'm', messages }));
    await reader.readLong(findEndpoint('POST', '/v1/chat/completions'), body);
    expect(lowered()).to.equal(before + 1);
    const counter = createTokenCounter({ maxQueue: 4, deadlineMs: 30_000 });
    await counter.count({
      ...{ format: 'openai-chat', model: 'gpt-4o', request: null, events: false },
      answer: Buffer.from('{"choices":[]}'),
    });
    expect(lowered()).to.equal(before + 2);
    await Promise.all([reader.close(), counter.close()]);
  });
});
