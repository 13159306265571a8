import { expect } from 'chai';
import { AdminError } from '../../src/control-plane/administration/admin-error.js';
import { changeOf, checkedMask, maskOfPresent } from '../../src/control-plane/administration/audit/mask.js';
import { empty } from '../../src/control-plane/administration/shape/json.js';
import { updateThing } from '../support/things.js';

const { request } = updateThing();

describe('the mask of an update', () => {
  it('that is not given names the fields that are there', () => {
    const message = {
      ...empty(request),
      id: 'a',
      name: '',
      part: { word: '', count: 1 },
      states: ['active'],
    };
    expect(maskOfPresent(request, message)).to.deep.equal(['name', 'states', 'part.count']);
  });

  it('may be * for every field that can be changed', () => {
    const all = checkedMask(request, ['*']);
    expect(all).to.include.members(['name', 'part', 'metadata']);
    expect(all).to.not.include.members(['kind']).and.not.include.members(['etag', 'update_mask']);
  });

  for (const path of [
    'colour',
    'etag',
    'update_mask',
    'part.colour',
    'name.x',
    'parts.word',
    '',
    '.',
    'part.',
  ])
    it(`must not name ${JSON.stringify(path)}`, () =>
      expect(() => checkedMask(request, [path])).to.throw(AdminError, 'update_mask names'));

  it('must not name what cannot be changed', () => {
    expect(() => checkedMask(request, ['kind'])).to.throw(AdminError, 'kind cannot be changed.');
  });

  it('shows for each field whether it is kept, cleared or set', () => {
    const update = {
      name: 'abc',
      price: null,
      part: { note: 'n' },
      update_mask: ['name', 'price', 'part.note'],
    };
    expect(changeOf(update, 'name')).to.equal('abc');
    expect(changeOf(update, 'price')).to.equal(null);
    expect(changeOf<number>(update, 'size')).to.equal(undefined);
    expect(changeOf(update, 'part.note')).to.equal('n');
    expect(changeOf(update, 'part.word')).to.equal(undefined);
    expect(changeOf(update, 'part')).to.deep.equal({ note: 'n' });
    expect(changeOf({ update_mask: ['part'] }, 'part.note')).to.equal(null);
  });
});
