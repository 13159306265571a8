import { lazyAjv } from '../../common/json/ajv.js';
import type { Plugin } from '../../common/plugin-host/plugin.js';
import { nearest } from '../../common/text/nearest.js';
import { order } from '../../data-plane/pipeline/order.js';
import { declarationSchema } from './declaration-schema.js';

/** A finding in a value: where in it, and what. */
export interface Problem {
  readonly path: readonly string[];
  readonly message: string;
  readonly severity?: 'warning';
}

const ajv = lazyAjv({ allErrors: true, strict: false, useDefaults: false });
/** With the defaults of its schema, as at the start of the gateway. */
const optionsAjv = lazyAjv({ allErrors: true, strict: false, useDefaults: true, validateSchema: true });

/** Members of a plugin; true: only for the gateway's own stages. The compiler requires each. */
const members: Readonly<Record<keyof Plugin, boolean>> = {
  name: false,
  options: false,
  settings: false,
  errors: false,
  state: false,
  ledgerFields: false,
  replyHeaders: false,
  jobs: false,
  metrics: false,
  needs: false,
  providers: false,
  setup: false,
  schedules: true,
  insertable: true,
  control: true,
};

/** What is wrong with the members of a plugin. */
export function declarationProblems(plugin: Plugin): Problem[] {
  const found: Problem[] = memberProblems(plugin);
  const validate = ajv().compile(declarationSchema);
  const { providers } = plugin;
  // Rows that depend on options are checked when it is set up with those of the sample.
  const given = typeof providers === 'function' ? { ...plugin, providers: {} } : plugin;
  if (!validate(given)) found.push(...problemsOf(validate.errors ?? []));
  if ((order as readonly string[]).includes(plugin.name))
    found.push({ path: ['name'], message: `${plugin.name} is a stage of the gateway: use another name.` });
  return [...found, ...schemaProblems(plugin)];
}

function memberProblems(plugin: Plugin): Problem[] {
  return Object.keys(plugin).flatMap((member): Problem[] => {
    const own = (members as Readonly<Record<string, boolean>>)[member];
    if (own === false) return [];
    if (own === true) return [{ path: [member], message: "is for the gateway's own stages." }];
    const meant = nearest(member, Object.keys(members));
    return [
      {
        path: [member],
        message: `is no member of a plugin${meant === null ? '' : `; did you mean ${meant}?`}`,
      },
    ];
  });
}

/** Is the schema of its options one, and does it refuse misspelt options? */
function schemaProblems({ options, settings }: Plugin): Problem[] {
  if (typeof options !== 'object' || options === null) return [];
  const found: Problem[] = [];
  if (settings !== undefined)
    found.push({ path: ['settings'], message: 'are not read beside options: keep one of the two.' });
  const validator = optionsAjv();
  if (validator.validateSchema(options) !== true)
    return [
      ...found,
      ...problemsOf(validator.errors ?? []).map(({ path, message }) => ({
        path: ['options', ...path],
        message,
      })),
    ];
  try {
    validator.compile(options);
  } catch (error) {
    return [...found, { path: ['options'], message: `is no JSON Schema: ${(error as Error).message}` }];
  }
  if (options['properties'] !== undefined && options['additionalProperties'] === undefined)
    found.push({
      path: ['options'],
      message: 'a misspelt option is not refused: add additionalProperties: false.',
      severity: 'warning',
    });
  return found;
}

/** What is wrong with options; fills in their defaults. */
export function optionProblems(schema: object, options: unknown): Problem[] {
  const validator = optionsAjv();
  return validator.validate(schema, options) ? [] : problemsOf(validator.errors ?? []);
}

interface AjvError {
  readonly keyword: string;
  readonly instancePath: string;
  readonly propertyName?: string;
  readonly params: Readonly<Record<string, unknown>>;
  readonly message?: string;
}

function problemsOf(errors: readonly AjvError[]): Problem[] {
  const found = errors.flatMap((error): Problem[] => {
    const path = error.instancePath
      .split('/')
      .slice(1)
      .map((part) => part.replaceAll('~1', '/').replaceAll('~0', '~'));
    const { keyword, params, message = 'is not valid' } = error;
    if (keyword === 'propertyNames')
      return [
        {
          path: [...path, String(params['propertyName'])],
          message: 'this name is not possible, or is taken.',
        },
      ];
    // What a name does not match is reported by `propertyNames`; what none of several forms matches, by each of them.
    if (error.propertyName !== undefined || keyword === 'oneOf' || keyword === 'anyOf') return [];
    if (keyword === 'additionalProperties')
      return [{ path: [...path, String(params['additionalProperty'])], message: 'is not known here.' }];
    if (keyword === 'enum')
      return [
        { path, message: `must be one of ${(params['allowedValues'] as unknown[]).map(String).join(', ')}.` },
      ];
    return [{ path, message: `${message}.` }];
  });
  // One of a place: where there are several, they are about forms that were not meant.
  const seen = new Set<string>();
  return found.filter(({ path, message }) => {
    const key = message.startsWith('must have required') ? `${path.join('.')} ${message}` : path.join('.');
    return !seen.has(key) && seen.add(key) !== undefined;
  });
}
