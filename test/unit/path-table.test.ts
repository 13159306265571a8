import { expect } from 'chai';
import { PathTable } from '../../src/common/ipc/path-table.js';
import { quickest } from '../support/quickest.js';
import { expectWithinMs } from '../support/time-limits.js';

describe('a table of paths', () => {
  const table = new PathTable<string>();
  for (const template of [
    '/docs',
    '/v1/things',
    '/v1/things/{id}',
    '/v1/things/{id}/parts',
    '/v1/things/{id}/parts/{part}',
    '/v1/things/export',
    '/v1/things/{type}/{sub_type}',
    '/v1/kept/**',
    '/v1/kept/{id}/parts',
    '/v1/things/whole/**',
    '/prices/{provider}/{model}',
  ])
    table.at(template, () => template);
  const found = (path: string): string | null => {
    const one = table.find(path);
    return one === null ? null : [one.value, ...one.captured].join(' ');
  };

  const cases: readonly (readonly [path: string, found: string | null])[] = [
    ['/v1/things', '/v1/things'],
    ['/v1/things/a', '/v1/things/{id} a'],
    ['/v1/things/export', '/v1/things/export'],
    ['/v1/things/export/parts', null],
    ['/v1/things/export/a/b', null],
    ['/v1/things/whole', '/v1/things/whole/**'],
    ['/v1/things/whole/a/b/c/d', '/v1/things/whole/**'],
    ['/v1/things/wholesale', '/v1/things/{id} wholesale'],
    ['/v1/kept', '/v1/kept/**'],
    ['/v1/kept/', '/v1/kept/**'],
    ['/v1/kept/a', '/v1/kept/**'],
    ['/v1/kept/a/parts', '/v1/kept/{id}/parts a'],
    ['/v1/kept/a/parts/b', '/v1/kept/**'],
    ['/v1/keptx', null],
    ['/v1/things/a/parts/b', '/v1/things/{id}/parts/{part} a b'],
    ['/v1/things/a/b', '/v1/things/{type}/{sub_type} a b'],
    ['/v1/things/', '/v1/things/{id} '],
    ['/v1/things//parts', '/v1/things/{id}/parts '],
    ['/v1/things/%2F', '/v1/things/{id} %2F'],
    ['/v1/things/../../docs', null],
    ['/v1/things/..', '/v1/things/{id} ..'],
    ['/v1//things', null],
    ['//v1/things', null],
    ['/v1/thing', null],
    ['/v1/thingsx', null],
    ['/v1/things/a/parts/b/c', null],
    ['/V1/things', null],
    ['/v1', null],
    ['/', null],
    ['', null],
    ['/docs', '/docs'],
    ['/docs/', null],
    ['/prices/a/b', '/prices/{provider}/{model} a b'],
    ['/v1/__proto__', null],
    ['/v1/constructor/a', null],
  ];
  for (const [path, value] of cases) {
    it(`leads ${path === '' ? 'nothing' : path} to ${value ?? 'nothing'}`, () =>
      expect(found(path)).to.equal(value));
  }

  it('takes no template without a literal head', () => {
    expect(() => table.at('/v1/{id}', () => '')).to.throw('literal');
  });

  it('rejects a path with a hundred thousand segments fast', async () => {
    const path = `/v1/things${'/a'.repeat(100_000)}`;
    expect(found(path)).to.equal(null);
    expectWithinMs(await quickest(5, () => found(path)), 200);
  });
});
