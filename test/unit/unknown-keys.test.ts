import { expect } from 'chai';
import { networkOf } from '../../src/common/access/failed-attempts.js';
import { makeGatewayKey } from '../../src/common/access/gateway-key.js';
import { GatewayError } from '../../src/common/core/errors.js';
import { getHeader } from '../../src/common/http/headers.js';
import type { KeyRecord } from '../../src/common/ipc/records.js';
import { FailedAuth } from '../../src/control-plane/administration/access/failed-auth.js';
import { AdminError } from '../../src/control-plane/administration/admin-error.js';
import { LookupChannel } from '../../src/data-plane/directory/channel.js';
import { WorkerDirectory } from '../../src/data-plane/directory/directory.js';
import { BareWorker, type Client, keyRecord } from '../support/bare-worker.js';
import { eventually } from '../support/gateway.js';

const unknown = (): string => makeGatewayKey('workspace-service');
/** A network of its own for each number. */
const elsewhere = (number: number): string =>
  `10.${(number >> 16) & 255}.${(number >> 8) & 255}.${number & 255}`;

describe('unknown gateway keys', () => {
  let worker: BareWorker;
  /** Of the monotonic clock, which moves only when a test moves it: how busy the machine is changes nothing. */
  let now = 0;
  const realNow = performance.now;

  beforeEach(async () => {
    worker = await new BareWorker().start();
    now = realNow.call(performance);
    performance.now = () => now;
  });
  afterEach(() => {
    performance.now = realNow;
    worker.close();
  });

  const answered = async (client: Client): Promise<Client> => {
    await eventually('an answer', async () => client.ended);
    return client;
  };
  const ask = (key: string, from?: string): Promise<Client> =>
    answered(worker.ask(key, from === undefined ? {} : { from }));
  /** Is the key accepted from there? Its request is then with the provider. */
  const isAccepted = async (key: string, from?: string): Promise<boolean> => {
    const count = worker.asked.length;
    const client = worker.ask(key, from === undefined ? {} : { from });
    await eventually('a decision', async () => client.ended || worker.asked.length > count);
    return !client.ended;
  };
  /** Uses up what an address may get wrong. */
  async function exhaust(from?: string): Promise<void> {
    const refused = await Promise.all(Array.from({ length: 60 }, () => ask(unknown(), from)));
    for (const { status } of refused) expect(status).to.equal(401);
  }

  it('are refused with a 429 and Retry-After, once an address has sent too many of them', async () => {
    await exhaust();
    const { lookups } = worker;
    const refused = await ask(unknown());
    expect(refused.status).to.equal(429);
    expect(JSON.parse(refused.text).error).to.include({
      code: 'too_many_unknown_keys',
      type: 'rate_limit_error',
    });
    expect(refused.text).to.match(/send a valid gateway key, and retry after \d+ s/);
    expect(Number(getHeader(refused.headers, 'retry-after'))).to.be.within(1, 60);
    expect(worker.lookups, 'without a lookup').to.equal(lookups);
    expect((await ask(unknown(), '10.0.0.1')).status, 'from another address').to.equal(401);
  });

  it('lock out no key that the worker has accepted, even if it was forgotten since', async () => {
    const [known, late] = [worker.key(), worker.key()];
    expect(await isAccepted(known)).to.equal(true);
    await exhaust();
    expect(await isAccepted(known)).to.equal(true);
    worker.forget('*');
    expect(await isAccepted(known)).to.equal(true);
    expect((await ask(late)).status, 'one that was never used here waits').to.equal(429);
    expect(await isAccepted(late, '10.0.0.1')).to.equal(true);
    expect(await isAccepted(late), 'and is accepted from then on').to.equal(true);
  });

  it('leave valid keys of their address a lookup now and then, so that all get through a proxy', async () => {
    const keys = Array.from({ length: 5 }, () => worker.key());
    await exhaust();
    expect((await ask(unknown())).status).to.equal(429);
    for (const key of keys) {
      expect((await ask(key)).status).to.equal(429);
      now += 50;
      expect(await isAccepted(key)).to.equal(true);
    }
    now += 10_000;
    const { lookups } = worker;
    const refused = await Promise.all(Array.from({ length: 100 }, () => ask(unknown())));
    expect(refused.filter(({ status }) => status === 429)).to.have.length(99);
    expect(worker.lookups, 'none is saved up').to.equal(lookups + 1);
    for (const key of keys) expect(await isAccepted(key)).to.equal(true);
  });

  it('cost one lookup however often the same one comes, and use up no more than one attempt', async () => {
    const key = unknown();
    for (let i = 0; i < 200; i++) expect((await ask(key)).status).to.equal(401);
    await Promise.all(Array.from({ length: 200 }, () => ask(key)));
    expect(worker.lookups).to.equal(1);
    expect(await isAccepted(worker.key())).to.equal(true);
  });

  it('that are created later work at once', async () => {
    const key = unknown();
    expect((await ask(key)).status).to.equal(401);
    worker.change(key, keyRecord());
    worker.forget(key);
    expect(await isAccepted(key)).to.equal(true);
    await exhaust();
    const made = worker.key();
    worker.forget(made);
    expect(await isAccepted(made), 'from an address that sent too many unknown ones').to.equal(true);
  });

  it('of one network are looked up at most 500 at a time', async () => {
    let answer = (): void => {};
    worker.slow = new Promise((resolve) => {
      answer = resolve;
    });
    const clients = Array.from({ length: 600 }, () => worker.ask(unknown()));
    await eventually('refusals', async () => clients.some(({ ended }) => ended));
    expect(worker.lookups).to.equal(500);
    answer();
    await Promise.all(clients.map(answered));
    expect(clients.filter(({ status }) => status === 429)).to.have.length(100);
  });

  it('push no valid key out of memory', async () => {
    const known = worker.key();
    expect(await isAccepted(known)).to.equal(true);
    const hash = worker.hashOf(known);
    const directory = worker.directory;
    for (let i = 0; i < 60_000; i += 1000) {
      await Promise.all(
        Array.from({ length: 1000 }, (_, at) =>
          directory.key(`${i + at}`, { remoteAddress: elsewhere(i + at) }),
        ),
      );
    }
    expect(directory.key(hash)).to.not.be.instanceOf(Promise);
  });

  it('are counted by the /64 of an IPv6 address', async () => {
    await exhaust('2001:db8:1:2::1');
    expect((await ask(unknown(), '2001:db8:1:2:ffff::2')).status).to.equal(429);
    expect((await ask(unknown(), '2001:db8:1:3::1')).status).to.equal(401);
    for (const [address, network] of [
      ['192.0.2.1', '192.0.2.1'],
      ['::ffff:192.0.2.1', '192.0.2.1'],
      ['2001:0DB8::1', '2001:db8:0:0::/64'],
      ['2001:db8::', '2001:db8:0:0::/64'],
      ['1:2:3:4:5:6:7:8', '1:2:3:4::/64'],
      ['::1', '0:0:0:0::/64'],
      ['64:ff9b::192.0.2.1', '64:ff9b:0:0::/64'],
      ['1:2:3:4:5:6:192.0.2.1', '1:2:3:4::/64'],
      ['fe80::1%eth0', 'fe80:0:0:0::/64'],
      ['', ''],
    ] as const)
      expect(networkOf(address), address).to.equal(network);
  });
});

