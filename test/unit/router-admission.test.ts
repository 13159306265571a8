import { expect } from 'chai';
import fc from 'fast-check';
import { AdaptiveLimit } from '../../plugins/router/limits/adaptive-limit.js';
import { Admission } from '../../plugins/router/limits/admission.js';
import { FairQueue, type Priority } from '../../plugins/router/limits/fair-queue.js';
import type { Principal } from '../../src/common/access/principal.js';
import type { Sink } from '../../src/common/bytes/body.js';
import { GatewayError } from '../../src/common/core/errors.js';
import { type ClientRequest, Exchange, type Reply } from '../../src/common/core/exchange.js';
import type { Concurrency, Target } from '../../src/common/core/target.js';
import { defaultTarget } from '../../src/common/vocabulary/default-config.js';
import { expectWithinMs } from '../support/time-limits.js';
import { VirtualTime } from '../support/virtual-time.js';

const rule: Concurrency = { min: 2, max: 2, queue: 100, maxWaitMs: 1000, priority: 'normal' };
const target: Target = { ...defaultTarget, concurrency: rule };

function exchange(workspace = 'ws-1'): Exchange {
  const request: ClientRequest = {
    method: 'POST',
    path: '/v1/chat/completions',
    query: '',
    headers: [],
    remoteAddress: '127.0.0.1',
    bytes: Buffer.from('{}'),
    stream: null,
    json: {},
  };
  const x = new Exchange('req-1', { name: 'chat', format: 'openai-chat', body: 'json' }, request);
  x.principal = { workspaceId: workspace, keyId: 'key-1' } as Principal;
  return x;
}

const reply = (status: number, headers: string[] = []): Reply => ({
  status,
  headers,
  body: '{}',
  events: false,
  errorOrigin: null,
});

const gone = (): GatewayError => new GatewayError('client_gone', 'gone');
const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

/** An upstream whose answers end when told to. */
class Upstream {
  readonly admission = new Admission({
    workers: 1,
    weightOf: (workspace) => this.weights[workspace] ?? 1,
    upstreamKey: () => 'openai',
  });
  readonly underWay: { workspace: string; end: (answer?: Reply | Error) => void }[] = [];
  readonly served: Record<string, number> = {};
  most = 0;

  constructor(readonly weights: Record<string, number> = {}) {}

  send(x: Exchange, given: Partial<Concurrency> = {}, to: Partial<Target> = {}): Promise<Reply | string> {
    const workspace = x.principal.workspaceId!;
    return this.admission
      .through(x, { ...target, ...to }, { ...rule, ...given }, () => {
        this.served[workspace] = (this.served[workspace] ?? 0) + 1;
        return new Promise<Reply>((resolve, reject) => {
          const one = {
            workspace,
            end: (answer: Reply | Error = reply(200)) => {
              this.underWay.splice(this.underWay.indexOf(one), 1);
              if (answer instanceof Error) reject(answer);
              else resolve(answer);
            },
          };
          this.underWay.push(one);
          this.most = Math.max(this.most, this.underWay.length);
        });
      })
      .catch((error: GatewayError) => error.code);
  }

  gauge(name: string): number {
    return this.admission.metrics().find((metric) => metric.name === `gateway_admission_${name}`)!.value;
  }
}

