import { expect } from 'chai';
import { AdminError } from '../../src/admin/admin-error.js';
import { checkMetadata, checkSchema } from '../../src/admin/metadata-schema.js';

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

  it('is stopped where it takes its time: a pattern that goes astray, references that multiply', () => {
    const started = Date.now();
    const astray = { properties: { a: { pattern: '^(a+)+$' } } };
    expect(refusal(() => checkMetadata(astray, { a: `${'a'.repeat(60)}!` }, 'metadata'))).to.match(
      /^AB01 metadata .*too long/,
    );
    const definitions: Record<string, unknown> = { d0: { type: 'object' } };
    for (let i = 1; i < 40; i++)
      definitions[`d${i}`] = {
        allOf: [{ $ref: `#/definitions/d${i - 1}` }, { $ref: `#/definitions/d${i - 1}` }],
      };
    expect(
      refusal(() => checkSchema({ definitions, allOf: [{ $ref: '#/definitions/d39' }] }, 'schema')),
    ).to.match(/^AB01 schema/);
    expect(Date.now() - started).to.be.below(3000);
  });
});
