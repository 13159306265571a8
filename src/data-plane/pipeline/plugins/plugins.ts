import { addErrors } from '../../../common/core/errors.js';
import type { PluginChecks } from '../../../common/guardrails/plugin-check.js';
import { lazyAjv } from '../../../common/json/ajv.js';
import { type Pack, packPlugin } from '../../../common/plugin-host/files/pack.js';
import { runPack } from '../../../common/plugin-host/files/run.js';
import { FileFault } from '../../../common/plugin-host/files/strip-types.js';
import type { FullHost, Hooks, Plugin, PluginParts } from '../../../common/plugin-host/plugin.js';
import * as pluginApi from '../../../common/plugin-host/plugin-api.js';
import { optionsSchema } from '../../../common/plugin-host/stage-settings.js';
import { nearest } from '../../../common/text/nearest.js';
import { readableError } from '../../../common/text/readable-error.js';
import type { PluginFormats } from '../../../common/vocabulary/plugin-format.js';
import type { Place, StageName } from '../order.js';
import { loadFaultAt, thrownAt } from './fault-place.js';
import { inPluginScope } from './plugin-scope.js';
import { stages } from './stages.js';

/** A plugin's name, position and options, as the settings give them. */
export interface Insertion {
  readonly name: string;
  readonly place: Place;
  readonly options: unknown;
}

/** A stage of the chain, set up. */
export interface Stage {
  readonly name: string;
  readonly hooks: Hooks;
  readonly checks?: PluginChecks;
  readonly formats?: PluginFormats;
}

/** The plugin that a file exports. Throws with the file, and the line where it is known. */
export async function loadPlugin(path: string): Promise<Plugin> {
  return pluginOf(await packPlugin(path).catch((error: unknown) => unloaded(path, error)));
}

/** The same of a file that was read before. */
export async function pluginOf(pack: Pack): Promise<Plugin> {
  const path = pack.entry;
  const scope = { plugin: path, hook: 'import', requestId: null };
  const exported = await inPluginScope(scope, () => runPack(pack, pluginApi)).catch((error: unknown) =>
    unloaded(path, error),
  );
  const plugin = exported['default'] as Plugin | undefined;
  const missing = missingIn(plugin);
  if (missing !== null)
    throw new Error(
      `${path}: ${missing} A plugin file exports { name, options, setup } as its default; options is a JSON Schema.`,
    );
  const name = plugin?.name;
  if (plugin?.control === true)
    throw new Error(
      `${path}: control is for the gateway's own stages: declare the state that ${name} shares.`,
    );
  return plugin!;
}

/** Why a default export is no plugin, as a sentence; null: it is one. */
function missingIn(plugin: unknown): string | null {
  if (plugin === undefined) return 'it has no default export.';
  if (typeof plugin !== 'object' || plugin === null)
    return `its default export is ${plugin === null ? 'null' : `a ${typeof plugin}`}, and not an object.`;
  const { name, options, settings, setup } = plugin as Record<string, unknown>;
  if (typeof name !== 'string') return 'name is missing, or no text.';
  if (typeof setup !== 'function') return 'setup is missing, or no function.';
  const schema = options ?? settings;
  if (schema === undefined) return "options is missing: without options, write options: { type: 'object' }.";
  if (typeof schema !== 'object' || schema === null) return 'options is no object.';
  return null;
}

function unloaded(path: string, error: unknown): never {
  if (error instanceof FileFault) throw new Error(`${path}: the plugin cannot be loaded: ${error.message}`);
  throw new Error(
    `${path}: the plugin cannot be loaded: ${messageOf(error)}${placed(loadFaultAt(path, error))}`,
  );
}

const messageOf = (error: unknown): string => readableError(error).message;

const placed = (place: string | null): string => (place === null ? '' : ` (${place})`);

const ajv = lazyAjv({ allErrors: true, useDefaults: true, strict: false, validateSchema: true });

/**
 * Sets a plugin up once, after checking its options against its schema; checks the names of its hooks. Throws if
 * invalid.
 */
