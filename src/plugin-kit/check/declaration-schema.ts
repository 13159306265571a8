import { errorTable } from '../../common/core/errors.js';
import { capabilityHolders } from '../../common/plugin-host/host.js';
import { providerRowsSchema } from '../../common/vocabulary/plugin-provider.js';

const object = (additionalProperties: object, propertyNames: object = {}): object => ({
  type: 'object',
  additionalProperties,
  propertyNames,
});

const strict = (properties: Readonly<Record<string, object>>, required: readonly string[]): object => ({
  type: 'object',
  properties,
  required,
  additionalProperties: false,
});

const doc = { type: 'string', minLength: 1 };
const text = { type: 'string' };
const name = { pattern: '^[A-Za-z][A-Za-z0-9_-]{0,63}$' };

const setting = {
  type: 'object',
  required: ['default', 'doc'],
  properties: { doc },
  oneOf: [
    strict(
      {
        unit: { enum: ['bytes', 'seconds', 'milliseconds', 'percent', 'count'] },
        minimum: { type: 'integer' },
        maximum: { type: 'integer' },
        default: { type: 'integer' },
        doc,
      },
      ['unit', 'minimum', 'maximum'],
    ),
    strict({ type: text, pattern: text, wanted: text, default: { type: ['string', 'null'] }, doc }, [
      'pattern',
      'wanted',
    ]),
    strict({ default: { type: 'boolean' }, doc }, []),
  ],
};

/** JSON Schema of the members of a plugin that are plain data. */
export const declarationSchema = {
  type: 'object',
  properties: {
    name: { type: 'string', pattern: '^[a-z][a-z0-9-]*$' },
    options: { type: 'object' },
    settings: object(setting, name),
    errors: object(
      strict(
        {
          status: { type: 'integer', minimum: 400, maximum: 599 },
          type: { type: 'string', minLength: 1 },
          blame: { enum: ['client', 'upstream', 'gateway'] },
          fallback: { type: 'boolean' },
          doc,
        },
        ['status', 'type', 'blame', 'doc'],
      ),
      { pattern: '^[a-z][a-z0-9_]*$', not: { enum: Object.keys(errorTable) } },
    ),
    state: object(
      strict(
        { kind: { enum: ['counter', 'values'] }, seconds: { type: 'number', exclusiveMinimum: 0 }, doc },
        ['kind', 'seconds', 'doc'],
      ),
      name,
    ),
    ledgerFields: object(
      strict({ type: { enum: ['integer', 'number', 'string', 'boolean'] }, doc }, ['type', 'doc']),
      name,
    ),
    replyHeaders: object(doc, { pattern: '^[a-z][a-z0-9-]*$' }),
    metrics: object(doc, { pattern: '^[a-zA-Z_:][a-zA-Z0-9_:]{0,199}$' }),
    providers: providerRowsSchema,
    needs: {
      type: 'array',
      items: {
        enum: Object.entries(capabilityHolders)
          .filter(([, holders]) => holders === 'plugins')
          .map(([capability]) => capability),
      },
    },
  },
};