describe('keys that the administration refused', () => {
  it('are counted by address, or by the /64 of an IPv6 address', () => {
    const failed = new FailedAuth(2);
    const refused = new AdminError('AB05', 'refused');
    const codeAt = (address: string) => failed.refusal(address, refused).code;
    expect([codeAt('2001:db8::1'), codeAt('2001:db8::2'), codeAt('2001:db8::3')]).to.deep.equal([
      'AB05',
      'AB05',
      'AB06',
    ]);
    expect([codeAt('2001:db8:0:1::1'), codeAt('192.0.2.1')]).to.deep.equal(['AB05', 'AB05']);
  });
});

describe('the directory of a worker', () => {
  it('has a bounded number of questions for the control process, and fails one more at once', async () => {
    const posted: number[] = [];
    const channel = new LookupChannel((message) => {
      if (message.t === 'lookup') posted.push(message.id);
    });
    const directory = new WorkerDirectory({ channel, compile: () => expect.fail() });
    const asked = Array.from({ length: 5000 }, (_, i) => directory.key(`${i}`));
    const failures = await Promise.allSettled(asked.slice(4096));
    expect(posted).to.have.length(4096);
    for (const failure of failures) {
      const reason = (failure as PromiseRejectedResult).reason as GatewayError;
      expect(reason).to.be.instanceOf(GatewayError);
      expect(reason).to.include({ code: 'store_unavailable', status: 503, retryAfterMs: 1000 });
    }
    for (const id of posted) channel.answered(id, null);
    expect(await Promise.all(asked.slice(0, 4096))).to.deep.equal(Array(4096).fill(null));
  });

  it('asks again for what a change has overtaken, and for no name longer than any can be', async () => {
    const answers: KeyRecord[] = [keyRecord({ keyName: 'before' }), keyRecord({ keyName: 'after' })];
    const posted: number[] = [];
    const channel = new LookupChannel((message) => {
      if (message.t === 'lookup') posted.push(message.id);
    });
    const directory = new WorkerDirectory({ channel, compile: () => expect.fail() });
    const found = directory.key('hash');
    directory.forget([{ kind: 'key', workspace: null, name: 'hash' }]);
    channel.answered(posted[0]!, answers[0]!);
    await eventually('it asks again', async () => posted.length === 2);
    channel.answered(posted[1]!, answers[1]!);
    expect(await found).to.include({ keyName: 'after' });
    const long = 'x'.repeat(256);
    expect([directory.config('ws', long), directory.provider('ws', long)]).to.deep.equal([null, null]);
    expect(posted).to.have.length(2);
  });
});
