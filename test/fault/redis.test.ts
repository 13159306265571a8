// lane: slow
import { expect } from 'chai';
import { Secret } from '../../src/common/access/secret.js';
import type { Breaker } from '../../src/common/core/target.js';
import type { BreakerReport } from '../../src/common/ipc/breaker.js';
import { BreakerNodes } from '../../src/control-plane/shared-state/breaker-nodes.js';
import { Redis, redisPrefix } from '../../src/control-plane/shared-state/redis.js';
import { eventually, pause, type RunningGateway, startGateway } from '../support/gateway.js';
import { RedisServer } from '../support/redis.js';
import { expectWithinMs } from '../support/time-limits.js';

const silent = { info() {}, warn() {}, error() {} };

describe('Redis', function () {
  this.timeout(30_000);
  let server: RedisServer;
  const open: Redis[] = [];
  const connect = (warned: string[] = []): Redis => {
    const log = { ...silent, warn: (_fields: object, text: string) => void warned.push(text) };
    const redis = new Redis({ url: new Secret(server.url), prefix: 'headgate:test:', log });
    open.push(redis);
    return redis;
  };
  const answering = (redis: Redis): Promise<boolean> => eventually('Redis answers', async () => redis.up);

  before(async () => {
    server = await RedisServer.start();
  });
  afterEach(() => {
    for (const redis of open.splice(0)) redis.close();
  });
  after(() => server?.remove());

  it('takes commands, with the prefix before each key', async () => {
    const redis = connect();
    await answering(redis);
    await redis.run((client) => client.set('a', '1'));
    expect(await redis.run((client) => client.keys('*'))).to.include('headgate:test:a');
  });

  it('takes news to every node, also after the connection broke', async () => {
    const [one, two] = [connect(), connect()];
    const heard: string[] = [];
    two.subscribe('news', (text) => heard.push(text));
    for (const redis of [one, two]) await answering(redis);
    const reaches = (text: string): Promise<boolean> =>
      eventually(`${text} is heard`, async () => {
        await one.publish('news', text).catch(() => {});
        return heard.includes(text);
      });
    await reaches('first');
    await server.kill();
    await eventually('both know', async () => !one.up && !two.up);
    await server.start();
    await reaches('second');
  });

  it('that dies fails commands at once, is named once in the log, and is used again when it is back', async () => {
    const warned: string[] = [];
    const redis = connect(warned);
    let ups = 0;
    redis.onUp(() => ups++);
    await answering(redis);
    await server.kill();
    await eventually('away', async () => !redis.up);
    const began = performance.now();
    const failed = await redis.run((client) => client.get('a')).catch((error: Error) => error.message);
    expect(failed).to.equal('Redis is away');
    expectWithinMs(performance.now() - began, 20);
    await pause(400);
    await server.start();
    await answering(redis);
    expect(warned).to.have.length(1);
    expect(ups).to.be.greaterThan(1);
  });

  it('that hangs costs the first command its time, the next ones nothing, and is used again when it wakes', async () => {
    const redis = connect();
    await answering(redis);
    server.freeze();
    try {
      const timed = async (): Promise<number> => {
        const began = performance.now();
        await redis
          .run((client) => client.get('a'), 50)
          .then(
            () => expect.fail('a frozen server answered'),
            () => {},
          );
        return performance.now() - began;
      };
      expectWithinMs(await timed(), 150, { atLeast: 45 });
      for (let i = 0; i < 10; i++) expectWithinMs(await timed(), 20);
    } finally {
      server.thaw();
    }
    await answering(redis);
    expect(await redis.run((client) => client.get('nothing'))).to.equal(null);
  });

  it('that is slow costs one command its time, and is used again when it is fast', async () => {
    const redis = connect();
    await answering(redis);
    await server.command('client', 'pause', '1500', 'all');
    const began = performance.now();
    let calls = 0;
    while (performance.now() - began < 1000) {
      const sent = performance.now();
      await redis.run((client) => client.get('a')).catch(() => {});
      expectWithinMs(performance.now() - sent, calls++ === 0 ? 50 : 20);
      await pause(5);
    }
    expect(redis.up).to.equal(false);
    await answering(redis);
    expectWithinMs(performance.now() - began, 5000);
  });

  it('that has become a replica is away, since it takes no writes, and is used again when it does', async () => {
    const redis = connect();
    await answering(redis);
    await server.command('replicaof', '127.0.0.1', '1');
    await eventually('away', async () => !redis.up);
    await server.command('replicaof', 'no', 'one');
    await answering(redis);
  });

  it('that has no memory left still takes news', async () => {
    const [one, two] = [connect(), connect()];
    const heard: string[] = [];
    two.subscribe('news', (text) => heard.push(text));
    for (const redis of [one, two]) await answering(redis);
    await server.command('config', 'set', 'maxmemory', '1');
    try {
      const refused = await one.run((client) => client.set('a', '1')).catch((error: Error) => error.message);
      expect(refused).to.include('OOM');
      // Longer than it takes to find out that a server is away.
      await pause(1200);
      await eventually('it is heard', async () => {
        await one.publish('news', 'still').catch(() => {});
        return heard.includes('still');
      });
      expect(one.up).to.equal(true);
    } finally {
      await server.command('config', 'set', 'maxmemory', '0');
    }
  });

  it('keeps deployments apart by their pepper', () => {
    expect(redisPrefix(Buffer.from('a'))).to.match(/^headgate:[0-9a-f]{8}:$/);
    expect(redisPrefix(Buffer.from('a'))).not.to.equal(redisPrefix(Buffer.from('b')));
  });

  it('whose URL cannot be read is refused without being quoted', () => {
    const url = new Secret('redis://user:hunter2@host:port');
    expect(() => new Redis({ url, prefix: '', log: silent })).to.throw(/^redis_url\.port: must be [^@]*$/);
  });
});

