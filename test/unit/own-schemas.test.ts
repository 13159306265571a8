import { Ajv } from 'ajv';
import { expect } from 'chai';
import auth from '../../plugins/auth/index.js';
import config from '../../plugins/config/index.js';
import logger from '../../plugins/logger/index.js';
import router from '../../plugins/router/index.js';
import { table } from '../../src/config/settings-table.js';
import { guardrailChecks } from '../../src/core/guardrail-checks.js';
import { nodeSchema } from '../../src/routing/schema.js';

/** They are not checked while the program runs: see `lazyAjv`. */
describe('the program’s own schemas', () => {
  const schemas: readonly (readonly [string, object])[] = [
    ['a routing config', nodeSchema],
    ...Object.entries(table).map(([key, { kind }]) => [`setting ${key}`, kind.schema] as const),
    ...[...guardrailChecks].map(([id, check]) => [`check ${id}`, check.parameters] as const),
    ...[auth, config, logger, router].map(({ name, options }) => [`plugin ${name}`, options] as const),
  ];

  it('are schemas', () => {
    const ajv = new Ajv();
    for (const [name, schema] of schemas)
      expect(ajv.validateSchema(schema), `${name}: ${ajv.errorsText()}`).to.equal(true);
  });

  it('of built-in plugins are satisfied by no options, and give no defaults', () => {
    const ajv = new Ajv({ useDefaults: true });
    for (const { name, options } of [auth, config, logger, router]) {
      const given = {};
      expect(ajv.validate(options, given), `${name}: ${ajv.errorsText()}`).to.equal(true);
      expect(given, name).to.deep.equal({});
    }
  });
});
