import { expect } from 'chai';
import { retire } from '../../src/process/worker/retire.js';

describe('a data worker that was replaced', () => {
  it('leaves after the last of its requests, those that their clients left among them', async () => {
    let drained = 0;
    let inFlight = 1;
    let left = 1;
    let over = false;
    const done = retire({ drain: () => void drained++ }, () => inFlight + left, 10).then(() => {
      over = true;
    });
    await new Promise((wait) => setTimeout(wait, 150));
    expect([drained, over]).to.deep.equal([1, false]);
    inFlight = 0;
    await new Promise((wait) => setTimeout(wait, 250));
    expect(over).to.equal(false);
    left = 0;
    await done;
  });
});
