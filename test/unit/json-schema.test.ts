// lane: not quick
import { Ajv } from 'ajv';
import { expect } from 'chai';
import fc from 'fast-check';
import { findingsOfCheck } from '../../src/common/guardrails/guardrail-findings.js';
import { SchemaTooSlow, SchemaValidator } from '../../src/common/json/json-schema.js';
import { readSchema, SchemaRefused } from '../../src/common/json/json-schema-read.js';
import { expectWithinMs } from '../support/time-limits.js';

const names = ['a', 'b', 'team'];

/** As JSON would bring it. */
const plain = <T>(given: T): T => JSON.parse(JSON.stringify(given)) as T;

const value = fc.letrec((tie) => ({
  value: fc.oneof(
    { maxDepth: 3 },
    fc.constantFrom<unknown>('', 'a', 'aa', 'é😀', 'team', 0, 1, 2.5, -3, true, null),
    fc.array(tie('value'), { maxLength: 3 }),
    fc.dictionary(fc.constantFrom(...names), tie('value'), { maxKeys: 3 }),
  ),
})).value;

/** ajv 8.20 accepts an empty list for `contains` where `items` is a list: draft-07 does not. */
function withoutFaultOfAjv(schema: { readonly items?: unknown; readonly contains?: unknown }): object {
  const { contains: _, ...rest } = schema;
  return Array.isArray(schema.items) ? rest : schema;
}

/** Each keyword by itself. */
const alone = (keywords: Record<string, fc.Arbitrary<unknown>>) =>
  Object.entries(keywords).map(([keyword, of]) => of.map((given) => ({ [keyword]: given })));

const count = fc.integer({ min: 0, max: 3 });
const pattern = fc.constantFrom('^a', 'a+$', '[b-z]', '^(a|b)*$', '😀', '');
const schema = fc.letrec((tie) => {
  const one = tie('schema');
  const several = fc.array(one, { minLength: 1, maxLength: 3 });
  const by = (key: fc.Arbitrary<string>) => fc.dictionary(key, one, { maxKeys: 3 });
  const name = fc.constantFrom(...names);
  const type = fc.constantFrom('array', 'boolean', 'integer', 'null', 'number', 'object', 'string');
  return {
    schema: fc.oneof(
      { maxDepth: 3 },
      fc.boolean(),
      fc
        .array(
          fc.oneof(
            ...alone({
              type: fc.oneof(type, fc.uniqueArray(type, { minLength: 1, maxLength: 3 })),
              enum: fc.uniqueArray(value, {
                minLength: 1,
                maxLength: 3,
                selector: (one) => JSON.stringify(one),
              }),
              const: value,
              allOf: several,
              anyOf: several,
              oneOf: several,
              not: one,
              if: one,
              // biome-ignore lint/suspicious/noThenProperty: a keyword of JSON Schema.
              then: one,
              else: one,
              minLength: count,
              maxLength: count,
              pattern,
              minimum: count,
              maximum: count,
              exclusiveMinimum: count,
              exclusiveMaximum: count,
              multipleOf: fc.constantFrom(1, 0.5),
              minItems: count,
              maxItems: count,
              uniqueItems: fc.boolean(),
              items: fc.oneof(one, several),
              additionalItems: one,
              contains: one,
              minProperties: count,
              maxProperties: count,
              required: fc.uniqueArray(name),
              properties: by(name),
              patternProperties: by(pattern),
              additionalProperties: one,
              propertyNames: one,
              dependencies: fc.dictionary(name, fc.oneof(one, fc.uniqueArray(name)), { maxKeys: 2 }),
              $ref: fc.constantFrom('#/definitions/text', '#/definitions/few'),
            }),
          ),
          { maxLength: 4 },
        )
        .map((parts) => withoutFaultOfAjv(Object.assign({}, ...parts) as object)),
    ),
  };
}).schema;

