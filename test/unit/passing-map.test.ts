import { expect } from 'chai';
import { PassingMap } from '../../src/common/bytes/passing-map.js';

describe('a map for what stays a moment', () => {
  it('gives what was set last, and nothing once it is deleted', () => {
    const map = new PassingMap<string, number>();
    expect(map.get('a')).to.equal(undefined);
    map.set('a', 1);
    map.set('a', 2);
    map.set('b', 3);
    expect([map.get('a'), map.get('b'), map.size]).to.deep.equal([2, 3, 2]);
    map.delete('a');
    map.delete('a');
    expect([map.get('a'), map.get('b'), map.size]).to.deep.equal([undefined, 3, 1]);
    map.set('a', 4);
    expect([map.get('a'), map.size]).to.deep.equal([4, 2]);
  });

  it('gives all that is in it when it is emptied, in the order in which it came', () => {
    const map = new PassingMap<number, string>();
    map.set(2, 'b');
    map.set(1, 'a');
    expect(map.drain()).to.deep.equal(['b', 'a']);
    expect([map.size, map.get(2), map.drain()]).to.deep.equal([0, undefined, []]);
  });
});
