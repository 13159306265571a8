import { expect } from 'chai';
import {
  fitsStrictTool,
  toStructuredSchema,
} from '../../src/data-plane/providers/formats/structured-schema.js';

const texts = { type: 'string' };
const numbers = { type: 'number' };

describe('structured schema', () => {
  it('writes alternatives of either kind, and no schema that has both', () => {
    const written = (schema: object) => toStructuredSchema({ ...schema }, 'schema', []);
    const anyOf = [texts, numbers];
    expect(written({ anyOf })).to.deep.equal({ anyOf });
    expect(written({ oneOf: anyOf })).to.deep.equal({ anyOf });
    // Only one of them could be written, which would allow more.
    expect(written({ anyOf, oneOf: [texts] })).to.equal(null);
    expect(fitsStrictTool({ anyOf, oneOf: [texts] })).to.equal(false);
  });
});