describe('JSON Schema', () => {
  it('finds values right and wrong as ajv does', function () {
    this.timeout(20_000);
    const definitions = { text: { type: 'string' }, few: { maxProperties: 1, maxItems: 1 } };
    fc.assert(
      fc.property(schema, fc.array(value, { minLength: 5, maxLength: 5 }), (one, values) => {
        const whole = plain({ definitions, allOf: [one as object] });
        const ajv = new Ajv({ strict: false, validateFormats: false, logger: false, unicodeRegExp: true });
        const theirs = ajv.compile(whole);
        const ours = new SchemaValidator(whole);
        for (const each of plain(values))
          expect(ours.check(each) === null, JSON.stringify(each)).to.equal(theirs(each));
      }),
      { numRuns: 100, interruptAfterTimeLimit: 8000, endOnFailure: true },
    );
  });

  it('wants an item for contains in an empty list, too', () => {
    const made = new SchemaValidator({ items: [{ maxLength: 2 }], contains: true });
    expect(made.check([])?.message).to.include('must contain an item');
  });

  it('names the place in the value and the rule', () => {
    const made = new SchemaValidator({
      properties: { list: { items: { enum: ['x'] } } },
      required: ['team'],
    });
    expect(made.check({ list: ['x', 'y'], team: 1 })).to.deep.equal({
      path: '.list[1]',
      message: 'must be equal to one of the allowed values',
    });
    expect(made.check({})).to.deep.equal({ path: '', message: "must have required property 'team'" });
  });

  const refused: readonly [string, unknown, string][] = [
    ['no schema', { properties: { a: 1 } }, '.properties.a must be a schema'],
    ['a wrong keyword', { allOf: [{ required: 'a' }] }, '.allOf[0].required must be a list of texts'],
    ['an unknown type', { type: ['text'] }, '.type[0] must be one of'],
    [
      'a pattern outside RE2',
      { properties: { a: { pattern: '(?=a)b' } } },
      '.properties.a.pattern is no regular',
    ],
    ['patterns that are large', { pattern: 'a{1000}' }, '.pattern makes the patterns'],
    ['a reference outside', { $ref: 'https://a.example/b.json' }, '.$ref must lead to a place within'],
    ['a reference to nothing', { $ref: '#/definitions/a' }, '.$ref leads to a place that'],
    [
      'a place that is no schema',
      { definitions: { a: {} }, $ref: '#/definitions/a/type', type: 'object' },
      '.$ref leads',
    ],
    [
      'too many parts',
      { allOf: Array.from({ length: 1001 }, () => ({})) },
      '.allOf[999] is one schema too many',
    ],
    ['deep nesting', nested(40), 'nested too deep: at most 32'],
  ];
  for (const [what, wrong, message] of refused) {
    it(`refuses ${what}, with its place and the reason`, () => {
      let text = '';
      try {
        readSchema(wrong);
      } catch (thrown) {
        if (!(thrown instanceof SchemaRefused)) throw thrown;
        text = `${thrown.path} ${thrown.message}`;
      }
      expect(text).to.include(message);
    });
  }

  const slow: readonly [string, unknown, unknown][] = [
    ['references that multiply', { definitions: multiplying(30), $ref: '#/definitions/d30' }, {}],
    ['a reference to itself', { $ref: '#' }, {}],
    ['large patterns over long texts', { pattern: `${'(a|b)?'.repeat(60)}c` }, 'ab'.repeat(20_000)],
    ['patterns over many names', { patternProperties: { [`${'a?'.repeat(100)}b`]: {} } }, manyNames(5000)],
    ['a list without repeats', { uniqueItems: true }, Array.from({ length: 20_000 }, (_, i) => i)],
    [
      'a long enumeration over many names',
      { additionalProperties: { not: { enum: listed(2000) } } },
      manyNames(5000),
    ],
  ];
  for (const [what, made, hostile] of slow) {
    it(`gives up soon where a check would take long: ${what}`, () => {
      const read = new SchemaValidator(made);
      const began = performance.now();
      expect(() => read.check(hostile)).to.throw(SchemaTooSlow);
      // Some 10 ms on a machine that does nothing else.
      expectWithinMs(performance.now() - began, 200);
    });
  }

  it('is read in bounded time for a check of a guardrail, which reports what is wrong with it', () => {
    const wrong = { schema: { properties: { a: { pattern: '(' } } } };
    const [finding] = findingsOfCheck('default.jsonSchema', wrong, 'checks[0]');
    expect(finding?.path).to.equal('checks[0].parameters.schema');
    expect(finding?.message).to.match(
      /^must be a JSON Schema of draft 7: \.properties\.a\.pattern is no regular/,
    );
  });
});

function nested(levels: number): object {
  return levels === 0 ? {} : { not: nested(levels - 1) };
}

function multiplying(levels: number): Record<string, object> {
  const definitions: Record<string, object> = { d0: {} };
  for (let i = 1; i <= levels; i++) {
    const reference = { $ref: `#/definitions/d${i - 1}` };
    definitions[`d${i}`] = { allOf: [reference, reference] };
  }
  return definitions;
}

function manyNames(count: number): object {
  return Object.fromEntries(Array.from({ length: count }, (_, i) => [`name-${i}`, 'x'.repeat(100)]));
}

function listed(count: number): string[] {
  return Array.from({ length: count }, (_, i) => `value-${i}`);
}