describe('a fair queue', () => {
  const drain = (queue: FairQueue<string>, count: number): string[] =>
    Array.from({ length: count }, () => queue.next() ?? 'none');
  const share = (taken: readonly string[], name: string): number =>
    taken.filter((item) => item.startsWith(name)).length / taken.length;

  it('serves workspaces that wait by their weights, however much each of them sends', () => {
    const weights: Record<string, number> = { a: 1, b: 1, c: 2 };
    const queue = new FairQueue<string>((workspace) => weights[workspace]!);
    for (let i = 0; i < 10_000; i++) queue.add(`a${i}`, 'a', 'normal');
    for (let i = 0; i < 1000; i++) queue.add(`b${i}`, 'b', 'normal');
    for (let i = 0; i < 2000; i++) queue.add(`c${i}`, 'c', 'normal');
    const taken = drain(queue, 3000);
    expect(share(taken, 'a')).to.be.closeTo(0.25, 0.01);
    expect(share(taken, 'b')).to.be.closeTo(0.25, 0.01);
    expect(share(taken, 'c')).to.be.closeTo(0.5, 0.01);
  });

  it('lets one that was away save nothing up', () => {
    const queue = new FairQueue<string>(() => 1);
    for (let i = 0; i < 1000; i++) queue.add(`a${i}`, 'a', 'normal');
    drain(queue, 500);
    for (let i = 0; i < 1000; i++) queue.add(`late${i}`, 'late', 'normal');
    expect(share(drain(queue, 200), 'late')).to.be.closeTo(0.5, 0.02);
  });

  it('gives one that sends little its turn at once', () => {
    const queue = new FairQueue<string>(() => 1);
    for (let i = 0; i < 1000; i++) queue.add(`a${i}`, 'a', 'normal');
    for (let round = 0; round < 10; round++) {
      drain(queue, 10);
      queue.add('small', 'small', 'normal');
      expect(drain(queue, 2)).to.include('small');
    }
  });

  it('takes higher classes first, of one workspace’s own and no other’s', () => {
    const queue = new FairQueue<string>(() => 1);
    for (const priority of ['low', 'normal', 'high'] as Priority[]) queue.add(`a-${priority}`, 'a', priority);
    queue.add('b-low', 'b', 'low');
    expect(drain(queue, 5)).to.deep.equal(['a-high', 'b-low', 'a-normal', 'a-low', 'none']);
  });

  it('gives each item once, and none that was taken back', () => {
    const step = fc.oneof(
      fc.record({
        what: fc.constant('add'),
        flow: fc.nat(3),
        priority: fc.constantFrom('high', 'normal', 'low'),
      }),
      fc.record({ what: fc.constant('next') }),
      fc.record({ what: fc.constant('remove'), item: fc.nat(50) }),
    );
    fc.assert(
      fc.property(fc.array(step, { maxLength: 200 }), (steps) => {
        const queue = new FairQueue<number>((workspace) => Number(workspace) + 1);
        const waiting = new Map<number, [string, Priority]>();
        let made = 0;
        for (const given of steps as { what: string; flow?: number; priority?: Priority; item?: number }[]) {
          if (given.what === 'add') {
            waiting.set(made, [String(given.flow), given.priority!]);
            queue.add(made++, String(given.flow), given.priority!);
          } else if (given.what === 'remove') {
            const place = waiting.get(given.item!);
            queue.remove(given.item!, ...(place ?? (['0', 'low'] as [string, Priority])));
            waiting.delete(given.item!);
          } else {
            const item = queue.next();
            expect(item === null).to.equal(waiting.size === 0);
            if (item !== null) expect(waiting.delete(item)).to.equal(true);
          }
          expect(queue.size).to.equal(waiting.size);
        }
      }),
    );
  });
});

describe('an adaptive limit', () => {
  const settle = (limit: AdaptiveLimit, latency: (inFlight: number) => number, rounds = 3000): number => {
    for (let i = 0; i < rounds; i++) limit.answered(latency(limit.now), limit.now);
    return limit.now;
  };

  it('rises while latency does not', () => {
    expect(settle(new AdaptiveLimit(1, 500), () => 100)).to.equal(500);
  });

  it('falls where more at a time only wait longer, to about what the upstream takes', () => {
    // Takes 40 at a time; what is beyond waits in proportion.
    const limit = new AdaptiveLimit(1, 500);
    for (let i = 0; i < 200; i++) limit.answered(100, 10);
    const settled = settle(limit, (inFlight) => 100 * Math.max(1, inFlight / 40), 1000);
    expect(settled).to.be.within(60, 240);
  });

  it('is cut by refusals, once for those that left together, and stays within its bounds', () => {
    const limit = new AdaptiveLimit(5, 100);
    limit.answered(50, 1);
    const before = limit.now;
    for (let i = 0; i < 20; i++) limit.refused(1000);
    expect(limit.now).to.equal(Math.floor(before * 0.9));
    for (let i = 0; i < 200; i++) limit.refused(2000 + i * 100);
    expect(limit.now).to.equal(5);
    limit.bound(7, 8);
    expect(limit.now).to.equal(7);
  });

  it('learns nothing from latency while there is room to spare', () => {
    const limit = new AdaptiveLimit(1, 100);
    const before = limit.now;
    for (let i = 0; i < 500; i++) limit.answered(100, 1);
    expect(limit.now).to.equal(before);
  });
});

