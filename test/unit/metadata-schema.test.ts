import { expect } from 'chai';
import { AdminError } from '../../src/control-plane/administration/admin-error.js';
import {
  checkMetadata,
  checkSchema,
} from '../../src/control-plane/administration/references/metadata-schema.js';
import { expectWithinMs } from '../support/time-limits.js';

const schema = {
  $schema: 'http://json-schema.org/draft-07/schema#',
  type: 'object',
  required: ['team'],
  properties: { team: { type: 'string', enum: ['red', 'blue'] }, cost_centre: { pattern: '^[0-9]{4}$' } },
};

function refusal(work: () => void): string {
  try {
    work();
  } catch (error) {
    if (error instanceof AdminError) return `${error.code} ${error.message}`;
    throw error;
  }
  return 'allowed';
}

describe('the metadata schema of an organisation', () => {
  it('lets metadata pass that satisfies it, and all metadata where there is none', () => {
    checkSchema(schema, 'schema');
    checkMetadata(schema, { team: 'red', cost_centre: '1234', else: 'x' }, 'metadata');
    checkMetadata(null, { any: 'thing' }, 'metadata');
  });

  it('refuses other metadata, and names where it is wrong', () => {
    expect(refusal(() => checkMetadata(schema, {}, 'defaults.metadata'))).to.match(
      /^AB01 defaults\.metadata .*'team'/,
    );
    expect(refusal(() => checkMetadata(schema, { team: 'green' }, 'metadata'))).to.match(
      /^AB01 metadata\.team /,
    );
    expect(refusal(() => checkMetadata(schema, { team: 'red', cost_centre: 'x' }, 'metadata'))).to.match(
      /^AB01 metadata\.cost_centre /,
    );
  });

  const bad: Readonly<Record<string, object>> = {
    'no object': { type: 'array' },
    'properties that are no texts': { properties: { n: { type: 'number' } } },
    'an unknown draft': { $schema: 'https://json-schema.org/draft/2020-12/schema' },
    'a reference that leads elsewhere': { $ref: 'https://example.com/schema.json' },
    'a keyword of the wrong kind': { required: 'team' },
    'a pattern that is none': { properties: { a: { pattern: '(' } } },
    'itself within itself': { allOf: [{ $ref: '#' }] },
    'too much': { description: 'x'.repeat(20_000) },
  };
  for (const [what, wrong] of Object.entries(bad)) {
    it(`must not be ${what}`, () => {
      expect(
        refusal(() => checkSchema(wrong as Record<string, unknown>, 'settings.metadata_schema')),
      ).to.match(/^AB01 settings\.metadata_schema/);
    });
  }

  it('decides in time what would lead another engine astray, however long the metadata is', () => {
    const began = performance.now();
    for (const pattern of ['^(a+)+$', '^(a|a)*$', '^(a|b|ab)*c']) {
      const astray = { properties: { a: { pattern } } };
      checkSchema(astray, 'schema');
      expect(refusal(() => checkMetadata(astray, { a: `${'a'.repeat(128)}!` }, 'metadata'))).to.match(
        /^AB01 metadata\.a must match the pattern/,
      );
    }
    // 700 parts of one schema, for each of fifty keys.
    const wide = { allOf: Array.from({ length: 700 }, (_, i) => ({ maxProperties: 100 + i })) };
    checkSchema(wide, 'schema');
    for (let i = 0; i < 50; i++) checkMetadata(wide, { a: `${i}` }, 'metadata');
    // Some 25 ms on a machine that does nothing else; with an engine that goes astray, hours.
    expectWithinMs(performance.now() - began, 1000);
  });

  it('refuses references that multiply', () => {
    const definitions: Record<string, unknown> = { d0: { type: 'object' } };
    for (let i = 1; i < 40; i++)
      definitions[`d${i}`] = {
        allOf: [{ $ref: `#/definitions/d${i - 1}` }, { $ref: `#/definitions/d${i - 1}` }],
      };
    expect(
      refusal(() => checkSchema({ definitions, allOf: [{ $ref: '#/definitions/d39' }] }, 'schema')),
    ).to.match(/^AB01 schema cannot be used: it takes too long/);
  });

  it('that was stored by an older version is held to the same rules, with its path and the reason', () => {
    const stored = { properties: { a: { pattern: '^(?=x)' } } };
    expect(refusal(() => checkMetadata(stored, { a: 'x' }, 'defaults.metadata'))).to.match(
      /^AB01 defaults\.metadata cannot be checked .* settings\.metadata_schema\.properties\.a\.pattern is no regular expression in RE2's syntax/,
    );
    const long = { description: 'x'.repeat(20_000) };
    expect(refusal(() => checkMetadata(long, {}, 'metadata'))).to.match(/at most 16384 bytes/);
  });
});
