import { deepFreeze } from '../../../../common/bytes/deep-freeze.js';
import { GatewayError } from '../../../../common/core/errors.js';
import type { JsonObject } from '../../../../common/core/exchange.js';
import { lazyAjv } from '../../../../common/json/ajv.js';
import { isJsonObject } from '../../../../common/json/json.js';
import type { Logger, Plugin } from '../../../../common/plugin-host/plugin.js';
import { type PluginProvider, providerRowsSchema } from '../../../../common/vocabulary/plugin-provider.js';
import type { ProviderDefinition, Quirk } from '../../../providers/provider.js';
import { inPluginScope, scopeFields } from '../plugin-scope.js';
import { hookEntered, hookLeft, hookNumber } from './running-hooks.js';

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
): ReadonlyMap<string, ProviderDefinition> {
  const { name: by, providers } = plugin;
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
  return new Map(Object.entries(rows).map(([name, row]) => [name, definitionOf(by, name, row, log)]));
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

function definitionOf(plugin: string, name: string, row: PluginProvider, log: Logger): ProviderDefinition {
  const { auth = { kind: 'bearer' }, quirks = [], ...rest } = row;
  const wrapped = quirks.map((quirk): Quirk => {
    if (typeof quirk.apply !== 'function')
      throw new Error(
        `plugin ${plugin}: providers.${name}.quirks: apply of ${quirk.name} must be a function.`,
      );
    return { name: quirk.name, apply: guarded(plugin, name, quirk, log) };
  });
  return {
    ...structuredClone(rest),
    ...{ name, auth, source: `the plugin ${plugin}` },
    ...(wrapped.length > 0 && { quirks: wrapped }),
  };
}

/** The edit of a plugin: watched as its hooks are, and its faults logged as theirs. */
function guarded(plugin: string, provider: string, quirk: Quirk, log: Logger): Quirk['apply'] {
  const hook = `providers.${provider}`;
  const number = hookNumber(plugin, hook);
  const scope = { plugin, hook, requestId: null };
  return (body): JsonObject => {
    // It may be the client's, for the next target, too.
    deepFreeze(body);
    return inPluginScope(scope, () => {
      const interrupted = hookEntered(number);
      try {
        const edited: unknown = quirk.apply(body);
        if (!isJsonObject(edited)) throw new TypeError('It returned no body: an object.');
        return edited;
      } catch (thrown) {
        if (!(thrown instanceof GatewayError))
          log.error(
            { ...scopeFields(scope), err: thrown },
            `the plugin ${plugin} failed in ${hook}, ${quirk.name}`,
          );
        throw thrown;
      } finally {
        hookLeft(interrupted);
      }
    });
  };
}
