import { expect } from 'chai';
import { BreakerNodes } from '../../src/control-plane/shared-state/breaker-nodes.js';
import type { Redis } from '../../src/control-plane/shared-state/redis.js';
import { silent } from '../support/shared.js';

describe('messages between nodes about circuit breakers', () => {
  it('is passed over where it is none of this version: another node may be of the next', () => {
    let tell: (text: string) => void = () => {};
    const redis = { subscribe: (_channel, listener) => (tell = listener), onUp() {} } as Partial<Redis>;
    const told: unknown[] = [];
    const note = (news: unknown): void => void told.push(news);
    new BreakerNodes(redis as Redis, silent).follow({ open: note, probed: note, closed: note });
    const place = { organisation: 'o', workspace: 'w', config: 'c', path: 'config' };
    for (const message of [
      null,
      1,
      [],
      { t: 'closed' },
      { t: 'toString', node: 'n', place },
      { t: 'open', node: 'n', place },
      { t: 'open', node: 'n', place, rule: {}, until: 0 },
    ]) {
      tell(JSON.stringify(message));
    }
    tell('{');
    expect(told).to.deep.equal([]);
    tell(JSON.stringify({ t: 'closed', node: 'n', place }));
    expect(told).to.deep.equal([place]);
  });
});
