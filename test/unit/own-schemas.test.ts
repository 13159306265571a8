import { Ajv } from 'ajv';
import { expect } from 'chai';
import { guardrailChecks } from '../../src/common/guardrails/guardrail-checks.js';
import { optionsSchema } from '../../src/common/plugin-host/stage-settings.js';
import { allSettings } from '../../src/common/settings/settings-table.js';
import { stages } from '../../src/data-plane/pipeline/plugins/stages.js';
import { nodeSchema } from '../../src/data-plane/routing/schema.js';

const optionSchemas = stages.map(
  ({ name, options, settings = {} }) => [name, options ?? optionsSchema(settings)] as const,
);

/** They are not checked while the program runs: see `lazyAjv`. */
describe('the program’s own schemas', () => {
  const schemas: readonly (readonly [string, object])[] = [
    ['a routing config', nodeSchema],
    ...[...allSettings].map(([key, { kind }]) => [`setting ${key}`, kind.schema] as const),
    ...[...guardrailChecks].map(([id, check]) => [`check ${id}`, check.parameters] as const),
    ...optionSchemas.map(([name, schema]) => [`stage ${name}`, schema] as const),
  ];

  it('are schemas', () => {
    const ajv = new Ajv();
    for (const [name, schema] of schemas)
      expect(ajv.validateSchema(schema), `${name}: ${ajv.errorsText()}`).to.equal(true);
  });

  it('of stages are satisfied by no options, and have no defaults but those of settings', () => {
    const ajv = new Ajv({ useDefaults: true });
    for (const [name, schema] of optionSchemas) {
      const given = {};
      expect(ajv.validate(schema, given), `${name}: ${ajv.errorsText()}`).to.equal(true);
      const settings = stages.find((stage) => stage.name === name)?.settings ?? {};
      expect(Object.keys(given), name).to.deep.equal(Object.keys(settings));
    }
  });
});