export async function setUp(plugin: Plugin, options: unknown, host: FullHost): Promise<Stage> {
  const given = options ?? {};
  const validator = ajv();
  const schema = plugin.options ?? optionsSchema(plugin.settings ?? {});
  const isValid = validator.validate(schema, given);
  // It would keep the schemas of all versions of a plugin.
  validator.removeSchema(schema);
  if (!isValid) {
    const findings = (validator.errors ?? []).map(
      (error) => `options${error.instancePath.replaceAll('/', '.')} ${error.message}`,
    );
    throw new Error(`plugin ${plugin.name}: ${findings.join('; ')}`);
  }
  addErrors(plugin.name, plugin.errors ?? {});
  const scope = { plugin: plugin.name, hook: 'setup', requestId: null };
  const hooks: unknown = await inPluginScope(scope, async () => plugin.setup(given, host)).catch(
    (error: unknown) => {
      throw new Error(`plugin ${plugin.name}: setup failed: ${messageOf(error)}${placed(thrownAt(error))}`);
    },
  );
  checkHooks(plugin.name, hooks);
  const { checks, formats } = hooks;
  return {
    ...{ name: plugin.name, hooks },
    ...(checks !== undefined && { checks }),
    ...(formats !== undefined && { formats }),
  };
}

/** Members that `setup` may return besides hooks. */
const besideHooks: readonly string[] = ['checks', 'formats'];

/** All hooks; a record, so that the compiler requires each of them. */
export const hookNames: Readonly<Record<keyof Hooks, true>> = {
  request: true,
  explain: true,
  attempt: true,
  reply: true,
  text: true,
  event: true,
  log: true,
  close: true,
};

/** A misspelt hook would never run: a plugin meant to refuse requests would let all of them pass. */
function checkHooks(plugin: string, hooks: unknown): asserts hooks is PluginParts {
  if (typeof hooks !== 'object' || hooks === null)
    throw new Error(`plugin ${plugin}: setup must return an object of hooks.`);
  for (const name of namesIn(hooks)) {
    if (besideHooks.includes(name)) continue;
    const value = (hooks as Record<string, unknown>)[name];
    if (!Object.hasOwn(hookNames, name)) {
      const meant = nearest(name, [...Object.keys(hookNames), ...besideHooks]);
      throw new Error(
        meant === null
          ? `plugin ${plugin}: setup returned ${name}, which is no hook; there are ${Object.keys(hookNames).join(', ')}.`
          : `plugin ${plugin}: setup returned ${name}, which is no hook; did you mean ${meant}?`,
      );
    }
    if (value !== undefined && typeof value !== 'function')
      throw new Error(`plugin ${plugin}: the hook ${name} must be a function.`);
  }
}

/** Own property names, and for an instance of a class also those of its methods. */
function namesIn(hooks: object): Set<string> {
  const names = new Set<string>();
  for (let at: object | null = hooks; at !== null && at !== Object.prototype; at = Object.getPrototypeOf(at))
    for (const name of Object.getOwnPropertyNames(at))
      if (name !== 'constructor' || at === hooks) names.add(name);
  return names;
}

/**
 * Arranges stages in their order, with insertions at their positions; several at one position keep the order of the
 * settings. A stage that allows no insertions stays with the one before it.
 */
export function arrange(
  builtIn: ReadonlyMap<StageName, Stage>,
  inserted: readonly { readonly place: Place; readonly stage: Stage }[],
): Stage[] {
  const chain: Stage[] = [];
  let last: StageName | null = null;
  const insert = (side: 'before' | 'after', name: StageName | null): void => {
    for (const { place, stage } of inserted)
      if ((place as Partial<Record<typeof side, StageName>>)[side] === name) chain.push(stage);
  };
  for (const { name, insertable } of stages) {
    if (insertable !== false) {
      insert('after', last);
      insert('before', name);
      last = name;
    }
    const own = builtIn.get(name);
    if (own !== undefined) chain.push(own);
  }
  insert('after', last);
  return chain;
}
