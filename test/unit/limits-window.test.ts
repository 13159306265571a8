import { expect } from 'chai';
import { slotsPerWindow, Window } from '../../plugins/limits/control/window.js';

const minute = 60_000;
/** Unix milliseconds, at the start of a slot. */
const start = 1_000_000_000_000 - (1_000_000_000_000 % (minute / slotsPerWindow));

describe('the window of a limit', () => {
  it('makes no room by giving back more than was taken in that part of it', () => {
    const window = new Window(minute);
    const slot = window.slotAt(start);
    window.add(slot - 1, 5);
    window.add(slot, 5);
    window.add(slot, -8);
    expect(window.sum(start)).to.equal(5);
    window.add(slot, 1);
    expect(window.sum(start)).to.equal(6);
  });

  it('forgets what was taken in an order other than that of time', () => {
    const window = new Window(minute);
    const slot = window.slotAt(start);
    window.add(slot, 3);
    window.add(slot - 30, 4);
    window.add(slot - 10, 2);
    expect(JSON.parse(JSON.stringify(window))).to.deep.equal([
      [slot - 30, 4],
      [slot - 10, 2],
      [slot, 3],
    ]);
    const sumAfter = (slots: number): number => window.sum(start + slots * window.slotMs);
    expect([sumAfter(30), sumAfter(31), sumAfter(51), sumAfter(60), sumAfter(61)]).to.deep.equal([
      9, 5, 3, 3, 0,
    ]);
  });
});
