// lane: slow
import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { expect } from 'chai';
import { Secret } from '../../src/common/access/secret.js';
import { Redis } from '../../src/control-plane/shared-state/redis.js';
import { redisScript } from '../../src/control-plane/shared-state/redis-script.js';
import { eventually } from '../support/gateway.js';
import { RedisServer, RedisTls, startRedisCluster } from '../support/redis.js';
import { silent } from '../support/shared.js';
import { expectWithinMs } from '../support/time-limits.js';

const open: Redis[] = [];
function connect(url: string): Redis {
  const redis = new Redis({ url: new Secret(url), prefix: 'headgate:test:', log: silent });
  open.push(redis);
  return redis;
}
const answers = (redis: Redis): Promise<boolean> => eventually('Redis answers', async () => redis.up);
/** Adds to both keys, and returns the sum of both. */
const addBoth = redisScript(
  "return redis.call('INCRBY', KEYS[1], ARGV[1]) + redis.call('INCRBY', KEYS[2], ARGV[1])",
);

/** The longest of calls that are made one after another until `done`, in milliseconds. */
async function longestCall(redis: Redis, done: () => boolean): Promise<number> {
  let longest = 0;
  let calls = 0;
  while (!done()) {
    const began = performance.now();
    await redis.run((commands) => commands.get(`key-${calls++}`)).catch(() => {});
    longest = Math.max(longest, performance.now() - began);
    await new Promise((next) => setTimeout(next, 5));
  }
  return longest;
}

async function reaches(from: Redis, heard: readonly string[], text: string, ms: number): Promise<void> {
  await eventually(
    `${text} is heard`,
    async () => {
      await from.publish('news', text).catch(() => {});
      return heard.includes(text);
    },
    ms,
  );
}

describe('a Redis cluster', function () {
  this.timeout(60_000);
  let servers: RedisServer[] = [];
  let url: string;

  before(async () => {
    servers = await startRedisCluster();
    url = `redis-cluster://${servers.map(({ port }) => `127.0.0.1:${port}`).join(',')}`;
  });
  afterEach(() => {
    for (const redis of open.splice(0)) redis.close();
  });
  after(async () => {
    for (const server of servers) await server.remove();
  });

  it('has its keys on all its servers, and is found by any one of them', async () => {
    const redis = connect(`redis-cluster://127.0.0.1:${servers[1]!.port}`);
    await answers(redis);
    for (let i = 0; i < 50; i++) await redis.run((commands) => commands.set(`key-${i}`, String(i)), 1000);
    for (let i = 0; i < 50; i++)
      expect(await redis.run((commands) => commands.get(`key-${i}`), 1000)).to.equal(String(i));
    const sizes = await Promise.all(servers.map((server) => server.command('dbsize')));
    expect(sizes.every((size) => Number(size) > 5)).to.equal(true);
  });

  it('runs scripts over several keys of one tenant, also after it has forgotten them', async () => {
    const redis = connect(url);
    await answers(redis);
    for (const tenant of ['a', 'b', 'c']) {
      const keys = [`{${tenant}}:one`, `{${tenant}}:two`];
      expect(await redis.script<number>(addBoth, keys, ['2'], 1000)).to.equal(4);
      for (const server of servers) await server.command('script', 'flush');
      expect(await redis.script<number>(addBoth, keys, ['2'], 1000)).to.equal(8);
    }
    const apart = await redis.script(addBoth, ['a', 'b'], ['1']).catch((error: Error) => error.message);
    expect(apart).to.include('hash tag');
  });

  it('takes news from every node to every node', async () => {
    const nodes = [connect(url), connect(url), connect(url)];
    const heard: string[][] = [[], [], []];
    for (const [i, redis] of nodes.entries()) redis.subscribe('news', (text) => heard[i]!.push(text));
    for (const redis of nodes) await answers(redis);
    for (const [i, redis] of nodes.entries())
      for (const list of heard) await reaches(redis, list, `from ${i}`, 5000);
  });

  it('of which one master hangs costs no call more than 50 ms, and is shared again within 5 s', async () => {
    const [redis, other] = [connect(url), connect(url)];
    const heard: string[] = [];
    redis.subscribe('news', (text) => heard.push(text));
    await answers(redis);
    await answers(other);
    let over = false;
    const longest = longestCall(redis, () => over);
    servers[2]!.freeze();
    try {
      await eventually('away', async () => !redis.up);
      await new Promise((wait) => setTimeout(wait, 4000));
      expect(redis.up).to.equal(false);
    } finally {
      servers[2]!.thaw();
    }
    const began = performance.now();
    await answers(redis);
    await reaches(other, heard, 'again', 5000);
    expectWithinMs(performance.now() - began, 5000);
    over = true;
    expectWithinMs(await longest, 50);
  });

  it('of which one master is dead is away until it is back', async () => {
    const redis = connect(url);
    await answers(redis);
    await servers[0]!.kill();
    await eventually('away', async () => !redis.up);
    await servers[0]!.start();
    const began = performance.now();
    await answers(redis);
    expectWithinMs(performance.now() - began, 5000);
  });
});

