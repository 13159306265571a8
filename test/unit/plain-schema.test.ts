import { expect } from 'chai';
import { lazyAjv } from '../../src/common/json/ajv.js';
import { fitsPlainly } from '../../src/common/settings/plain-schema.js';

const ajv = lazyAjv({ keywords: ['wanted'] });
const values = [0, 1, -1, 1.5, 65_535, 65_536, Number.NaN, '', 'a', 'ab', '🎈', 'warn', true, false, null];

describe('a plain schema', () => {
  for (const schema of [
    { type: 'integer', minimum: 0, maximum: 65_535 },
    { type: 'boolean' },
    { type: 'string', minLength: 1 },
    { type: 'string', minLength: 2 },
    { type: 'string', pattern: '^.$', wanted: 'one character' },
    { type: 'string', enum: ['warn', 'info'] },
    { type: 'array', minItems: 1, items: { type: 'string', pattern: '^a', wanted: 'an a' } },
  ]) {
    it(`is fitted by the same values as Ajv finds: ${JSON.stringify(schema)}`, () => {
      for (const value of [...values, [], {}, ['a'], ['a', 'b'], ['a', 1], [['a']]])
        expect(fitsPlainly(schema, value), JSON.stringify(value)).to.equal(ajv().validate(schema, value));
    });
  }

  it('is fitted by nothing where it has a keyword that is left to Ajv', () => {
    expect(fitsPlainly({ type: 'string', format: 'uri' }, 'x')).to.equal(false);
    expect(fitsPlainly({ type: 'array', items: { oneOf: [] } }, ['x'])).to.equal(false);
  });
});
