import { expect } from 'chai';
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
});
