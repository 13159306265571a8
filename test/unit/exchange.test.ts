import { expect } from 'chai';
import { GatewayError } from '../../src/core/errors.js';
import { type ClientRequest, Exchange } from '../../src/core/exchange.js';
import { findEndpoint } from '../../src/endpoints/table.js';

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

  it('tells every listener once, with the reason, and those that come later at once', () => {
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
