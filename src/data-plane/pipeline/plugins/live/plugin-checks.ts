import { deepFreeze } from '../../../../common/bytes/deep-freeze.js';
import type { Exchange } from '../../../../common/core/exchange.js';
import type { GuardrailCheck } from '../../../../common/guardrails/guardrail-checks.js';
import {
  flag,
  milliseconds,
  type ParameterTable,
} from '../../../../common/guardrails/guardrail-parameters.js';
import { whyNoParameters } from '../../../../common/guardrails/parameter-findings.js';
import { partnerId } from '../../../../common/guardrails/partners.js';
import type { PluginCheck, PluginChecks, RunnableCheck } from '../../../../common/guardrails/plugin-check.js';
import { isJsonObject } from '../../../../common/json/json.js';
import type { Logger } from '../../../../common/plugin-host/plugin.js';
import { readableError } from '../../../../common/text/readable-error.js';
import { inPluginScope, scopeFields } from '../plugin-scope.js';
import { reportIfBlocked } from './blocked-hooks.js';
import { checkResult } from './check-result.js';
import { hookEntered, hookLeft, hookNumber, hookPending } from './running-hooks.js';

/** A check of a plugin: what guardrails are checked by, and what runs. */
export interface PluginCheckRow {
  readonly row: GuardrailCheck;
  readonly check: RunnableCheck;
}

/** Something that brings checks. */
interface Bringing {
  readonly stage: { readonly name: string };
  readonly checks: ReadonlyMap<string, PluginCheckRow>;
}

const defaultTimeoutMs = 5000;
const nameOfCheck = /^[A-Za-z][A-Za-z0-9_-]{0,63}$/;
const ownPrefixes = ['default', 'gateway'];

/** The checks that a plugin brings, by id. Throws with the path of what is wrong. */
export function checksOf(
  plugin: string,
  checks: PluginChecks | undefined,
  log: Logger,
  applies: ((x: Exchange) => boolean) | null,
): ReadonlyMap<string, PluginCheckRow> {
  const rows = new Map<string, PluginCheckRow>();
  if (checks === undefined) return rows;
  const wrong = (path: string, message: string): Error => new Error(`plugin ${plugin}: ${path} ${message}`);
  if (!isJsonObject(checks)) throw wrong('checks', 'must be an object of checks by name.');
  if (ownPrefixes.includes(plugin) || partnerId(plugin) !== undefined)
    throw wrong('checks', `cannot be named ${plugin}.…, as checks of the gateway are: rename the plugin.`);
  for (const [name, check] of Object.entries(checks as PluginChecks)) {
    const path = `checks.${name}`;
    if (!nameOfCheck.test(name)) throw wrong(path, `must be named by ${nameOfCheck.source}.`);
    if (typeof check?.run !== 'function') throw wrong(`${path}.run`, 'must be a function.');
    const phases = check.phases ?? ['before', 'after'];
    if (!Array.isArray(phases) || !phases.every((phase) => phase === 'before' || phase === 'after'))
      throw wrong(`${path}.phases`, 'must be a list of before and after.');
    const parameters = tableOf(check.parameters ?? {});
    const why = whyNoParameters(parameters);
    if (why !== null) throw wrong(`${path}.parameters`, why);
    const id = `${plugin}.${name}`;
    rows.set(id, {
      row: { phases, parameters },
      check: {
        ...{ id, phases, transforms: check.transforms === true, applies: applies ?? (() => true) },
        run: watched(plugin, name, check, log),
      },
    });
  }
  return rows;
}

/** The schema of a plugin, with what each check takes. */
function tableOf(schema: Readonly<Record<string, unknown>>): ParameterTable {
  const { properties = {}, required = [], ...rest } = schema as Partial<ParameterTable>;
  return structuredClone({
    additionalProperties: false,
    ...rest,
    type: 'object',
    description: rest.description ?? 'must be an object',
    required,
    properties: { failOnError: flag(false), timeout: milliseconds(defaultTimeoutMs), ...properties },
  }) as ParameterTable;
}

/** Those of all. Where a plugin is inserted several times, its first check of a name counts. */
export function allChecks(instances: Iterable<Bringing>): ReadonlyMap<string, PluginCheckRow> {
  const all = new Map<string, PluginCheckRow>();
  for (const { checks } of instances) for (const [id, row] of checks) if (!all.has(id)) all.set(id, row);
  return all;
}

function watched(plugin: string, name: string, check: PluginCheck, log: Logger): RunnableCheck['run'] {
  const hook = `checks.${name}`;
  const number = hookNumber(plugin, hook);
  const scope = { plugin, hook, requestId: null };
  /** Reading the result may run code of the plugin, since it may have getters. */
  const inHook = <T>(work: () => T): T =>
    inPluginScope(scope, () => {
      const interrupted = hookEntered(number);
      const from = performance.now();
      try {
        return work();
      } finally {
        hookLeft(interrupted);
        reportIfBlocked(scope, from, log);
      }
    });
  return async (context, parameters) => {
    // Other checks judge the same body.
    for (const shared of [context.body, context.answer, context.metadata, context.headers, context.texts])
      deepFreeze(shared);
    try {
      const answer = await inHook(() => {
        const given = check.run(Object.freeze(context), parameters);
        if (!(given instanceof Promise)) return given;
        hookPending(number, 1);
        return given.finally(() => hookPending(number, -1));
      });
      return inHook(() => checkResult(answer, context.texts.length));
    } catch (given) {
      const thrown = readableError(given);
      if (!context.signal.aborted)
        log.error({ ...scopeFields(scope), err: thrown }, `the plugin ${plugin} failed in ${hook}`);
      throw thrown;
    }
  };
}
