import { expect } from 'chai';
import { beginRead, endRead, flushAfterRead } from '../../src/common/bytes/read-turn.js';

const writer = (log: string[], name: string, then?: () => void) => ({
  flush() {
    log.push(name);
    then?.();
  },
});

describe('What is written of one read', () => {
  it('leaves when the read is over, each writer once asked once flushed, in order', () => {
    const log: string[] = [];
    beginRead();
    flushAfterRead(writer(log, 'a'));
    flushAfterRead(
      writer(log, 'b', () => {
        flushAfterRead(writer(log, 'of b'));
      }),
    );
    expect(log).to.deep.equal([]);
    endRead();
    expect(log).to.deep.equal(['a', 'b', 'of b']);
  });

  it('leaves at the end of the turn where nothing is being read', async () => {
    const log: string[] = [];
    flushAfterRead(writer(log, 'a'));
    expect(log).to.deep.equal([]);
    await new Promise((resolve) => setImmediate(resolve));
    expect(log).to.deep.equal(['a']);
  });

  it('leaves although another writer throws, and later reads are as before', async () => {
    const log: string[] = [];
    beginRead();
    flushAfterRead(
      writer(log, 'a', () => {
        throw new Error('a broke');
      }),
    );
    flushAfterRead(writer(log, 'b'));
    expect(endRead).to.throw('a broke');
    await new Promise((resolve) => setImmediate(resolve));
    expect(log).to.deep.equal(['a', 'b']);
    beginRead();
    flushAfterRead(writer(log, 'c'));
    endRead();
    expect(log).to.deep.equal(['a', 'b', 'c']);
  });
});