describe('what nodes share of circuit breakers through Redis', function () {
  this.timeout(30_000);
  let server: RedisServer;
  const ends: (() => void)[] = [];
  const place = { organisation: 'o', workspace: 'w', config: 'c', path: 'config' };
  const rule = { cooldownMs: 60_000 } as Breaker;
  const report = (): BreakerReport => ({
    ...place,
    slug: null,
    provider: 'openai',
    state: 'open',
    openedAt: Date.now(),
    nextProbeAt: Date.now() + 60_000,
    reason: '503',
    failures: 5,
    requests: 5,
  });
  /** A node, and what it hears. */
  const node = async (): Promise<{ nodes: BreakerNodes; redis: Redis; open(): boolean }> => {
    const redis = new Redis({ url: new Secret(server.url), prefix: 'headgate:test:', log: silent });
    const nodes = new BreakerNodes(redis, silent);
    let isOpen = false;
    nodes.follow({ open: () => (isOpen = true), probed() {}, closed: () => (isOpen = false) });
    ends.push(() => {
      nodes.close();
      redis.close();
    });
    await eventually('Redis answers', async () => redis.up);
    return { nodes, redis, open: () => isOpen };
  };
  const hearsOpen = (one: { open(): boolean }): Promise<boolean> =>
    eventually('it is open', async () => one.open());

  before(async () => {
    server = await RedisServer.start();
  });
  afterEach(async () => {
    for (const end of ends.splice(0)) end();
    await server.command('flushall');
  });
  after(() => server?.remove());

  it('is written again after Redis has lost everything, so that a node that starts reads it', async () => {
    const one = await node();
    one.nodes.opened(report(), rule);
    await eventually(
      'it is written',
      async () => Number(await server.command('hlen', 'headgate:test:breakers')) === 2,
    );
    await server.command('flushall');
    await eventually(
      'it is written again',
      async () => Number(await server.command('hlen', 'headgate:test:breakers')) === 2,
      5000,
    );
    await hearsOpen(await node());
  });

  it('is sent when Redis is back, where it changed without', async () => {
    const [one, two] = [await node(), await node()];
    await server.kill();
    await eventually('away', async () => !one.redis.up && !two.redis.up);
    one.nodes.opened(report(), rule);
    await server.start();
    await hearsOpen(two);
    await server.kill();
    await eventually('away', async () => !one.redis.up && !two.redis.up);
    one.nodes.closed(place);
    await server.start();
    await eventually('it is closed', async () => !two.open(), 5000);
    const three = await node();
    await two.redis.run((client) => client.get('anything'), 1000);
    expect(three.open()).to.equal(false);
  });
});

