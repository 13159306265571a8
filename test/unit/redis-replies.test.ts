import { once } from 'node:events';
import { type AddressInfo, createServer, type Server } from 'node:net';
import { expect } from 'chai';
import { serveAnswers } from '../../plugins/cache/control/shared-answers.js';
import { redisCacheStore } from '../../plugins/cache/control/store-redis.js';
import { answerOf } from '../../plugins/limits/control/answers.js';
import { Secret } from '../../src/common/access/secret.js';
import type { SharedServer } from '../../src/common/ipc/shared.js';
import type { Nodes } from '../../src/common/plugin-host/control.js';
import { NewsQueue } from '../../src/control-plane/shared-state/news-queue.js';
import { Redis } from '../../src/control-plane/shared-state/redis.js';
import { BadReply, ReplyGuard } from '../../src/control-plane/shared-state/reply-guard.js';
import { nodesOf } from '../../src/process/stage-parts.js';
import { eventually } from '../support/gateway.js';
import { silent } from '../support/shared.js';

const mebibyte = 1024 * 1024;
const push = (...texts: string[]): string =>
  `>${texts.length}\r\n${texts.map((text) => `$${text.length}\r\n${text}\r\n`).join('')}`;

/** Answers as Redis does, except to GET. */
async function startLiar(lie: string): Promise<Server> {
  const server = createServer((socket) => {
    socket.on('error', () => {});
    socket.on('data', (data) => {
      for (const command of data.toString('latin1').split(/(?=\*\d+\r\n\$)/)) {
        const [, , name, , argument] = command.split('\r\n');
        if (name === 'GET') for (let i = 0; i < 32; i++) socket.write(lie);
        else if (name === 'HELLO') socket.write('%0\r\n');
        else if (name === 'SUBSCRIBE')
          socket.write(`>3\r\n$9\r\nsubscribe\r\n$${argument!.length}\r\n${argument}\r\n:1\r\n`);
        else if (name !== undefined) socket.write(name === 'PING' ? '+PONG\r\n' : '+OK\r\n');
      }
    });
  });
  await once(server.listen(0, '127.0.0.1'), 'listening');
  return server;
}

describe('messages of other nodes', () => {
  it('are handled in their order, some milliseconds of a turn at most', async () => {
    const queue = new NewsQueue();
    const heard: string[] = [];
    const busy = (text: string): void => {
      heard.push(text);
      for (const end = performance.now() + 2; performance.now() < end; );
    };
    for (let i = 0; i < 10; i++) expect(queue.add(busy, String(i))).to.equal(true);
    await new Promise((next) => setImmediate(next));
    expect(heard.length).to.be.within(1, 4);
    await eventually('all are heard', async () => heard.length === 10);
    expect(heard.join('')).to.equal('0123456789');
  });

  it('are dropped where more come than nodes can send', async () => {
    const queue = new NewsQueue();
    const heard: string[] = [];
    let taken = 0;
    while (queue.add((text) => heard.push(text), 'a')) taken++;
    expect(taken).to.equal(5000);
    await new Promise((next) => setImmediate(next));
    expect(heard).to.deep.equal([]);
  });
});

