import { deepFreeze } from '../../../../common/bytes/deep-freeze.js';
import { GatewayError } from '../../../../common/core/errors.js';
import type { JsonObject } from '../../../../common/core/exchange.js';
import { lazyAjv } from '../../../../common/json/ajv.js';
import { isJsonObject } from '../../../../common/json/json.js';
import type { Logger, Plugin } from '../../../../common/plugin-host/plugin.js';
import type { PluginFormats } from '../../../../common/vocabulary/plugin-format.js';
import {
  type PluginProvider,
  pluginFormats,
  providerRowsSchema,
} from '../../../../common/vocabulary/plugin-provider.js';
import type { ChatFormat, EmbeddingFormat, ProviderDefinition, Quirk } from '../../../providers/provider.js';
import { inPluginScope } from '../plugin-scope.js';
import { formatsOf, type OwnFormat } from './formats/own-formats.js';
import { type Watched, watchedBy } from './watched.js';

/** Names of providers that plugins may not use. */
export interface ProvidersInUse {
  /** Does the gateway have a provider of that name itself? */
  isTaken(name: string): boolean;
}

/** Something that brings providers. */
interface Bringing {
  readonly stage: { readonly name: string };
  readonly providers: ReadonlyMap<string, ProviderDefinition>;
}

const ajv = lazyAjv({ allErrors: true, strict: false });

/** The providers that a plugin brings with these options, by name. Throws with the path of what is wrong. */
export function providersOf(
  plugin: Plugin,
  options: unknown,
  log: Logger,
  formats?: PluginFormats,
): ReadonlyMap<string, ProviderDefinition> {
  const { name: by, providers } = plugin;
  const own = formatsOf(by, formats, log);
  if (providers === undefined) return new Map();
  const scope = { plugin: by, hook: 'providers', requestId: null };
  const rows = typeof providers === 'function' ? inPluginScope(scope, () => providers(options)) : providers;
  const validator = ajv();
  if (!validator.validate(providerRowsSchema, rows)) {
    const findings = (validator.errors ?? []).map(
      ({ instancePath, message }) => `providers${instancePath.replaceAll('/', '.')} ${message}`,
    );
    throw new Error(`plugin ${by}: ${findings.join('; ')}`);
  }
  return new Map(Object.entries(rows).map(([name, row]) => [name, definitionOf(by, name, row, log, own)]));
}

/**
 * Those of all: where a plugin is inserted several times, its first row of a name counts. Throws for a name that the gateway
 * has, or another plugin.
 */
export function allProviders(
  instances: Iterable<Bringing>,
  { isTaken }: ProvidersInUse,
): ReadonlyMap<string, ProviderDefinition> {
  const all = new Map<string, ProviderDefinition>();
  const bringers = new Map<string, string>();
  for (const { stage, providers } of instances) {
    for (const [name, row] of providers) {
      const other = isTaken(name) ? 'the gateway' : bringers.get(name);
      if (other !== undefined && other !== stage.name)
        throw new Error(
          `plugin ${stage.name}: providers.${name}: ${other === 'the gateway' ? other : `the plugin ${other}`} has a provider of that name: use another.`,
        );
      if (other === undefined) all.set(name, row);
      bringers.set(name, stage.name);
    }
  }
  return all;
}

function definitionOf(
  plugin: string,
  name: string,
  row: PluginProvider,
  log: Logger,
  own: ReadonlyMap<string, OwnFormat>,
): ProviderDefinition {
  const { auth = { kind: 'bearer' }, quirks = [], paths, ...rest } = row;
  const run = watchedBy(plugin, `providers.${name}`, log);
  const wrapped = quirks.map((quirk): Quirk => {
    if (typeof quirk.apply !== 'function')
      throw new Error(
        `plugin ${plugin}: providers.${name}.quirks: apply of ${quirk.name} must be a function.`,
      );
    return { name: quirk.name, apply: guarded(quirk, run) };
  });
  const definition: ProviderDefinition = {
    ...structuredClone(rest),
    ...{ name, auth, source: `the plugin ${plugin}` },
    ...formatFieldsOf(plugin, name, paths, own),
    ...(wrapped.length > 0 && { quirks: wrapped }),
  };
  return withModelInPath(definition);
}

/** The paths of a row, with the formats of its plugin among them. */
function formatFieldsOf(
  plugin: string,
  provider: string,
  given: PluginProvider['paths'],
  own: ReadonlyMap<string, OwnFormat>,
): Pick<ProviderDefinition, 'paths' | 'dialect' | 'embeddings'> {
  const paths: Record<string, string> = {};
  const found: { chat?: ChatFormat; embeddings?: EmbeddingFormat } = {};
  for (const [name, path] of Object.entries(given)) {
    const format = own.get(name);
    if (format === undefined) {
      if (!(pluginFormats as readonly string[]).includes(name))
        throw new Error(
          `plugin ${plugin}: providers.${provider}.paths.${name}: there is no such format: use one of ${pluginFormats.join(', ')}, or one of the formats that setup returns.`,
        );
      paths[name] = path;
      continue;
    }
    if (found[format.kind] !== undefined)
      throw new Error(
        `plugin ${plugin}: providers.${provider}.paths.${name}: it is the second format for ${format.kind}: keep one.`,
      );
    Object.assign(found, { [format.kind]: format.format });
    paths[format.format.name] = path;
  }
  const { chat, embeddings } = found;
  return { paths, ...(chat && { dialect: chat }), ...(embeddings && { embeddings }) };
}

const modelPlace = '{model}';

/** A row for one call, if a path contains the name of the model. */
function withModelInPath(row: ProviderDefinition): ProviderDefinition {
  const paths = Object.entries(row.paths);
  if (!paths.some(([, path]) => path.includes(modelPlace))) return row;
  return {
    ...row,
    forCall({ format, model }) {
      // Passed on to the path that the client names.
      if (format === 'none') return row;
      if (model === null || model === '.' || model === '..')
        throw new GatewayError('invalid_request', `Name a model: it is part of the address of ${row.name}.`, {
          param: 'model',
        });
      const named = encodeURIComponent(model);
      return {
        ...row,
        paths: Object.fromEntries(
          paths.map(([format, path]) => [format, path.replaceAll(modelPlace, () => named)]),
        ),
      };
    },
  };
}

/** The edit of a plugin. */
function guarded(quirk: Quirk, run: Watched): Quirk['apply'] {
  return (body): JsonObject => {
    // It may be the client's, for the next target, too.
    deepFreeze(body);
    return run(quirk.name, () => {
      const edited: unknown = quirk.apply(body);
      if (!isJsonObject(edited)) throw new TypeError('It must return the body, an object.');
      return edited;
    });
  };
}
