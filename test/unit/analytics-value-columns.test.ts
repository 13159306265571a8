import { expect } from 'chai';
import { Changes } from '../../src/control-plane/analytics/duckdb/changes.js';
import { valueColumnCount, valuesOf } from '../../src/control-plane/analytics/duckdb/value-columns.js';

const rowsOf = (rows: readonly (readonly [org: string, metadata: object | null])[]): Changes =>
  new Changes({
    seq: JSON.stringify(rows.map((_, i) => i + 1)),
    org: JSON.stringify(rows.map(([org]) => org)),
    metadata: JSON.stringify(rows.map(([, metadata]) => metadata && JSON.stringify(metadata))),
  });

describe('columns of values of metadata', () => {
  it('are given out to the names of each organisation, the commonest first', () => {
    const rows = rowsOf([
      ['a', { once: '1', team: 'x' }],
      ['a', { team: 'y', _user: 'someone' }],
      ['b', { once: '2' }],
      ['b', null],
    ]);
    const { lists, added } = valuesOf(rows, []);
    expect(added).to.deep.equal([
      { org: 'a', name: 'team', number: 0 },
      { org: 'a', name: 'once', number: 1 },
      { org: 'b', name: 'once', number: 0 },
    ]);
    expect(lists[0]).to.deep.equal(['x', 'y', '2', null]);
    expect(lists[1]).to.deep.equal(['1', null, null, null]);
  });

  it('stay those of their names, and later names get the free ones', () => {
    const known = [{ org: 'a', name: 'team', number: 0 }];
    const { lists, added } = valuesOf(rowsOf([['a', { app: 'z', team: 'x' }]]), known);
    expect(added).to.deep.equal([{ org: 'a', name: 'app', number: 1 }]);
    expect(lists.slice(0, 3)).to.deep.equal([['x'], ['z'], [null]]);
  });

  it('are not given to names beyond their number', () => {
    const names = Object.fromEntries(Array.from({ length: 50 }, (_, i) => [`name-${i}`, 'v']));
    const { lists, added } = valuesOf(rowsOf([['a', names]]), []);
    expect(added.length).to.equal(valueColumnCount);
    expect(lists.every(([value]) => value === 'v')).to.equal(true);
    const known = added.map((column) => ({ ...column }));
    expect(valuesOf(rowsOf([['a', { other: 'w' }]]), known).added).to.deep.equal([]);
  });
});