describe('answers of Redis', () => {
  const honest: readonly string[] = [
    ...[
      '+OK\r\n',
      '-ERR no\r\n',
      ':-12\r\n',
      ',1.5\r\n',
      '_\r\n',
      '#t\r\n',
      '(12345\r\n',
      '$-1\r\n',
      '*-1\r\n',
    ],
    ...[
      '$0\r\n\r\n',
      '$3\r\na\rb\r\n',
      '=7\r\ntxt:a\r\n\r\n',
      '!3\r\nERR\r\n',
      '*0\r\n',
      '%0\r\n',
      '~1\r\n:1\r\n',
    ],
    '%2\r\n$1\r\na\r\n*2\r\n:1\r\n$-1\r\n+b\r\n_\r\n',
    push('message', 'news', 'text'),
  ];
  const lies: Readonly<Record<string, string>> = {
    'a list longer than memory': '*33000000\r\n',
    'lists in lists': '*1\r\n'.repeat(20),
    'many lists that are long together': `*5\r\n${'*100000\r\n'.repeat(5)}`,
    'a text longer than an answer may be': '$4000000000\r\n',
    'texts that are too long together': `*3\r\n${`$${mebibyte / 2}\r\n${'a'.repeat(mebibyte / 2)}\r\n`.repeat(3)}`,
    'a line without end': `+${'a'.repeat(20_000)}`,
    'a number without end': `(${'1'.repeat(100)}`,
    'a malformed length': '$1x\r\n',
    'a text of another length': '$1\r\nabc\r\n',
    'a boolean that is none': '#true\r\n',
    'a list without a length': '%-1\r\n',
    'something else': 'HTTP/1.1 200 OK\r\n',
    'a long message': push('message', 'news', 'a'.repeat(100_000)),
  };

  it('are read correctly however they are split into chunks', () => {
    const all = Buffer.from(honest.join(''));
    for (let at = 0; at <= all.length; at++) {
      const guard = new ReplyGuard(mebibyte);
      guard.see(all.subarray(0, at));
      guard.see(all.subarray(at));
    }
  });

  for (const [name, lie] of Object.entries(lies))
    it(`are refused where they have ${name}`, () => {
      const bytes = Buffer.from(lie);
      expect(() => new ReplyGuard(mebibyte).see(bytes)).to.throw(BadReply);
      const guard = new ReplyGuard(mebibyte);
      expect(() => {
        for (let at = 0; at < bytes.length; at += bytes.length > 1000 ? 999 : 1)
          guard.see(bytes.subarray(at, at + (bytes.length > 1000 ? 999 : 1)));
      }).to.throw(BadReply);
      expect(() => guard.see(Buffer.from('+OK\r\n'))).to.throw(BadReply);
    });

  it('that are longer than memory end the connection, and nothing else', async () => {
    const server = await startLiar('*33000000\r\n');
    const { port } = server.address() as AddressInfo;
    const redis = new Redis({ url: new Secret(`redis://127.0.0.1:${port}`), prefix: 'a:', log: silent });
    try {
      await eventually('it answers', async () => redis.up);
      const before = process.memoryUsage.rss();
      const failed = await redis.run((commands) => commands.get('key'), 1000).catch((error: Error) => error);
      expect(failed).to.be.instanceOf(BadReply);
      expect(redis.up).to.equal(false);
      expect(process.memoryUsage.rss() - before).to.be.below(100 * mebibyte);
    } finally {
      redis.close();
      server.close();
    }
  });

  it('are not asked for where a value is longer than one may be', async () => {
    const sent: string[] = [];
    const redis = { maxReplyBytes: 100, run: async () => sent.push('set') } as unknown as Redis;
    const nodes = nodesOf(redis);
    await nodes.set('key', 'a'.repeat(30), 1, 1);
    const long = await nodes.set('key', 'é'.repeat(30), 1, 1).catch((error: Error) => error);
    expect(long).to.be.instanceOf(RangeError);
    expect(sent).to.deep.equal(['set']);
  });

  it('about permits are taken as they are only if they fit the question', () => {
    const isGrant = (grant: unknown): boolean => grant === 1;
    for (const fit of ['{"grants":[1,1]}', '{"unknown":[0,1]}', '{"refused":1,"remaining":0,"waitMs":-1}'])
      expect(answerOf(fit, 2, isGrant)).to.be.an('object');
    const others = [
      '{}',
      '[]',
      'null',
      '{"grants":[1]}',
      '{"grants":[1,2]}',
      '{"grants":{}}',
      '{"unknown":[2]}',
    ];
    const more = [
      '{"unknown":[0,0,0]}',
      '{"refused":2,"remaining":0}',
      '{"refused":0}',
      'x',
      1,
      null,
      ['OK'],
    ];
    for (const other of [...others, ...more])
      expect(() => answerOf(other, 2, isGrant), String(other)).to.throw();
  });

  it('that are no keys of replaced answers reach no data worker', () => {
    const sent: unknown[] = [];
    let publish = (_text: string): void => {};
    const nodes = {
      subscribe: (_: string, listener: typeof publish) => (publish = listener),
    } as unknown as Nodes;
    const server = { answer() {}, on() {}, broadcast: (_: string, news: unknown) => sent.push(news) };
    serveAnswers(server as unknown as SharedServer, null, nodes, silent);
    for (const text of [
      'null',
      '1',
      '{}',
      '{"key":1,"replacedBy":"a"}',
      '[',
      '{"key":"a","replacedBy":"b","c":1}',
    ])
      publish(text);
    expect(sent).to.deep.equal([{ key: 'a', replacedBy: 'b' }]);
  });

  it('of many values are no cached answers', async () => {
    const read = (text: string) => redisCacheStore({ get: async () => text } as unknown as Nodes).read('key');
    const answer = JSON.stringify({ storedAt: 1, forms: { json: '{"a":[1,2]}'.repeat(100_000) } });
    expect(await read(answer)).to.equal(answer);
    expect(await read(`{"forms":{},"usage":[${'[],'.repeat(10_000)}1]}`)).to.equal(null);
  });
});
