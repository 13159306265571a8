import { expect } from 'chai';
import { record } from '../../src/cli/output/show.js';

describe('an answer printed for people', () => {
  it('has the points of a graph as a table, and counts in full', () => {
    const graph = {
      summary: { total: 12_345_678 },
      data_points: [
        { timestamp: '2026-01-01T00:00:00.000Z', total: 12_345_678, avg: 0.333333333 },
        { timestamp: '2026-01-01T01:00:00.000Z', total: 0, avg: null },
      ],
    };
    expect(record(graph).split('\n').slice(-3)).to.deep.equal([
      'data_points  TIMESTAMP                 TOTAL     AVG',
      '             2026-01-01T00:00:00.000Z  12345678  0.333333',
      '             2026-01-01T01:00:00.000Z  0         -',
    ]);
  });

  it('has a list of records that hold others as JSON', () => {
    expect(record({ list: [{ inner: { a: 1 } }] })).to.contain('"inner": {');
  });
});