describe('Redis under Sentinels', function () {
  this.timeout(60_000);
  let master: RedisServer;
  let replica: RedisServer;
  let sentinel: RedisServer;
  let url: string;

  before(async () => {
    master = await RedisServer.start();
    replica = await RedisServer.start([
      '--replicaof',
      '127.0.0.1',
      String(master.port),
      '--repl-diskless-sync-delay',
      '0',
    ]);
    await eventually('the replica follows', async () =>
      (await replica.command('info', 'replication')).includes('master_link_status:up'),
    );
    sentinel = await RedisServer.startSentinel(master);
    await eventually('the Sentinel has found the replica', async () =>
      (await sentinel.command('sentinel', 'master', 'main')).includes('num-slaves\n1'),
    );
    // The first of them does not exist.
    url = `redis-sentinel://127.0.0.1:1,127.0.0.1:${sentinel.port}/0#main`;
  });
  afterEach(() => {
    for (const redis of open.splice(0)) redis.close();
  });
  after(async () => {
    for (const server of [sentinel, replica, master]) await server?.remove();
  });

  it('is not connected under a name that they do not monitor, and the log shows why', async () => {
    const warned: unknown[] = [];
    const log = { ...silent, warn: (fields: object) => void warned.push(fields) };
    const redis = new Redis({
      url: new Secret(url.replace('#main', '#other')),
      prefix: '',
      log,
    });
    open.push(redis);
    const { err } = await eventually('it is in the log', async () => warned[0] as { err: Error } | undefined);
    expect(err.message).to.include('monitor no server of the name');
    expect(redis.up).to.equal(false);
  });

  it('is shared by its replica within 15 s after the master hangs; no call waits for more than 50 ms', async () => {
    const [redis, other] = [connect(url), connect(url)];
    const heard: string[] = [];
    redis.subscribe('news', (text) => heard.push(text));
    await answers(redis);
    await answers(other);
    await redis.run((commands) => commands.set('kept', 'yes'), 1000);
    await eventually(
      'the replica has it',
      async () => (await replica.command('get', 'headgate:test:kept')) === 'yes',
    );
    let over = false;
    const longest = longestCall(redis, () => over);
    master.freeze();
    const began = performance.now();
    try {
      await eventually('away', async () => !redis.up);
      await eventually('the replica serves', async () => redis.up);
      await reaches(other, heard, 'again', 15_000);
      expectWithinMs(performance.now() - began, 15_000);
      over = true;
      expectWithinMs(await longest, 50);
      expect(await redis.run((commands) => commands.get('kept'), 1000)).to.equal('yes');
      expect(await replica.command('info', 'replication')).to.include('role:master');
    } finally {
      master.thaw();
    }
  });
});

describe('Redis with TLS', function () {
  this.timeout(60_000);
  const servers: RedisServer[] = [];
  let tls: RedisTls;

  before(() => {
    tls = new RedisTls();
  });
  after(async () => {
    for (const server of servers) await server.remove();
    tls?.remove();
  });

  /** What a process prints that connects to them one after the other, which reads the authority as it starts. */
  async function connectApart(urls: readonly string[], authority: string): Promise<string[]> {
    const program = `
      const { Redis } = await import('./dist/src/control-plane/shared-state/redis.js');
      const { Secret } = await import('./dist/src/common/access/secret.js');
      for (const url of process.argv.slice(1)) {
        await new Promise((done) => {
          const say = (text) => { console.log(text); redis.close(); done(); };
          const log = { info() {}, error() {}, warn: ({ err }) => say(err.message) };
          const redis = new Redis({ url: new Secret(url), prefix: 'headgate:test:', log });
          redis.onUp(async () => {
            await redis.run((commands) => commands.set('a', 'written'), 2000);
            say(await redis.run((commands) => commands.get('a'), 2000));
          });
        });
      }
      process.exit();`;
    const { stdout } = await promisify(execFile)(
      process.execPath,
      ['--input-type=module', '-e', program, ...urls],
      { env: { ...process.env, NODE_EXTRA_CA_CERTS: authority } },
    );
    return stdout.trim().split('\n');
  }

  it('is connected in all its forms where the authority is trusted, and in none where it is not', async () => {
    const single = await RedisServer.start([], tls);
    servers.push(single);
    const sentinel = await RedisServer.startSentinel(single);
    servers.push(sentinel);
    const cluster = await startRedisCluster(tls);
    servers.push(...cluster);
    const nodes = cluster.map(({ port }) => `127.0.0.1:${port}`).join(',');
    const urls = [
      single.url,
      `rediss-sentinel://127.0.0.1:${sentinel.port}#main`,
      `rediss-cluster://${nodes}`,
    ];
    expect(await connectApart(urls, tls.authority)).to.deep.equal(urls.map(() => 'written'));
    const [refused] = await connectApart([single.url], '');
    expect(refused).to.include('self-signed certificate');
  });
});
