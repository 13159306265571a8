import { expect } from 'chai';
import { Secret } from '../../src/common/access/secret.js';
import { Redis, redisPrefix } from '../../src/control-plane/shared-state/redis.js';
import { eventually, freePorts, type RunningGateway, startGateway } from '../support/gateway.js';
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
    expect(await redis.run((client) => client.keys('*'))).to.deep.equal(['headgate:test:a']);
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
    await new Promise((wait) => setTimeout(wait, 400));
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

  it('keeps deployments apart by their pepper', () => {
    expect(redisPrefix(Buffer.from('a'))).to.match(/^headgate:[0-9a-f]{8}:$/);
    expect(redisPrefix(Buffer.from('a'))).not.to.equal(redisPrefix(Buffer.from('b')));
  });

  it('whose URL cannot be read is refused without being quoted', () => {
    const url = new Secret('redis://user:hunter2@host:port');
    expect(() => new Redis({ url, prefix: '', log: silent })).to.throw(/^redis_url: is no URL/);
  });
});

describe('a gateway with a Redis that is not there', function () {
  this.timeout(30_000);
  let gateway: RunningGateway;
  before(async () => {
    const [port] = await freePorts(1);
    gateway = await startGateway({
      env: { REDIS_URL: `redis://user:hunter2@127.0.0.1:${port}`, HEADGATE_SIMULATED: 'true' },
    });
  });
  after(() => gateway?.stop());

  it('starts, answers, is ready, and reports how it works without Redis', async () => {
    const response = await fetch(`${gateway.url}/v1/chat/completions`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', 'x-gateway-api-key': gateway.workspaceKey },
      body: JSON.stringify({ model: '@simulated/gpt-4o-mini', messages: [{ role: 'user', content: 'Hi' }] }),
    });
    expect(response.status).to.equal(200);
    const ready = await fetch(`${gateway.opsUrl}/readyz?verbose`);
    expect(ready.status).to.equal(200);
    expect(await ready.text()).to.include('[-]redis failed (ready without it)');
    await eventually('it is in the log', async () => gateway.output().includes('Redis is away'));
    const output = gateway.output();
    expect(output.match(/Redis is away/g)).to.have.length(1);
    expect(output).not.to.include('hunter2');
  });
});
