import { expect } from 'chai';
import { PartFailed, PartList, type ProcessPart } from '../../src/process/part-list.js';
import { expectWithinMs } from '../support/time-limits.js';

describe('the parts of a process', () => {
  let happened: string[];
  let logged: { part?: string; text: string }[];
  const log = {
    info() {},
    warn() {},
    error(fields: { part?: string }, text: string) {
      logged.push({ ...(fields.part === undefined ? {} : { part: fields.part }), text });
    },
  };

  beforeEach(() => {
    happened = [];
    logged = [];
  });

  const part = (name: string, more: Partial<ProcessPart<object, void>> = {}): ProcessPart<object, void> => ({
    name,
    start() {
      happened.push(`start ${name}`);
    },
    stop() {
      happened.push(`stop ${name}`);
    },
    ...more,
  });
  const failing = (name: string): ProcessPart<object, void> =>
    part(name, { start: () => Promise.reject(new Error('The disk is full.')) });
  const rejection = (work: Promise<unknown>): Promise<Error> =>
    work.then(
      () => expect.fail('it did not reject'),
      (error: Error) => error,
    );

  it('start in their order, each with what those before it gave, and stop in the opposite order', async () => {
    const store: ProcessPart<object, { store: string }> = {
      name: 'store',
      start: async () => ({ store: 'records' }),
      stop: ({ store }) => void happened.push(`stop ${store}`),
    };
    const server: ProcessPart<{ store: string; host: string }, { port: number }> = {
      name: 'server',
      start({ store, host }) {
        happened.push(`start ${host} with ${store}`);
        return { port: 8080 };
      },
      stop: ({ port }) => void happened.push(`stop ${port}`),
    };
    const parts = PartList.given<{ host: string }>().with(store).with(part('schedule')).with(server);
    const running = parts.running({ host: 'localhost' }, log);
    const given = await running.start();
    expect(given).to.deep.equal({ host: 'localhost', store: 'records', port: 8080 });
    await running.stop();
    expect(happened).to.deep.equal([
      'start schedule',
      'start localhost with records',
      'stop 8080',
      'stop schedule',
      'stop records',
    ]);
  });

  it('stop in the opposite order where a later one does not start, which the error names', async () => {
    const parts = PartList.given<object>()
      .with(part('store'))
      .with(part('ledger'))
      .with(failing('cache'))
      .with(part('server'));
    const error = await rejection(parts.running({}, log).start());
    expect(error).to.be.instanceOf(PartFailed);
    expect(error.message).to.equal('The disk is full. (while starting the cache)');
    expect((error as PartFailed).cause).to.have.property('message', 'The disk is full.');
    expect(error.stack).to.match(
      /^Error: The disk is full\.\n[\s\S]*part-list\.test[\s\S]*while starting the cache$/,
    );
    expect(happened).to.deep.equal(['start store', 'start ledger', 'stop ledger', 'stop store']);
  });

  it('are stopped though one hangs, which is given up at its deadline', async () => {
    const hanging = part('server', { stopMs: 100, stop: () => new Promise(() => {}) });
    const running = PartList.given<object>().with(part('store')).with(hanging).running({}, log);
    await running.start();
    const began = performance.now();
    const error = await rejection(running.stop());
    expectWithinMs(performance.now() - began, 1000, { atLeast: 95 });
    expect(error.message).to.equal('The server did not stop within 100 ms.');
    expect(logged).to.deep.equal([{ part: 'server', text: 'The server did not stop in order.' }]);
    expect(happened.at(-1)).to.equal('stop store');
  });

  it('are stopped though one fails to, and only once', async () => {
    const broken = part('server', { stop: () => Promise.reject(new Error('The socket is gone.')) });
    const running = PartList.given<object>().with(part('store')).with(broken).running({}, log);
    await running.start();
    const [first, second] = [running.stop(), running.stop()];
    expect(first).to.equal(second);
    expect((await rejection(first)).message).to.equal('The socket is gone.');
    expect(happened).to.deep.equal(['start store', 'start server', 'stop store']);
  });

  it('take no new work, all of them, before the first is stopped', async () => {
    const draining = (name: string): ProcessPart<object, void> =>
      part(name, { drain: () => void happened.push(`drain ${name}`) });
    const running = PartList.given<object>()
      .with(draining('administration'))
      .with(draining('workers'))
      .running({}, log);
    await running.start();
    happened = [];
    await running.stop();
    expect(happened).to.deep.equal([
      'drain workers',
      'drain administration',
      'stop workers',
      'stop administration',
    ]);
  });

  it('that are stopped while they start do not start any further', async () => {
    const running = PartList.given<object>()
      .with(part('store'))
      .with(
        part('ledger', {
          async start() {
            happened.push('start ledger');
            await running.stop();
          },
        }),
      )
      .with(part('server'))
      .running({}, log);
    expect((await rejection(running.start())).message).to.include('The process is stopping.');
    expect(happened).to.deep.equal(['start store', 'start ledger', 'stop store', 'stop ledger']);
  });
});
