import { expect } from 'chai';
import { type Begun, StreamStart } from '../../src/data-plane/pipeline/answer/stream-start.js';
import { type Framing, serverSentEvents } from '../../src/data-plane/providers/streams/framing.js';
import { BareWorker, event, soon } from '../support/bare-worker.js';

type Outgoing = ConstructorParameters<typeof StreamStart>[1];
const outgoing = { call: { provider: 'p' } } as unknown as Outgoing;
const never = (): void => expect.fail('it was not held for long');

/** Counts what is read of a stream of events. */
function counted(): { framing: Framing; seen: { readers: number; read: number; looked: number } } {
  const seen = { readers: 0, read: 0, looked: 0 };
  const framing: Framing = {
    ...serverSentEvents,
    looksValid(bytes) {
      seen.looked += bytes.length;
      return serverSentEvents.looksValid(bytes);
    },
    reader(onEvent) {
      seen.readers += 1;
      const reader = serverSentEvents.reader(onEvent);
      return {
        push(chunk) {
          seen.read += chunk.length;
          reader.push(chunk);
        },
        end: () => reader.end(),
      };
    },
  };
  return { framing, seen };
}

describe('the start of a stream', () => {
  it('is read once, in however many pieces it arrives', () => {
    const { framing, seen } = counted();
    const text = `${': wait\n\n'.repeat(1000)}data: {}\n\n`;
    const start = new StreamStart(framing, outgoing, never);
    let begun: Begun | null = null;
    for (const byte of text) begun ??= start.push(Buffer.from(byte));
    expect(begun?.bytes.toString()).to.equal(text);
    expect(seen.readers).to.equal(1);
    expect(seen.read).to.equal(text.length);
    expect(seen.looked).to.be.below(100);
  });

  it('is read up to 16 KiB, and then passed on whole', () => {
    const { framing, seen } = counted();
    const start = new StreamStart(framing, outgoing, never);
    expect(start.push(Buffer.from(`data: ${'x'.repeat(10_000)}`))).to.equal(null);
    expect(start.push(Buffer.from('x'.repeat(10_000)))?.bytes.length).to.equal(20_006);
    expect(seen.read).to.equal(16 * 1024);
  });

  it('is not asked about for each blank line before its events', () => {
    const { framing, seen } = counted();
    const start = new StreamStart(framing, outgoing, never);
    for (let i = 0; i < 4000; i++) expect(start.push(Buffer.from('\n'))).to.equal(null);
    expect(seen.looked).to.equal(0);
    expect(start.push(Buffer.from('data: {}\n\n'))?.bytes.length).to.equal(4010);
  });

  it('of blank lines alone is no stream', () => {
    const start = new StreamStart(serverSentEvents, outgoing, never);
    const push = (): void => {
      for (let i = 0; i < 5000; i++) start.push(Buffer.from('\n'));
    };
    expect(push).to.throw('a body that is not a stream of events');
  });

  it('that is shorter than a name of a field is read where it ends', () => {
    const start = new StreamStart(serverSentEvents, outgoing, never);
    expect(start.push(Buffer.from('da'))).to.equal(null);
    expect(() => start.end()).to.throw('a stream that ended before its first event');
  });
});

describe('comments and pings', () => {
  const realTimeout = globalThis.setTimeout;
  let worker: BareWorker;
  before(async () => {
    worker = await new BareWorker().start();
  });
  after(() => worker.close());
  afterEach(() => {
    globalThis.setTimeout = realTimeout;
  });

  /** Waits of ten seconds, of which a little may be over, end at once. */
  const hurry = (): void => {
    globalThis.setTimeout = ((run: () => void, ms: number) =>
      realTimeout(run, ms > 9000 && ms <= 10_000 ? 30 : ms)) as typeof setTimeout;
  };

  it('are passed on after ten seconds, although nothing more arrives', async () => {
    const [client, { handler }] = await worker.asking(worker.key(), { config: '{"provider":"@openai"}' });
    hurry();
    handler.head(200, ['content-type', 'text/event-stream']);
    handler.data(Buffer.from(': ok\n\n'));
    expect([client.status, client.text]).to.deep.equal([0, '']);
    await soon('the client reads', () => client.text === ': ok\n\n');
    handler.data(event('Hello'));
    expect(client.text).to.equal(`: ok\n\n${event('Hello')}`);
  });

  it('are not passed on where the attempt has failed before', async () => {
    const before = worker.asked.length;
    const config =
      '{"strategy":{"mode":"fallback"},"targets":[{"provider":"@openai","request_timeout":5},{"provider":"@openai"}]}';
    const [client, { handler }] = await worker.asking(worker.key(), { config });
    hurry();
    handler.head(200, ['content-type', 'text/event-stream']);
    handler.data(Buffer.from(': ok\n\n'));
    await soon('the next target is asked', () => worker.asked.length === before + 2);
    await new Promise((done) => realTimeout(done, 60));
    expect([client.status, client.text]).to.deep.equal([0, '']);
  });

  it('are not the first byte of an answer while they are held', async () => {
    const settled = worker.settled.length;
    const [client, { handler }] = await worker.asking(worker.key(), { config: '{"provider":"@openai"}' });
    handler.head(200, ['content-type', 'text/event-stream']);
    handler.data(Buffer.from(': ok\n\n'));
    await new Promise((done) => realTimeout(done, 60));
    handler.data(Buffer.from(`${event('Hello')}data: [DONE]\n\n`));
    handler.end();
    await soon('it is settled', () => client.ended && worker.settled.length > settled);
    expect(worker.settled.at(-1)!.firstByteMs).to.be.at.least(55);
  });
});
