import { setTimeout as pause } from 'node:timers/promises';
import { expect } from 'chai';
import { reportRequests } from '../../src/process/ending/signals.js';
import { eventually } from '../support/gateway.js';

describe('what is shown while a gateway that was asked to stop waits', () => {
  it('names requests once, also those that a worker reports late, and nothing where there are none', async () => {
    let requests = 0;
    const shown: number[] = [];
    const done = reportRequests(
      () => requests,
      (count) => shown.push(count),
      5,
    );
    await pause(50);
    expect(shown).to.deep.equal([]);
    requests = 3;
    await eventually('the report', async () => shown.length > 0);
    await pause(50);
    expect(shown).to.deep.equal([3]);
    done();
  });
});
