import { expect } from 'chai';
import { Broadcast } from '../../plugins/cache/answers/broadcast.js';
import type { Sink, Source } from '../../src/common/bytes/body.js';
import type { Exchange, Outcome, Reply } from '../../src/common/core/exchange.js';
import { createHandler } from '../../src/data-plane/pipeline/handle.js';
import type { Pipeline } from '../../src/data-plane/pipeline/parts.js';
import type { Call, ReplySink } from '../../src/data-plane/transport/transport.js';

/** A client that takes one chunk and then no more, as a connection shows it. */
class SlowClient implements ReplySink {
  isGone = false;
  readonly call: Call;

  constructor() {
    const call = { method: 'POST', path: '/v1/chat/completions', query: '', headers: [], onAbort: null };
    this.call = {
      ...call,
      collect: (_limit: number, done: (error: null, bytes: Buffer) => void) => done(null, Buffer.from('{}')),
      begin: () => this,
    } as unknown as Call;
  }
  data(): boolean {
    return this.isGone;
  }
  end(): void {}
  error(): void {}
  leave(): void {
    this.isGone = true;
    this.call.onAbort?.();
  }
}

describe('a client that others wait with', () => {
  it('delays no other client once it has disconnected, slow as it was, and its exchange is settled at the end', () => {
    let upstream: Sink | null = null;
    const source: Source = { start: (sink) => (upstream = sink), resume() {}, cancel() {} };
    const stream = new Broadcast(
      source,
      1000,
      () => {},
      () => {},
    );
    const outcomes: Outcome[] = [];
    const request = (x: Exchange): Reply => {
      x.company = { outlasts: () => true };
      return { status: 200, headers: [], body: stream.reader(), events: true, errorOrigin: null };
    };
    const pipeline = {
      draining: false,
      limits: { maxBodyBytes: 1000 },
      headerPrefixes: ['x-gateway-'],
      open: { add() {}, remove() {} },
      chain: {
        request: [request],
        reply: null,
        event: null,
        log: [(_x: Exchange, o: Outcome) => outcomes.push(o)],
      },
    };
    const client = new SlowClient();
    createHandler(pipeline as unknown as Pipeline)(client.call);
    let read = 0;
    const follow = ({ length }: Buffer): boolean => {
      read += length;
      return true;
    };
    stream.reader().start({ data: follow, end() {}, error() {} });
    const give = (): boolean => upstream!.data(Buffer.alloc(600));
    expect([give(), give(), give()], 'it is waited for while it is there').to.deep.equal([true, true, false]);
    client.leave();
    expect(outcomes).to.deep.equal([]);
    expect([give(), give()]).to.deep.equal([true, true]);
    upstream!.end();
    expect(read).to.equal(3000);
    expect(outcomes.map(({ error }) => error?.code)).to.deep.equal(['client_gone']);
  });
});
