import { setImmediate as nextTurn } from 'node:timers/promises';
import { expect } from 'chai';
import { type MirrorLimits, Mirrors } from '../../plugins/router/mirror.js';
import { Secret } from '../../src/common/access/secret.js';
import { GatewayError } from '../../src/common/core/errors.js';
import { Exchange } from '../../src/common/core/exchange.js';
import type { Target } from '../../src/common/core/target.js';
import { directCredential } from '../../src/common/plugin-host/slots.js';
import { defaultConfig, defaultTarget } from '../../src/common/vocabulary/default-config.js';
import { seeded } from '../support/seeded.js';

const target: Target = { ...defaultTarget, path: 'config.mirror.target', provider: 'openai' };

function exchange(
  change: Partial<Exchange['request']> = {},
  format: 'openai-chat' | 'none' = 'openai-chat',
  workspaceId = 'ws',
) {
  const x = new Exchange(
    'req-1',
    { name: 'chat', format, body: 'json' },
    {
      method: 'POST',
      path: '/v1/chat/completions',
      query: '',
      headers: [],
      remoteAddress: '',
      bytes: Buffer.alloc(1000),
      stream: null,
      json: {},
      ...change,
    },
  );
  x.principal = { organisationId: 'org', workspaceId } as Exchange['principal'];
  x.config = defaultConfig;
  x.trace = { traceId: 't', spanId: 's', parentSpanId: 'p', spanName: 'n' };
  x.metadata = { team: 'a' };
  x.modelAsked = 'gpt-4o-mini';
  x.streaming = true;
  x.set(directCredential, new Secret('sk-of-the-client'));
  return x;
}

describe('mirrored requests', () => {
  /** Copies that were asked for, and how each ends. */
  let asked: { x: Exchange; end: () => void; fail: (error: Error) => void }[] = [];
  let errors: unknown[] = [];
  let random: () => number;

  const mirrors = (limits?: MirrorLimits): Mirrors =>
    new Mirrors(
      {
        aside: (x) => new Promise((end, fail) => asked.push({ x, end: () => end(null), fail })),
        random: () => random(),
        log: { info() {}, warn() {}, error: (fields) => errors.push(fields) },
      },
      limits,
    );
  const counts = (of: Mirrors): number[] => of.metrics().map(({ value }) => value);

  beforeEach(() => {
    asked = [];
    errors = [];
    random = () => 0;
  });

  it('begin in the next turn: what is sent now is sent first', async () => {
    mirrors().copy(exchange(), { share: 1, target });
    expect(asked).to.have.length(0);
    await nextTurn();
    expect(asked).to.have.length(1);
  });

  it('are exchanges of their own, in the trace of what they are copies of', async () => {
    const x = exchange();
    mirrors().copy(x, { share: 1, target });
    await nextTurn();
    const copy = asked[0]!.x;
    expect(copy.id).to.not.equal(x.id);
    expect(copy.request).to.equal(x.request);
    expect(copy.attempts).to.not.equal(x.attempts);
    expect(copy).to.include({
      principal: x.principal,
      config: x.config,
      modelAsked: 'gpt-4o-mini',
      streaming: true,
    });
    expect(copy.metadata).to.deep.equal({ team: 'a', _mirror_of: 'req-1' });
    expect(copy.trace).to.deep.equal({ traceId: 't', spanId: null, parentSpanId: 's', spanName: 'mirror' });
    expect(copy.get(directCredential)).to.equal(x.get(directCredential));
  });

  it('go on though the client leaves', async () => {
    const x = exchange();
    mirrors().copy(x, { share: 1, target });
    await nextTurn();
    x.abort(new GatewayError('client_gone', 'gone'), () => {});
    expect(asked[0]!.x.aborted).to.equal(null);
  });

  it('are as many as the share', async () => {
    random = seeded(5);
    const all = mirrors({ running: 1e6, waiting: 0, bytes: 1e12 });
    for (let i = 0; i < 10_000; i++) all.copy(exchange(), { share: 0.1, target });
    await nextTurn();
    expect(asked.length).to.be.within(900, 1100);
  });

  it('are not made of bodies that stream in, nor of calls that the gateway does not understand', async () => {
    const none = mirrors();
    none.copy(exchange({ bytes: null }), { share: 1, target });
    none.copy(exchange({}, 'none'), { share: 1, target });
    await nextTurn();
    expect(asked).to.have.length(0);
    expect(counts(none)).to.deep.equal([0, 0]);
  });

  it('wait for their turn, to the end of their queue; what comes then is dropped and counted', async () => {
    const few = mirrors({ running: 4, waiting: 6, bytes: 1e6 });
    for (let i = 0; i < 8; i++) few.copy(exchange(), { share: 1, target });
    await nextTurn();
    expect(asked).to.have.length(2);
    expect(counts(few)).to.deep.equal([2, 3]);
    asked[0]!.end();
    await nextTurn();
    expect(asked).to.have.length(3);
    // A place has become free.
    few.copy(exchange(), { share: 1, target });
    few.copy(exchange(), { share: 1, target });
    expect(counts(few)).to.deep.equal([3, 4]);
    for (let i = 1; i < 6; i++) {
      asked[i]!.end();
      await nextTurn();
    }
    expect(counts(few)).to.deep.equal([6, 4]);
  });

  it('hold no more bytes than they may, and give them back however a copy ends', async () => {
    const few = mirrors({ running: 10, waiting: 10, bytes: 4500 });
    for (let i = 0; i < 3; i++) few.copy(exchange(), { share: 1, target });
    await nextTurn();
    expect(counts(few)).to.deep.equal([2, 1]);
    asked[0]!.end();
    asked[1]!.fail(new Error('a fault'));
    await nextTurn();
    for (let i = 0; i < 3; i++) few.copy(exchange(), { share: 1, target });
    await nextTurn();
    expect(counts(few)).to.deep.equal([4, 2]);
    expect(errors).to.have.length(1);
  });

  it('of a workspace whose candidate hangs leave room for those of others', async () => {
    const shared = mirrors({ running: 8, waiting: 8, bytes: 1e6 });
    const copy = (workspace: string, length: number): void =>
      shared.copy(exchange({ bytes: Buffer.alloc(length) }, 'openai-chat', workspace), { share: 1, target });
    for (let i = 0; i < 40; i++) copy('hanging', 20_000);
    await nextTurn();
    copy('hanging', 1000);
    copy('well', 1000);
    await nextTurn();
    const wells = asked.filter(({ x }) => x.principal.workspaceId === 'well');
    expect(wells).to.have.length(1);
    for (const { end } of asked) end();
    for (let i = 0; i < 3; i++) {
      await nextTurn();
      for (const { end } of asked) end();
    }
    expect(counts(shared)).to.deep.equal([9, 33]);
    for (let i = 0; i < 10; i++) copy('hanging', 200_000);
    copy('well', 1000);
    expect(counts(shared), 'bytes are shared so too').to.deep.equal([9, 40]);
  });

  it('end when the worker leaves: what runs is aborted, what waits is not begun', async () => {
    const few = mirrors({ running: 4, waiting: 6, bytes: 1e6 });
    for (let i = 0; i < 4; i++) few.copy(exchange(), { share: 1, target });
    await nextTurn();
    await few.close();
    expect(asked.map(({ x }) => x.aborted?.code)).to.deep.equal(['draining', 'draining']);
    for (const { end } of asked) end();
    few.copy(exchange(), { share: 1, target });
    await nextTurn();
    expect(asked).to.have.length(2);
  });
});
