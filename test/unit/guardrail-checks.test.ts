import { expect } from 'chai';
import { guardrailChecks } from '../../src/common/guardrails/guardrail-checks.js';
import { findingsOfCheck } from '../../src/common/guardrails/guardrail-findings.js';

const lines = (id: string, parameters?: unknown): string[] =>
  findingsOfCheck(id, parameters, 'checks[0]').map(({ path, message }) => `${path} ${message}`);

/** Something that a schema lets pass, made from the schema itself. */
function example(schema: Readonly<Record<string, unknown>>): unknown {
  if (Array.isArray(schema['enum'])) return schema['enum'][0];
  if (schema['pattern'] === '^https?://[^\\s/]') return 'https://example.com/x';
  if (schema['pattern'] !== undefined) return 'eng_Latn';
  switch (schema['type']) {
    case 'array':
      return [example(schema['items'] as Readonly<Record<string, unknown>>)];
    case 'object':
      return {};
    case 'string':
      return 'x';
    case 'boolean':
      return true;
    default:
      return 1;
  }
}

describe('guardrail checks', () => {
  it('each run before the request, after the answer, or both', () => {
    const phases = [...guardrailChecks.values()].map((check) => check.phases.join());
    expect(new Set(phases)).to.deep.equal(new Set(['before', 'after', 'before,after']));
    expect(guardrailChecks.get('default.jwt')?.phases).to.deep.equal(['before']);
    expect(guardrailChecks.get('default.log')?.phases).to.deep.equal(['after']);
  });

  for (const [id, { parameters }] of guardrailChecks) {
    it(`${id} takes all of its parameters, and its defaults`, () => {
      const all = Object.entries(parameters.properties).map(([name, schema]) => [name, example(schema)]);
      expect(lines(id, Object.fromEntries(all))).to.deep.equal([]);
      const defaults = Object.entries(parameters.properties)
        .filter(([name, schema]) => 'default' in schema || parameters.required.includes(name))
        .map(([name, schema]) => [name, schema.default ?? example(schema)]);
      expect(lines(id, Object.fromEntries(defaults))).to.deep.equal([]);
    });

    it(`${id} refuses what it does not know, and what it needs and lacks`, () => {
      const needed = parameters.required.map((name) => `checks[0].parameters.${name} is required`);
      expect(lines(id)).to.have.members(needed);
      expect(lines(id, { strange: 1 })).to.include(
        'checks[0].parameters.strange is not a parameter of this check',
      );
    });
  }

  it('with an unknown id are refused', () => {
    expect(lines('default.nothing', {})).to.deep.equal(['checks[0].id names no check: "default.nothing"']);
    expect(lines('__proto__', {})).to.deep.equal(['checks[0].id names no check: "__proto__"']);
    expect(lines('x'.repeat(500))[0]).to.have.length.below(120);
  });

  it('report which parameter is wrong and what it must be', () => {
    expect(lines('default.wordCount', { minWords: -1, not: 'no' })).to.have.members([
      'checks[0].parameters.minWords must be a whole number from 0 to 2147483647',
      'checks[0].parameters.not must be true or false',
    ]);
    expect(lines('default.contains', { words: ['a', 2], operator: 'some' })).to.have.members([
      'checks[0].parameters.words[1] must be text of 1 to 65536 characters',
      'checks[0].parameters.operator must be one of any, all, none',
    ]);
    expect(
      lines('default.requestParams', { params: { values: { 'a b': { blockedValues: 1 } } } }),
    ).to.deep.equal([
      'checks[0].parameters.params.values["a b"].blockedValues must be a list of at most 1000 values',
    ]);
    expect(lines('default.webhook', { webhookURL: 'ftp://x' })).to.deep.equal([
      'checks[0].parameters.webhookURL must be an http or https URL',
    ]);
    for (const webhookURL of ['http://[', 'https://a b/', 'http://host:99999/', 'https://%'])
      expect(lines('default.webhook', { webhookURL }), webhookURL).to.deep.equal([
        'checks[0].parameters.webhookURL must be an http or https URL',
      ]);
    expect(lines('default.wordCount', [])).to.deep.equal(['checks[0].parameters must be an object']);
  });

  it('refuse expressions and schemas that cannot be used', () => {
    expect(lines('default.regexMatch', { rule: '(' })[0]).to.include('must be a regular expression');
    expect(lines('default.regexMatch', { rule: '^a+$' })).to.deep.equal([]);
    expect(lines('default.jsonSchema', { schema: { type: 'nothing' } })[0]).to.include(
      'must be a JSON Schema',
    );
    expect(lines('default.jsonSchema', { schema: { type: 'object', required: ['a'] } })).to.deep.equal([]);
  });

  it('never repeat a value, and list at most 20 findings', () => {
    const words = Array.from({ length: 100 }, () => ({ secret: 'hunter2' }));
    const found = lines('default.contains', { words, operator: 'any' });
    expect(found).to.have.length(20);
    expect(found.join()).not.to.include('hunter2');
  });
});
