import { expect } from 'chai';
import { makeGatewayKey } from '../../src/common/access/gateway-key.js';
import type { FromWorker } from '../../src/common/ipc/messages.js';
import type { Call, ReplySink } from '../../src/data-plane/transport/transport.js';
import { AdminForwarder } from '../../src/process/worker/admin-forwarder.js';
import { type AdminLimits, adminLimits } from '../../src/process/worker/admission/limits.js';
import { Quota } from '../../src/process/worker/admission/quota.js';
import { VirtualTime } from '../support/virtual-time.js';

interface Asked {
  readonly method?: string;
  readonly path?: string;
  /** null: no key. */
  readonly key?: string | null;
  readonly address?: string;
  /** Bytes of the body, of which only the first ever comes; 0: there is no body. */
  readonly slowBody?: number;
  /** A body that has come whole. */
  readonly body?: string;
}

/** A call as a transport hands it over, and what became of it. */
class FakeCall implements Call {
  readonly method: string;
  readonly path: string;
  readonly query = '';
  readonly headers: string[];
  readonly remoteAddress: string;
  readonly aborted = false;
  onAbort: (() => void) | null = null;
  status = 0;
  answerHeaders: readonly string[] = [];
  body = '';
  isRead = false;
  /** The body is all there: called as a transport does, whether the call was answered meanwhile or not. */
  arrive: () => void = () => {};
  readonly #body: string | null;

  constructor(asked: Asked) {
    const { key = makeGatewayKey('workspace-service'), slowBody = 0, body = '' } = asked;
    this.method = asked.method ?? (slowBody > 0 || body !== '' ? 'POST' : 'GET');
    this.path = asked.path ?? '/v1/configs';
    this.remoteAddress = asked.address ?? '192.0.2.1';
    this.headers = key === null ? [] : ['x-gateway-api-key', key];
    const length = slowBody > 0 ? slowBody : body.length;
    if (length > 0) this.headers.push('content-length', String(length));
    this.#body = slowBody > 0 ? null : body;
  }

