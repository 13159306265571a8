import { expect } from 'chai';
import { type Waiter, WaitingLine } from '../../src/data-plane/upstream/connections/waiting-line.js';

interface Named extends Waiter {
  readonly name: string;
}

const named = (name: string): Named => ({ name, ahead: null, behind: null, waits: false });
const names = (line: WaitingLine<Named>): string[] => [...line].map(({ name }) => name);

describe('a line of those who wait', () => {
  it('is in the order in which they came', () => {
    const line = new WaitingLine<Named>();
    expect(line.first).to.equal(null);
    for (const name of ['a', 'b', 'c']) line.push(named(name));
    expect(names(line)).to.deep.equal(['a', 'b', 'c']);
    expect([line.first?.name, line.size]).to.deep.equal(['a', 3]);
  });

  for (const [who, left] of [
    ['first', ['b', 'c']],
    ['middle', ['a', 'c']],
    ['last', ['a', 'b']],
  ] as const) {
    it(`goes on without its ${who}, who may come again`, () => {
      const line = new WaitingLine<Named>();
      const all = ['a', 'b', 'c'].map(named);
      for (const each of all) line.push(each);
      const leaver = all[['first', 'middle', 'last'].indexOf(who)]!;
      line.remove(leaver);
      line.remove(leaver);
      expect(names(line)).to.deep.equal([...left]);
      expect([leaver.waits, line.size]).to.deep.equal([false, 2]);
      line.push(leaver);
      expect(names(line)).to.deep.equal([...left, leaver.name]);
    });
  }

  it('may be left while it is gone through', () => {
    const line = new WaitingLine<Named>();
    for (const name of ['a', 'b', 'c']) line.push(named(name));
    const seen: string[] = [];
    for (const each of line) {
      seen.push(each.name);
      line.remove(each);
    }
    expect(seen).to.deep.equal(['a', 'b', 'c']);
    expect([line.first, line.size]).to.deep.equal([null, 0]);
  });

  it('keeps no waiter that has left it', () => {
    const line = new WaitingLine<Named>();
    const [one, two] = [named('one'), named('two')];
    line.push(one);
    line.push(two);
    line.remove(one);
    line.remove(two);
    expect([one.ahead, one.behind, two.ahead, two.behind]).to.deep.equal([null, null, null, null]);
  });
});