describe('a gateway with a Redis that is away, and comes and goes', function () {
  this.timeout(60_000);
  let gateway: RunningGateway;
  let server: RedisServer;

  before(async () => {
    server = await RedisServer.start();
    await server.kill();
    gateway = await startGateway({
      env: { REDIS_URL: `redis://user:hunter2@127.0.0.1:${server.port}`, HEADGATE_SIMULATED: 'true' },
    });
  });
  after(async () => {
    await gateway?.stop();
    await server?.remove();
  });

  let asked = 0;
  /** Sends a call that no cache has an answer to, or one that was sent before. */
  async function ask(
    question = `Question ${asked++}`,
  ): Promise<{ status: number; ms: number; cache: string | null }> {
    const began = performance.now();
    const response = await fetch(`${gateway.url}/v1/chat/completions`, {
      method: 'POST',
      headers: {
        'content-type': 'application/json',
        'x-gateway-api-key': gateway.workspaceKey,
        'x-gateway-config': '{"provider":"@simulated","cache":{"mode":"simple"}}',
      },
      body: JSON.stringify({ model: 'gpt-4o-mini', messages: [{ role: 'user', content: question }] }),
    });
    await response.text();
    const cache = response.headers.get('x-gateway-cache-status');
    return { status: response.status, ms: performance.now() - began, cache };
  }
  const metrics = async (): Promise<string> => (await fetch(`${gateway.opsUrl}/metrics`)).text();
  const isUp = (value: 0 | 1, ms?: number): Promise<boolean> =>
    eventually(
      `gateway_redis_up is ${value}`,
      async () => (await metrics()).includes(`\ngateway_redis_up ${value}\n`),
      ms,
    );
  /** Sends calls one after another, while `during` runs; the longest of them. */
  async function load(during: () => Promise<unknown>): Promise<number> {
    let over = false;
    const done = during().finally(() => {
      over = true;
    });
    let longest = 0;
    while (!over) {
      const { status, ms } = await ask();
      expect(status).to.equal(200);
      longest = Math.max(longest, ms);
      await pause(20);
    }
    await done;
    return longest;
  }

  it('starts, answers, is ready, and reports how it works without Redis', async () => {
    expect((await ask()).status).to.equal(200);
    const ready = await fetch(`${gateway.opsUrl}/readyz?verbose`);
    expect(ready.status).to.equal(200);
    expect(await ready.text()).to.include('[-]redis failed (ready without it)');
    await isUp(0);
    await eventually('it is in the log', async () => gateway.output().includes('Redis is away'));
    const output = gateway.output();
    expect(output.match(/Redis is away/g)).to.have.length(1);
    expect(output).not.to.include('hunter2');
  });

  it('uses it within 5 s, and refuses, loses and delays no call whatever becomes of it', async () => {
    // The password is that of a user who does not exist until now.
    await server.start();
    await server.command('acl', 'setuser', 'user', 'on', '>hunter2', '~*', '&*', '+@all');
    await isUp(1, 5000);
    await eventually('answers are stored there', async () => {
      await ask();
      return (await server.command('keys', 'headgate:*:cache:*')) !== '';
    });
    const quiet = await load(() => pause(1000));
    const faults: Record<string, () => Promise<unknown>> = {
      async silent() {
        server.freeze();
        await pause(2500);
        server.thaw();
        await isUp(1, 5000);
      },
      async slow() {
        for (let i = 0; i < 4; i++) {
          await server.command('client', 'pause', '500', 'all');
          await pause(300);
        }
        await isUp(1, 5000);
      },
      flushed: () => server.command('flushall'),
      async dead() {
        await server.kill();
        await isUp(0);
        await pause(1000);
        await server.start();
        await server.command('acl', 'setuser', 'user', 'on', '>hunter2', '~*', '&*', '+@all');
        await isUp(1, 5000);
      },
    };
    for (const [name, fault] of Object.entries(faults)) {
      // Besides the 50 ms for Redis, what a call takes by itself varies by more than that of the quiet second.
      expectWithinMs(await load(fault), quiet + 75, { what: `the longest call while Redis was ${name}` });
      const question = `Kept after ${name}`;
      await ask(question);
      await eventually(
        'it is answered from Redis or memory',
        async () => (await ask(question)).cache === 'HIT',
      );
    }
  });
});