  collect(_limit: number, done: (error: null, bytes: Buffer) => void): void {
    this.isRead = true;
    this.arrive = () => done(null, Buffer.from(this.#body ?? '{}'));
    if (this.#body !== null) setImmediate(this.arrive);
  }

  stream(): never {
    throw new Error('the administration reads whole bodies');
  }

  answer(status: number, headers: readonly string[], body: Buffer | string | null): void {
    this.status = status;
    this.answerHeaders = headers;
    this.body = String(body);
  }

  begin(status: number): ReplySink {
    this.status = status;
    return { data: () => true, end: () => {}, error: () => {} };
  }

  leave(): void {
    this.onAbort?.();
  }

  get code(): string {
    return (JSON.parse(this.body) as { data: { errorCode: string } }).data.errorCode;
  }
}

const turn = (): Promise<void> => new Promise((done) => setImmediate(() => setImmediate(done)));

describe('the admission to the administration plane', () => {
  const known = makeGatewayKey('organisation-service');
  let forwarder: AdminForwarder;
  let asked: FakeCall[];
  let sent: FromWorker[];
  /** What the control process says to a call; null: nothing yet. */
  let reply: ((verb: string, path: string, headers: readonly string[]) => number | 'stream') | null;
  let limits: AdminLimits;

  const make = (): void => {
    sent = [];
    forwarder = new AdminForwarder(
      (message, done) => {
        sent.push(message);
        setImmediate(done);
        if (message.t !== 'admin' || reply === null) return;
        const { id, verb, path, headers } = message;
        const status = reply(verb, path, headers);
        const isStream = status === 'stream';
        const piece = { piece: Buffer.from('{}'), last: !isStream, broken: false };
        setImmediate(() =>
          forwarder.answered({ t: 'admin-head', id, status: isStream ? 200 : status, headers: [], ...piece }),
        );
      },
      ['x-gateway-'],
      { uploadMs: 30_000, answerMs: 15_000 },
      limits,
    );
  };
  const ask = (how: Asked = {}): FakeCall => {
    const call = new FakeCall(how);
    asked.push(call);
    forwarder.open(call, call.path);
    return call;
  };
  const handedOver = (): number => sent.filter(({ t }) => t === 'admin').length;

  beforeEach(() => {
    reply = (_verb, _path, headers) => (headers.includes(known) ? 200 : 401);
    limits = adminLimits(4);
    asked = [];
    make();
  });
  afterEach(() => {
    // Else the timers of those that still wait would keep the process of the tests for half a minute.
    for (const call of asked) call.leave();
  });

  it('refuses a call without a key of the right form at once, its body unread', () => {
    for (const key of [
      null,
      'nonsense',
      `${known}x`,
      known.replace(/.$/, (last) => (last === '0' ? '1' : '0')),
    ]) {
      const call = ask({ key, slowBody: 100 });
      expect(call).to.include({ status: 401, isRead: false });
      expect(call.code).to.equal('AB05');
      expect(call.answerHeaders).to.include.members([
        'www-authenticate',
        'Bearer',
        'x-request-id',
        'no-store',
      ]);
    }
    expect(sent).to.deep.equal([]);
  });

  it('takes no place for a body that has not come whole', async () => {
    for (let i = 0; i < 600; i++) ask({ slowBody: 100, address: `10.0.${i >> 8}.${i & 255}` });
    await turn();
    expect(handedOver()).to.equal(0);
    const call = ask({ key: known, body: '{}' });
    await turn();
    await turn();
    expect(call.status).to.equal(200);
  });

  it('gives up on a body that does not come in time, and counts it no longer', async () => {
    const time = new VirtualTime().install();
    try {
      limits = { ...limits, bytes: { ...limits.bytes, perAddress: 16 * 1024 } };
      make();
      const slow = ask({ slowBody: 100 });
      expect(ask({ slowBody: 100 }).status).to.equal(429);
      await time.run();
      expect(time.now).to.equal(30_000);
      expect(slow.status).to.equal(408);
      expect(ask({ slowBody: 100 }).status).to.equal(0);
    } finally {
      time.restore();
    }
  });

  it('lets new calls take the place of bodies that are slow to come, but not of callers who are trusted more', () => {
    const time = new VirtualTime().install();
    try {
      const kb = 1024;
      limits = {
        ...limits,
        bytes: { ...limits.bytes, perAddress: 32 * kb, unproven: 64 * kb, keyless: 16 * kb },
      };
      make();
      const invite = (address: string): FakeCall =>
        ask({ key: null, path: '/v1/admin/users/invites/accept', slowBody: 100, address });
      const public1 = invite('192.0.2.9');
      const [slow1, slow2] = [ask({ slowBody: 100 }), ask({ slowBody: 100 })];
      const elsewhere = ask({ slowBody: 100, address: '192.0.2.2' });
      const states = (...calls: FakeCall[]): number[] => calls.map(({ status }) => status);
      expect(states(ask({ slowBody: 100 }), invite('192.0.2.8'), elsewhere), 'at first').to.deep.equal([
        429, 503, 0,
      ]);
      time.now = 6000;
      const public2 = invite('192.0.2.8');
      expect(states(public1, public2, slow1), 'one without a key').to.deep.equal([408, 0, 0]);
      const next = ask({ slowBody: 100 });
      expect(states(slow1, slow2, elsewhere, next), 'of the same address').to.deep.equal([408, 0, 0, 0]);
      const others = [ask({ slowBody: 32 * kb, address: '192.0.2.3' })];
      expect(states(slow2, elsewhere, ...others), 'of any, oldest first').to.deep.equal([408, 408, 0]);
      others.push(ask({ slowBody: 32 * kb, address: '192.0.2.4' }));
      expect(states(public2, next, ...others), 'not what came just now').to.deep.equal([0, 0, 0, 503]);
    } finally {
      time.restore();
    }
  });

  it('hands nothing over, and keeps no place, for a body that comes after its call was answered', async () => {
    const time = new VirtualTime().install();
    try {
      limits = { ...limits, calls: { ...limits.calls, perAddress: 1 } };
      make();
      const slow = ask({ slowBody: 100 });
      await time.run();
      const lost = ask({ slowBody: 100 });
      forwarder.lost();
      expect([slow.status, lost.status]).to.deep.equal([408, 503]);
      slow.arrive();
      lost.arrive();
      expect(handedOver()).to.equal(0);
      const next = ask({ body: '{}' });
      next.arrive();
      expect([next.status, handedOver()]).to.deep.equal([0, 1]);
    } finally {
      time.restore();
    }
  });

  it('does not read the body of a path that has no route, and hands the call over without it', async () => {
    reply = () => 501;
    for (const path of ['/v1/mcp-servers', '/v1/agent-servers', '/v1/configs/a/b/c']) {
      const call = ask({ path, slowBody: 100, key: known });
      await turn();
      await turn();
      expect(call, path).to.include({ isRead: false, status: 501 });
    }
    const bytes = sent.flatMap((message) => (message.t === 'admin-body' ? [message.piece.length] : []));
    expect(bytes).to.deep.equal([0, 0, 0]);
  });

  it('bounds what one address may have open with keys that were never accepted', async () => {
    reply = null;
    const { perAddress, unproven } = limits.calls;
    const calls = Array.from({ length: perAddress + 1 }, () => ask());
    await turn();
    expect(calls.map(({ status }) => status).filter((status) => status !== 0)).to.deep.equal([429]);
    expect(calls.at(-1)).to.have.property('code', 'AB06');
    const others = Array.from({ length: unproven }, (_, i) => ask({ address: `10.1.0.${i}` }));
    await turn();
    expect(others.filter(({ status }) => status === 503)).to.have.length(perAddress);
    expect(handedOver()).to.equal(unproven);
  });

  it('keeps places for keys that were accepted, while others take all of theirs', async () => {
    ask({ key: known });
    await turn();
    await turn();
    reply = null;
    for (let i = 0; i < 1000; i++) ask({ address: `10.1.${i >> 8}.${i & 255}` });
    await turn();
    reply = () => 200;
    const call = ask({ key: known });
    await turn();
    await turn();
    expect(call.status).to.equal(200);
  });

  it('counts the addresses of one IPv6 network as one', async () => {
    reply = null;
    const calls = Array.from({ length: limits.calls.perAddress + 1 }, (_, i) =>
      ask({ address: `2001:db8:0:7:${i.toString(16)}::1` }),
    );
    await turn();
    expect(calls.at(-1)?.status).to.equal(429);
    const elsewhere = ask({ address: '2001:db8:0:8::1' });
    await turn();
    expect(elsewhere.status).to.equal(0);
  });

  it('takes a key for accepted only by an answer that is given to keys alone', async () => {
    const cases: readonly (readonly [asked: Asked, status: number, isAccepted: boolean])[] = [
      [{}, 200, true],
      [{}, 403, true],
      [{}, 401, false],
      [{}, 503, false],
      [{ method: 'PATCH' }, 405, false],
      [{ method: 'OPTIONS' }, 204, false],
      [{ path: '/v1/openapi.json' }, 200, false],
    ];
    for (const [asked, status, isAccepted] of cases) {
      make();
      reply = () => status;
      ask({ key: known, ...asked });
      await turn();
      await turn();
      reply = null;
      for (let i = 0; i < limits.calls.unproven; i++) ask({ address: `10.1.0.${i}` });
      await turn();
      const again = ask({ key: known });
      await turn();
      expect(again.status, `${JSON.stringify(asked)} ${status}`).to.equal(isAccepted ? 0 : 503);
    }
  });

  it('bounds what one key may have open, accepted or not', async () => {
    ask({ key: known });
    await turn();
    await turn();
    reply = null;
    const { perKey } = limits.calls;
    const calls = Array.from({ length: perKey + 1 }, (_, i) => ask({ key: known, address: `10.1.0.${i}` }));
    await turn();
    expect(calls.at(-1)).to.include({ status: 429, code: 'AB06' });
    expect(calls.filter(({ status }) => status !== 0)).to.have.length(1);
  });

  it('answers public paths without a key from places of their own, with short bodies alone', async () => {
    reply = () => 200;
    const page = ask({ key: null, path: '/v1/openapi.json' });
    const accept = ask({ key: null, path: '/v1/admin/users/invites/accept', body: '{"token":"x"}' });
    await turn();
    await turn();
    expect([page.status, accept.status]).to.deep.equal([200, 200]);
    reply = null;
    for (let i = 0; i < 1000; i++)
      ask({ key: null, path: '/v1/openapi.json', address: `10.1.${i >> 8}.${i & 255}` });
    await turn();
    expect(handedOver()).to.equal(2 + limits.calls.keyless);
    reply = (_verb, _path, headers) => (headers.includes(known) ? 200 : 401);
    const call = ask({ key: known });
    await turn();
    await turn();
    expect(call.status).to.equal(200);
  });

  it('takes no place for an answer that has begun', async () => {
    reply = (_verb, path) => (path === '/v1/watch' ? 'stream' : 200);
    ask({ key: known });
    await turn();
    await turn();
    const streams = limits.streams.perKey;
    for (let i = 0; i < streams + 5; i++) {
      const call = ask({ key: known, path: '/v1/watch' });
      await turn();
      await turn();
      expect(call.status).to.equal(i < streams ? 200 : 429);
    }
    const other = ask({ key: known });
    await turn();
    await turn();
    expect(other.status).to.equal(200);
    expect(sent.filter(({ t }) => t === 'admin-gone')).to.have.length(5);
  });

  it('counts nothing of a client that has left', async () => {
    reply = null;
    for (let i = 0; i < 1000; i++) {
      ask({ slowBody: 4 * 1024 * 1024 }).leave();
      const call = ask();
      await turn();
      call.leave();
    }
    const last = ask({ body: '{}' });
    await turn();
    expect(last.status).to.equal(0);
  });

  it('stays, over all workers, within what the control process is given', () => {
    for (const workers of [1, 2, 3, 4, 8, 16, 64]) {
      const { calls, bytes, streams } = adminLimits(workers);
      expect(calls.all * workers).to.be.at.most(1024);
      if (workers <= 16) expect(bytes.all * workers).to.be.at.most(128 * 1024 * 1024);
      if (workers <= 32) expect(streams.all * workers).to.be.at.most(2048);
      expect(bytes.perAddress).to.be.at.least(4 * 1024 * 1024);
      expect(bytes.unproven).to.be.at.least(bytes.perAddress);
      for (const quota of [calls, bytes, streams]) {
        expect(quota.unproven + quota.perKey).to.be.at.most(quota.all);
        expect(quota.keyless).to.be.at.least(1);
        expect(quota.keylessPerAddress).to.be.at.least(1);
      }
    }
  });
});

describe('a quota', () => {
  it('forgets an address that has given back all of it', () => {
    const quota = new Quota(adminLimits(1).calls);
    const accounts = Array.from({ length: 200 }, (_, i) => ({
      ...{ trust: i % 2 ? ('formed' as const) : ('keyless' as const), key: i % 2 ? `k${i}` : null },
      address: `10.0.0.${i}`,
    }));
    for (let round = 0; round < 10; round++) {
      for (const account of accounts) expect(quota.take(account, 1)).to.equal(null);
      for (const account of accounts) quota.give(account, 1);
    }
    expect(quota.accounts).to.equal(0);
  });
});
