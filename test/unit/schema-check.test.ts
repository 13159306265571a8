import { Ajv } from 'ajv';
import { expect } from 'chai';
import fc from 'fast-check';
import { Findings } from '../../src/data-plane/routing/findings.js';
import { nodeSchema } from '../../src/data-plane/routing/schema.js';
import { checkSchema } from '../../src/data-plane/routing/schema-check.js';
import { examples } from '../support/long-forms.js';

describe('the schema of routing configs', () => {
  const validate = new Ajv({ allErrors: true, strict: false }).compile(nodeSchema);
  const accepts = (value: unknown): boolean => {
    const findings = new Findings();
    checkSchema(value, nodeSchema, 'config', findings);
    return findings.none;
  };

  /** Values for every key, right and wrong, as its schema would have them. */
  const scalar = fc.oneof(
    fc.integer({ min: -1, max: 1100 }),
    fc.double(),
    fc.string({ maxLength: 140 }),
    fc.constantFrom('simple', 'openai', '@a', 'fallback', 'metadata.a', 'x y', '\n', '\u{1f600}'.repeat(128)),
    fc.boolean(),
    fc.constant(null),
  );
  const { value } = fc.letrec<{ value: unknown; object: object }>((tie) => ({
    object: fc.oneof(
      ...keysOf(nodeSchema).map((keys) =>
        fc.dictionary(fc.constantFrom(...keys), tie('value'), { maxKeys: 4 }),
      ),
    ),
    value: fc.oneof({ maxDepth: 4 }, scalar, fc.array(scalar, { maxLength: 20 }), tie('object')),
  }));

  it('agrees with a validator of JSON Schema on any value', () => {
    const config = fc.dictionary(fc.constantFrom(...(keysOf(nodeSchema)[0] ?? [])), value, { maxKeys: 3 });
    let accepted = 0;
    fc.assert(
      fc.property(fc.oneof(config, value), (candidate) => {
        const sound = accepts(candidate);
        if (sound) accepted++;
        expect(sound).to.equal(validate(candidate));
      }),
      { numRuns: examples(5000) },
    );
    expect(accepted).to.be.within(100, 4900);
  });
});

/** The keys of each object in a schema, the outermost first. */
function keysOf(schema: object): string[][] {
  const found: string[][] = [];
  const walk = (at: unknown): void => {
    if (typeof at !== 'object' || at === null) return;
    const { properties } = at as { properties?: object };
    if (properties !== undefined) found.push([...Object.keys(properties), 'colour']);
    for (const inner of Object.values(at)) walk(inner);
  };
  walk(schema);
  return found;
}
