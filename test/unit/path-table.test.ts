import { expect } from 'chai';
import { PathTable } from '../../src/core/path-table.js';
import { quickest } from '../support/quickest.js';

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
    ['/v1/things/export/parts', '/v1/things/{id}/parts export'],
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

  it('tells a path with a hundred thousand segments fast', async () => {
    const path = `/v1/things${'/a'.repeat(100_000)}`;
    expect(found(path)).to.equal(null);
    expect(await quickest(5, () => found(path))).to.be.lessThan(200);
  });
});
