import { expect } from 'chai';
import type { Grant, LimitRefusal, Wanted } from '../../plugins/limits/channel.js';
import { Counters } from '../../plugins/limits/control/counters.js';
import { RedisCounters } from '../../plugins/limits/control/redis-counters.js';
import { takeScript } from '../../plugins/limits/control/scripts.js';
import { Secret } from '../../src/common/access/secret.js';
import { Redis } from '../../src/control-plane/shared-state/redis.js';
import { nodesOf } from '../../src/process/stage-parts.js';
import { eventually } from '../support/gateway.js';
import { RedisServer } from '../support/redis.js';

const silent = { info() {}, warn() {}, error() {} };

const wanted = (more: Partial<Wanted> = {}): Wanted => ({
  counter: 'org/api_key/1/requests/rph',
  windowMs: 3_600_000,
  value: 30,
  amount: 1,
  isBounded: true,
  shadow: false,
  ...more,
});

describe('the counters of limits of several nodes', function () {
  this.timeout(30_000);
  let server: RedisServer;
  let redis: Redis[];
  let nodes: RedisCounters[];

  const start = async (without: 'local_share' | 'closed' = 'local_share'): Promise<void> => {
    redis = [0, 1, 2].map(
      () => new Redis({ url: new Secret(server.url), prefix: 'headgate:test:', log: silent }),
    );
    await eventually('all are connected', async () => redis.every(({ up }) => up));
    nodes = [];
    for (const connection of redis) {
      const own = new Counters({ workers: 1 });
      nodes.push(new RedisCounters({ nodes: nodesOf(connection), own, workers: 1, without, log: silent }));
    }
    // Each learns of those that came after it.
    await eventually('they know of each other', async () => {
      for (const node of nodes) await node.beat();
      return nodes.every(({ count }) => count === 3);
    });
  };

  beforeEach(async () => {
    server = await RedisServer.start();
  });
  afterEach(async () => {
    for (const node of nodes) node.close();
    for (const connection of redis) connection.close();
    await server.remove();
  });

  const isGranted = (answer: readonly Grant[] | LimitRefusal | null): answer is readonly Grant[] =>
    answer !== null && !('refused' in answer);
  /** How many of so many requests, in turn by all nodes, are let through. What is granted ahead goes back. */
  const through = async (requests: number, one = wanted()): Promise<number> => {
    let count = 0;
    for (let i = 0; i < requests; i++) {
      const node = nodes[i % 3]!;
      const answer = await node.take(0, [one]);
      if (!isGranted(answer)) continue;
      count++;
      const [{ extra, slot } = { extra: 0, slot: 0 }] = answer;
      if (extra > 0) {
        node.back(0, [{ counter: one.counter, windowMs: one.windowMs, slot, amount: extra }]);
        await new Promise((later) => setTimeout(later, 5));
      }
    }
    return count;
  };

  it('grant together as much as the limit, and name the wait', async () => {
    await start();
    expect(await through(45)).to.equal(30);
    const refusal = (await nodes[1]!.take(0, [wanted()])) as LimitRefusal;
    expect(refusal).to.include({ refused: 0, remaining: 0 });
    expect(refusal.waitMs).to.be.within(3_500_000, 3_660_000);
    expect(await nodes[0]!.take(0, [wanted({ counter: 'org/b', amount: 31 })])).to.include({ waitMs: null });
  });

  it('show on each what all have left, and by shares while Redis is away', async () => {
    await start();
    expect(await through(12)).to.equal(12);
    const under = { counter: 'org/api_key/1/concurrency/', windowMs: null, value: 5 };
    await nodes[1]!.take(0, [wanted({ ...under, amount: 2 })]);
    const left = (one = wanted()) => Promise.all(nodes.map((node) => node.left(one)));
    expect(await left()).to.deep.equal([18, 18, 18]);
    expect(await left(wanted(under))).to.deep.equal([3, 3, 3]);
    expect(await left(wanted({ counter: 'org/none' }))).to.deep.equal([30, 30, 30]);
    expect(await through(30)).to.equal(18);
    expect(await left()).to.deep.equal([0, 0, 0]);
    await server.kill();
    await eventually('Redis is away', async () => redis.every(({ up }) => !up));
    expect(await left(wanted({ counter: 'org/none' }))).to.deep.equal([10, 10, 10]);
  });

  it('grant all limits of a request or none', async () => {
    await start();
    const full = wanted({ counter: 'org/workspace/w/requests/rph', value: 0 });
    expect(await nodes[0]!.take(0, [wanted(), full])).to.include({ refused: 1 });
    expect(await through(31)).to.equal(30);
  });

  it('go on with their shares while Redis is away, and count together again when it is back with nothing', async () => {
    await start();
    expect(await through(15)).to.equal(15);
    await server.kill();
    // Each node had 5 and gets a third of the 15 that were left; a question of two nodes was not the last.
    const alone = await through(60);
    expect(15 + alone).to.be.within(27, 33);
    await server.start();
    await eventually('Redis answers again', async () => redis.every(({ up }) => up));
    // The nodes write what they have granted: the limit is used up.
    const first = await through(9);
    expect(15 + alone + first).to.be.at.most(33);
  });

  it('write what they granted alone when Redis is back with nothing, also of limits that no request meets', async () => {
    await start();
    expect(await through(15)).to.equal(15);
    await server.kill();
    const alone = await through(60);
    await server.start();
    const left = () => Promise.all(nodes.map((node) => node.left(wanted())));
    await eventually('Redis has what all have granted', async () =>
      (await left()).every((count) => redis.every(({ up }) => up) && count === Math.max(0, 15 - alone)),
    );
  });

  it('count for one what the others granted of a Redis that was emptied', async () => {
    await start();
    expect(await through(15)).to.equal(15);
    await server.command('FLUSHALL');
    let others = 0;
    for (let i = 0; i < 30; i++) if (isGranted(await nodes[0]!.take(0, [wanted()]))) others++;
    expect(others).to.be.within(1, 15);
    expect(await nodes[1]!.left(wanted())).to.equal(0);
  });

  it('count as many nodes as before when Redis is back with nothing', async () => {
    await start();
    await server.command('FLUSHALL');
    await nodes[0]!.beat();
    expect(nodes[0]!.count).to.equal(3);
  });

  it('keep to their shares at first when Redis is back for one before the others', async () => {
    await start();
    expect(await through(15)).to.equal(15);
    await server.kill();
    await eventually('Redis is away', async () => redis.every(({ up }) => !up));
    // Each notices by a question.
    expect(await through(3)).to.equal(3);
    await server.start();
    await eventually('Redis answers one again', async () => redis[0]!.up);
    let first = 0;
    for (let i = 0; i < 30; i++) if (isGranted(await nodes[0]!.take(0, [wanted()]))) first++;
    expect(first).to.be.within(1, 5);
  });

  it('refuse what they cannot count where they are to be closed without Redis', async () => {
    await start('closed');
    await server.kill();
    await eventually('Redis is away', async () => redis.every(({ up }) => !up));
    expect(await nodes[0]!.take(0, [wanted()])).to.equal(null);
    expect(await nodes[0]!.left(wanted())).to.equal(null);
  });

  it('limit requests under way on all nodes, and forget those of a node that gives them back', async () => {
    await start();
    const one = wanted({ counter: 'org/c', windowMs: null, value: 2 });
    expect(isGranted(await nodes[0]!.take(0, [one]))).to.equal(true);
    expect(isGranted(await nodes[1]!.take(0, [one]))).to.equal(true);
    expect(isGranted(await nodes[2]!.take(0, [one]))).to.equal(false);
    nodes[0]!.back(0, [{ counter: one.counter, windowMs: null, slot: 0, amount: 1 }]);
    await eventually('there is room', async () => isGranted(await nodes[2]!.take(0, [one])));
    nodes[1]!.gone(0);
    await eventually('those of a worker that has ended are over', async () =>
      isGranted(await nodes[0]!.take(0, [one])),
    );
  });

  const atOnce = wanted({ counter: 'org/api_key/1/concurrency/', windowMs: null, value: 1000 });
  const over = { counter: atOnce.counter, windowMs: null, slot: 0, amount: 1 };

  it('forget a request that Redis has counted when no one waited for its answer any more', async () => {
    await start('closed');
    const [first, second] = nodes as [RedisCounters, RedisCounters];
    server.freeze();
    expect(await first.take(0, [atOnce])).to.equal(null);
    server.thaw();
    await eventually('Redis answers again', async () => isGranted(await second.take(0, [atOnce])));
    await eventually('it has counted both', async () => (await second.left(atOnce)) === 998);
    await eventually('it counts the other one alone', async () => {
      // Further requests, which end at once.
      if (isGranted(await first.take(0, [atOnce]))) first.back(0, [over]);
      await first.beat();
      return (await second.left(atOnce)) === 999;
    });
  });

  it('keep nothing of requests that end while they write what they have under way', async () => {
    await start();
    const [first, second] = nodes as [RedisCounters, RedisCounters];
    const all = Array.from({ length: 300 }, (_, i) => ({
      ...atOnce,
      counter: `org/api_key/${i}/concurrency/`,
    }));
    for (const one of all) await first.take(0, [one]);
    const beat = first.beat();
    await new Promise((later) => setTimeout(later, 5));
    for (const { counter } of all) first.back(0, [{ ...over, counter }]);
    await beat;
    // While Redis does not answer in time, what is left is an estimate.
    await eventually('all of it is left', async () => {
      const left = await Promise.all(all.map((one) => second.left(one)));
      return left.every((count) => count === 1000);
    });
  });

  it('count a request that Redis has granted while they write what they have under way', async () => {
    await start();
    const inner = nodesOf(redis[0]!);
    let open = (): void => {};
    let gate: Promise<void> | null = null;
    // Answers to questions may be late.
    const script: typeof inner.script = async (lua, ...more) => {
      const answer = await inner.script<never>(lua, ...more);
      if (lua === takeScript && gate !== null) await gate;
      return answer;
    };
    const own = new Counters({ workers: 1 });
    const late = new RedisCounters({
      nodes: { ...inner, script },
      own,
      workers: 1,
      without: 'closed',
      log: silent,
    });
    nodes.push(late);
    await late.take(0, [atOnce]);
    gate = new Promise((resolve) => {
      open = resolve;
    });
    const second = late.take(0, [atOnce]);
    await eventually('Redis has counted it', async () => (await nodes[1]!.left(atOnce)) === 998);
    await late.beat();
    open();
    expect(isGranted(await second)).to.equal(true);
    expect(await nodes[1]!.left(atOnce)).to.equal(998);
  });
});
