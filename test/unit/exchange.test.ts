import { expect } from 'chai';
import { GatewayError } from '../../src/common/core/errors.js';
import { type Attempt, type ClientRequest, Exchange, Slot } from '../../src/common/core/exchange.js';
import { findEndpoint } from '../../src/data-plane/endpoints/table.js';
import { expectWithinMs } from '../support/time-limits.js';

const request: ClientRequest = {
  method: 'POST',
  path: '/v1/chat/completions',
  query: '',
  headers: [],
  remoteAddress: '127.0.0.1',
  bytes: null,
  stream: null,
  json: null,
};
const gone = new GatewayError('client_gone', 'gone');
const turn = (): Promise<void> => new Promise((done) => setImmediate(done));

describe('an exchange that is aborted', () => {
  let x: Exchange;
  let heard: unknown[];
  let thrown: unknown[];
  const report = (error: unknown): void => {
    thrown.push(error);
  };
  const boom = (): never => {
    throw new Error('boom');
  };
  const messages = (): string[] => thrown.map((error) => (error as Error).message);

  beforeEach(() => {
    x = new Exchange('x-1', findEndpoint('POST', '/v1/chat/completions'), request);
    heard = [];
    thrown = [];
  });

  it('notifies every listener once, with the reason, and later ones at once', () => {
    x.onAbort((reason) => heard.push(['before', reason]));
    x.signal.addEventListener('abort', () => heard.push(['signal', x.signal.reason]));
    const off = x.onAbort(() => heard.push('taken back'));
    off();
    x.abort(gone, report);
    x.abort(new GatewayError('draining', 'again'), report);
    x.onAbort((reason) => heard.push(['after', reason]));
    expect(heard).to.have.deep.members([
      ['before', gone],
      ['signal', gone],
      ['after', gone],
    ]);
    expect(x.signal.aborted).to.equal(true);
    expect(thrown).to.deep.equal([]);
  });

  it('reports each onAbort listener that throws, at once or later, and keeps no other from its turn', async () => {
    x.onAbort(boom);
    x.onAbort(() => heard.push('second'));
    x.onAbort(() => Promise.reject(new Error('boom later')));
    x.onAbort(() => heard.push('fourth'));
    x.abort(gone, report);
    x.onAbort(boom);
    await turn();
    expect(heard).to.deep.equal(['second', 'fourth']);
    expect(messages()).to.deep.equal(['boom', 'boom', 'boom later']);
  });

  it('reports each listener on its signal that throws, however it was added, in place of ending the process', async () => {
    const { signal } = x;
    signal.addEventListener('abort', boom);
    signal.addEventListener('abort', boom);
    signal.addEventListener('abort', { handleEvent: () => boom() });
    signal.addEventListener('abort', async () => boom());
    signal.addEventListener('abort', () => heard.push('signal'), { once: true });
    signal.onabort = boom;
    x.onAbort(() => heard.push('onAbort'));
    x.abort(gone, report);
    await turn();
    expect(heard).to.deep.equal(['signal', 'onAbort']);
    expect(messages()).to.deep.equal(['boom', 'boom', 'boom', 'boom']);
  });

  it('has a signal that takes listeners back, and works with what waits for signals', async () => {
    const { signal } = x;
    signal.addEventListener('abort', boom);
    signal.removeEventListener('abort', boom);
    signal.onabort = boom;
    signal.onabort = null;
    const any = AbortSignal.any([signal]);
    const fetched = fetch('http://127.0.0.1:9/', { signal }).catch((error: unknown) => error);
    x.abort(gone, report);
    expect(any.reason).to.equal(gone);
    expect(await fetched).to.equal(gone);
    expect(thrown).to.deep.equal([]);
  });
});

describe('an exchange that is forked', () => {
  const mark = new Slot<string>('mark', () => 'none');
  const attempt = { target: 'config' } as Attempt;
  let x: Exchange;

  beforeEach(() => {
    x = new Exchange('x-1', findEndpoint('POST', '/v1/chat/completions'), request);
    x.metadata = { team: 'a' };
    x.streaming = true;
    x.set(mark, 'before');
  });

  it('is the same request, counted from the same moment, with the same attempts', () => {
    const side = x.fork();
    expect(side).to.include({ id: x.id, request: x.request, startedAt: x.startedAt, streaming: true });
    expect(side.attempts).to.equal(x.attempts);
    expectWithinMs(Math.abs(side.elapsedMs() - x.elapsedMs()), 50);
    expect(side.get(mark)).to.equal('before');
  });

  it('shows nothing of what its side does before that is taken, and all of it then', () => {
    const side = x.fork();
    const other = x.fork();
    for (const [one, name] of [
      [side, 'side'],
      [other, 'other'],
    ] as const) {
      one.provider = name;
      one.retries = 2;
      one.metadata = { ...one.metadata, name };
      one.dropped = [name];
      one.set(mark, name);
    }
    side.answeredBy = attempt;
    expect(x).to.include({ provider: null, retries: 0, answeredBy: null });
    expect(x.metadata).to.deep.equal({ team: 'a' });
    expect(x.get(mark)).to.equal('before');
    x.take(side);
    expect(x).to.include({ provider: 'side', retries: 2, answeredBy: attempt });
    expect(x.metadata).to.deep.equal({ team: 'a', name: 'side' });
    expect(x.dropped).to.deep.equal(['side']);
    expect(x.get(mark)).to.equal('side');
  });

  it('has one list of charges with all of its sides: that of the exchange that it was forked from', () => {
    const side = x.fork();
    expect([x.main, side.main, side.fork().main]).to.deep.equal([x, x, x]);
    const copy = x.copy('x-2');
    expect(copy.main).to.equal(copy);
  });

  it('ends one side by itself, and every side with the whole', () => {
    const [side, other] = [x.fork(), x.fork()];
    const lost = new GatewayError('hedge_lost', 'lost');
    const heard: string[] = [];
    side.onAbort(({ code }) => heard.push(`side ${code}`));
    other.onAbort(({ code }) => heard.push(`other ${code}`));
    side.abort(lost, () => {});
    expect([x.aborted, other.aborted]).to.deep.equal([null, null]);
    x.abort(gone, () => {});
    expect(heard).to.deep.equal(['side hedge_lost', 'other client_gone']);
    expect(x.fork().aborted).to.equal(gone);
  });

  it('is no copy: a copy starts fresh, and outlives its original', () => {
    x.attempts.push(attempt);
    x.abort(gone, () => {});
    const copy = x.copy('x-2');
    expect(copy).to.include({ id: 'x-2', request: x.request, aborted: null });
    expect(copy.attempts).to.deep.equal([]);
    expect(copy.get(mark)).to.equal('none');
  });
});
