import { expect } from 'chai';
import { GatewayError } from '../../src/common/core/errors.js';
import { BareWorker, soon } from '../support/bare-worker.js';

describe('the bodies of requests', () => {
  let worker: BareWorker;

  before(async () => {
    worker = await new BareWorker().start({ logBodies: true });
  });
  after(() => worker.close());

  it('are kept in the log, but not those of a workspace that wants none', async () => {
    const kept: unknown[] = [];
    worker.pipeline.journal.keepBodies = (bodies) => void kept.push(bodies);
    for (const [more, count] of [
      [{}, 1],
      [{ keepBodies: true }, 2],
      [{ keepBodies: false }, 2],
    ] as const) {
      const rows = worker.settled.length;
      const [, { handler }] = await worker.asking(worker.key(more), { stream: false });
      handler.head(200, ['content-type', 'application/json']);
      handler.data(Buffer.from('{"choices":[]}'));
      handler.end();
      await soon('it is settled', () => worker.settled.length > rows);
      await new Promise((turn) => setImmediate(turn));
      expect(kept).to.have.lengthOf(count);
    }
  });

  it('name the address of a call without its credential, though no answer came', async () => {
    worker.addProvider('own', {
      credential: 'key-1234567890',
      baseUrl: 'https://example.com/key-1234567890/v1',
    });
    const kept: string[] = [];
    worker.pipeline.journal.keepBodies = ({ headers }) => void kept.push(String(headers));
    const rows = worker.settled.length;
    const [, { request, handler }] = await worker.asking(worker.key(), {
      stream: false,
      config: '{"provider":"@own"}',
    });
    expect(JSON.stringify(request)).to.contain('/key-1234567890/v1');
    handler.error(new GatewayError('upstream_connect_failed', 'It is not there.'));
    await soon('it is settled', () => worker.settled.length > rows);
    expect(kept.join()).to.contain('https://example.com/').and.not.contain('key-1234567890');
  });
});
