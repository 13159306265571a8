import { scheduler } from 'node:timers/promises';
import { expect } from 'chai';
import { LoopDelay } from '../../src/process/worker/watch/loop-delay.js';

const busy = (ms: number): void => {
  const until = performance.now() + ms;
  while (performance.now() < until);
};

describe('the delay of the event loop', () => {
  it('is measured once there is something to do, and no longer when there has been nothing for a while', async () => {
    const delay = new LoopDelay(100);
    delay.look();
    busy(150);
    delay.look();
    expect(delay.isMeasuring).to.equal(true);
    // Idle: on a busy machine a look may come late, and counts as busy.
    for (let i = 0; i < 400 && delay.isMeasuring; i++) {
      await scheduler.wait(100);
      delay.look();
    }
    expect(delay.isMeasuring).to.equal(false);
  });

  it('is what the loop was late by', async () => {
    const delay = new LoopDelay(100);
    busy(150);
    delay.look();
    await scheduler.wait(100);
    busy(200);
    await scheduler.wait(50);
    expect(delay.look()).to.be.within(150, 1000);
  });

  it('is not what passed while it was not measured', async () => {
    const delay = new LoopDelay(100);
    busy(150);
    delay.look();
    await scheduler.wait(100);
    for (let i = 0; i < 400 && delay.isMeasuring; i++) {
      await scheduler.wait(100);
      delay.look();
    }
    await scheduler.wait(1500);
    // Late: measuring begins again.
    delay.look();
    expect(delay.isMeasuring).to.equal(true);
    await scheduler.wait(100);
    expect(delay.look()).to.be.below(1000);
  });
});