describe('admission to an upstream', () => {
  it('lets through as many as the limit, and the others when one has ended', async () => {
    const upstream = new Upstream();
    const all = Array.from({ length: 5 }, () => upstream.send(exchange()));
    await turn();
    expect([upstream.underWay.length, upstream.gauge('queued')]).to.deep.equal([2, 3]);
    for (let i = 0; i < 5; i++) {
      upstream.underWay[0]!.end();
      await turn();
    }
    expect((await Promise.all(all)).map((one) => (one as Reply).status)).to.deep.equal([
      200, 200, 200, 200, 200,
    ]);
    expect([upstream.most, upstream.gauge('in_flight')]).to.deep.equal([2, 0]);
  });

  it('counts a stream until it has ended', async () => {
    const upstream = new Upstream();
    let sink: Sink | null = null;
    const body = {
      start: (given: Sink) => {
        sink = given;
      },
      resume() {},
      cancel() {},
    };
    const first = upstream.send(exchange());
    await turn();
    upstream.underWay[0]!.end({ ...reply(200), body, events: true });
    const answer = (await first) as Reply;
    expect(upstream.gauge('in_flight')).to.equal(1);
    if (answer.body === null || typeof answer.body === 'string' || Buffer.isBuffer(answer.body))
      throw new Error('no stream');
    answer.body.start({ data: () => true, end() {}, error() {} });
    (sink as Sink | null)?.end();
    expect(upstream.gauge('in_flight')).to.equal(0);
  });

  it('refuses with upstream_busy and an honest Retry-After where the queue is full', async () => {
    const upstream = new Upstream();
    const sent = Array.from({ length: 4 }, () => upstream.send(exchange(), { queue: 1 }));
    await turn();
    expect(await sent[3]).to.equal('upstream_busy');
    expect(upstream.gauge('refused_total')).to.equal(1);
    const error = await upstream.admission
      .through(exchange(), target, { ...rule, queue: 1 }, async () => reply(200))
      .catch((thrown: GatewayError) => thrown);
    expect(error).to.be.instanceOf(GatewayError);
    expect((error as GatewayError).status).to.equal(503);
    expect((error as GatewayError).retryAfterMs).to.be.within(1000, 60_000);
    while (upstream.underWay.length > 0) {
      upstream.underWay[0]!.end();
      await turn();
    }
    await Promise.all(sent);
  });

  it('lets no request wait past max_wait or its deadline', async () => {
    const upstream = new Upstream();
    const full = [upstream.send(exchange()), upstream.send(exchange())];
    const began = performance.now();
    expect(await upstream.send(exchange(), { maxWaitMs: 20 })).to.equal('upstream_busy');
    expect(await upstream.send(exchange(), {}, { deadlineMs: 30 })).to.equal('upstream_busy');
    expectWithinMs(performance.now() - began, 500);
    expect(upstream.gauge('queued')).to.equal(0);
    for (const one of [...upstream.underWay]) one.end();
    await Promise.all(full);
  });

  it('pauses an upstream for its Retry-After', async () => {
    const upstream = new Upstream();
    const first = upstream.send(exchange());
    await turn();
    upstream.underWay[0]!.end(reply(429, ['retry-after-ms', '60']));
    await first;
    const began = performance.now();
    const second = upstream.send(exchange());
    await turn();
    expect(upstream.underWay.length).to.equal(0);
    while (upstream.underWay.length === 0) await turn();
    expectWithinMs(performance.now() - began, 500, { atLeast: 40 });
    upstream.underWay[0]!.end();
    await second;
  });

  it('lets the first after an idle hour wait as long as requests take, not as long as the pause was', async () => {
    const time = new VirtualTime().install();
    try {
      const upstream = new Upstream();
      for (const idleMs of [0, 3_600_000]) {
        time.now += idleMs;
        const pair = [upstream.send(exchange()), upstream.send(exchange())];
        await turn();
        time.now += 500;
        for (const one of [...upstream.underWay]) one.end();
        await Promise.all(pair);
      }
      const three = [1, 2, 3].map(() => upstream.send(exchange()));
      await turn();
      expect([upstream.underWay.length, upstream.gauge('queued')]).to.deep.equal([2, 1]);
      const hasty = await upstream.send(exchange(), { maxWaitMs: 100 });
      expect(hasty, 'what takes half a second is not begun in a tenth').to.equal('upstream_busy');
      while (upstream.underWay.length > 0) {
        upstream.underWay[0]!.end();
        await turn();
      }
      await Promise.all(three);
    } finally {
      time.restore();
    }
  });

  it('one workspace that fills its queue keeps no other from waiting, nor makes it expect to wait for long', async () => {
    const upstream = new Upstream();
    const time = new VirtualTime().install();
    try {
      const first = [upstream.send(exchange('large')), upstream.send(exchange('large'))];
      await turn();
      time.now += 400;
      for (const one of [...upstream.underWay]) one.end();
      await Promise.all(first);
      const large = Array.from({ length: 12 }, () =>
        upstream.send(exchange('large'), { queue: 8, maxWaitMs: 60_000 }),
      );
      await turn();
      expect(upstream.gauge('refused_total')).to.equal(2);
      const small = upstream.send(exchange('small'), { queue: 8, maxWaitMs: 1000 });
      await turn();
      expect(upstream.gauge('queued')).to.equal(9);
      upstream.underWay[0]!.end();
      await turn();
      upstream.underWay[0]!.end();
      await turn();
      expect(upstream.underWay.map(({ workspace }) => workspace)).to.include('small');
      while (upstream.underWay.length > 0) {
        upstream.underWay[0]!.end();
        await turn();
      }
      await Promise.all([...large, small]);
    } finally {
      time.restore();
    }
  });

  it('a workspace’s bounds are its own: a small max squeezes no other that has the same upstream', async () => {
    const upstream = new Upstream();
    const one = { min: 1, max: 1 };
    const ten = { min: 1, max: 10 };
    const sent = [upstream.send(exchange('wide'), ten)];
    await turn();
    sent.push(...[1, 2, 3].map(() => upstream.send(exchange('narrow'), one)));
    sent.push(...[1, 2, 3, 4].map(() => upstream.send(exchange('wide'), ten)));
    await turn();
    const underWay = upstream.underWay.map(({ workspace }) => workspace).sort();
    expect(underWay).to.deep.equal(['narrow', 'wide', 'wide', 'wide', 'wide', 'wide']);
    while (upstream.underWay.length > 0) {
      upstream.underWay[0]!.end();
      await turn();
      expect(upstream.underWay.filter(({ workspace }) => workspace === 'narrow').length).to.be.at.most(1);
    }
    await Promise.all(sent);
    expect([upstream.gauge('in_flight'), upstream.gauge('queued')]).to.deep.equal([0, 0]);
  });

  it('forgets a request that ends while waiting, and loses no place over a thousand random endings', async () => {
    const upstream = new Upstream();
    const sent: Promise<unknown>[] = [];
    const waiting: Exchange[] = [];
    let seed = 7;
    const random = (): number => {
      seed = (Math.imul(seed, 1_103_515_245) + 12_345) & 0x7fffffff;
      return seed / 0x7fffffff;
    };
    for (let i = 0; i < 1000; i++) {
      const x = exchange(`ws-${i % 3}`);
      waiting.push(x);
      sent.push(upstream.send(x));
      if (random() < 0.3)
        waiting.splice(Math.floor(random() * waiting.length), 1)[0]!.abort(gone(), () => {});
      if (random() < 0.7 && upstream.underWay.length > 0) {
        const answers = [reply(200), reply(500), new GatewayError('upstream_reset', 'reset')];
        upstream.underWay[0]!.end(answers[Math.floor(random() * 3)]);
      }
      if (i % 10 === 0) await turn();
    }
    while (upstream.underWay.length > 0 || upstream.gauge('queued') > 0) {
      upstream.underWay[0]?.end();
      await turn();
    }
    await Promise.all(sent);
    expect([upstream.most, upstream.gauge('in_flight'), upstream.gauge('queued')]).to.deep.equal([2, 0, 0]);
  });

  it('gives two tenants at 10:1 load their weights’ shares of a full upstream within 5 %', async () => {
    for (const weights of [{}, { large: 1, small: 3 }] as Record<string, number>[]) {
      const upstream = new Upstream(weights);
      const sent: Promise<unknown>[] = [];
      const sender = (workspace: string) => sent.push(upstream.send(exchange(workspace), { queue: 100_000 }));
      // Each tenant always has more waiting than is its share; one has ten times the other's.
      for (let i = 0; i < 2000; i++) sender('large');
      for (let i = 0; i < 200; i++) sender('small');
      await turn();
      for (let i = 0; i < 1000; i++) {
        const one = upstream.underWay[0]!;
        one.end();
        sender(one.workspace);
        await turn();
      }
      const { large = 0, small = 0 } = upstream.served;
      const wanted = (weights['small'] ?? 1) / ((weights['small'] ?? 1) + (weights['large'] ?? 1));
      expect(small / (large + small)).to.be.closeTo(wanted, 0.05);
      while (upstream.underWay.length > 0) {
        for (const one of [...upstream.underWay]) one.end();
        await turn();
      }
      await Promise.all(sent);
    }
  });
});
