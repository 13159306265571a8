import type {
  GuardrailEntry,
  GuardrailFeedback,
  GuardrailRule,
  GuardrailRules,
  TargetGuardrails,
} from '../../../common/core/guardrail.js';
import { withDefaults } from '../../../common/guardrails/guardrail-defaults.js';
import type { Properties } from '../../../common/guardrails/guardrail-parameters.js';
import { isPluginCheck, knownCheck, knownCheckIds } from '../../../common/guardrails/known-checks.js';
import { parameterFindings } from '../../../common/guardrails/parameter-findings.js';
import { maxPathLength, textPath } from '../../../common/guardrails/text-path.js';
import { whyNoExpression } from '../../../common/guardrails/written-expression.js';
import { isJsonObject, stringifyJson } from '../../../common/json/json.js';
import { readSchema, SchemaRefused } from '../../../common/json/json-schema-read.js';
import { nearest } from '../../../common/text/nearest.js';
import { fingerprintOf } from '../../../common/vocabulary/default-config.js';
import { childPath, type Findings, quoted } from '../findings.js';
import type { NodeFields } from '../schema.js';
import { type ConfigSchema, checkSchema } from '../schema-check.js';
import { snakeCase } from '../snake-case.js';

/** Keys by which a level names guardrails, by the phase in which these run. */
const keysOfPhase = {
  before: ['before_request_hooks', 'input_guardrails'],
  after: ['after_request_hooks', 'output_guardrails'],
} as const;

const maxChecks = 50;
const named = /^[A-Za-z0-9][A-Za-z0-9._-]{0,127}$/;

const flag: ConfigSchema = { type: 'boolean', description: 'must be true or false' };

const number = (minimum: number, maximum: number): ConfigSchema => ({
  type: 'number',
  minimum,
  maximum,
  description: `must be a number from ${minimum} to ${maximum}`,
});

const reaction: ConfigSchema = {
  type: 'object',
  description: 'must be an object with feedback',
  additionalProperties: false,
  properties: {
    feedback: {
      type: 'object',
      description: 'must be an object of value, weight and metadata',
      additionalProperties: false,
      properties: {
        value: number(-10, 10),
        weight: number(0, 1),
        metadata: { type: 'string', maxLength: 4096, description: 'must be text of at most 4096 characters' },
      },
    },
  },
};

const name: ConfigSchema = {
  type: 'string',
  maxLength: 255,
  description: 'must be text of at most 255 characters',
};

/** All but `checks`, whose items are checked one by one. */
const hookSchema: ConfigSchema = {
  type: 'object',
  additionalProperties: false,
  properties: {
    type: { type: 'string', enum: ['guardrail', 'mutator'], description: 'must be guardrail or mutator' },
    id: {
      type: 'string',
      pattern: named.source,
      description: 'must be the id or slug of a guardrail: letters, digits, dot, dash and underscore',
    },
    name,
    guardrail_version_id: name,
    deny: flag,
    async: flag,
    sequential: flag,
    soft_deny_200: flag,
    stream: { type: 'string', enum: ['end', 'incremental'], description: 'must be end or incremental' },
    on_success: reaction,
    on_fail: reaction,
    passthrough: { type: 'string', enum: ['allow', 'refuse'], description: 'must be allow or refuse' },
    passthrough_paths: {
      type: 'array',
      maxItems: 32,
      description: 'must be a list of at most 32 paths',
      items: {
        type: 'string',
        maxLength: maxPathLength,
        pattern: textPath.source,
        description: 'must be a path of texts in a body, as in messages[*].content',
      },
    },
  },
};

interface HookFields {
  readonly type?: 'guardrail' | 'mutator';
  readonly id?: string;
  readonly deny?: boolean;
  readonly async?: boolean;
  readonly sequential?: boolean;
  readonly soft_deny_200?: boolean;
  readonly stream?: 'end' | 'incremental';
  readonly on_success?: Reaction;
  readonly on_fail?: Reaction;
  readonly passthrough?: 'allow' | 'refuse';
  readonly passthrough_paths?: readonly string[];
}

interface Reaction {
  readonly feedback?: Partial<GuardrailFeedback>;
}

/** Reports what is wrong with the guardrails of a level. */
export function checkGuardrails(fields: NodeFields, path: string, findings: Findings): void {
  readPhase(fields, 'before', path, findings);
  readPhase(fields, 'after', path, findings);
}

/** The guardrails of a level that was found valid: its own for a phase, else those of its parent. */
export function guardrailsOf(
  fields: NodeFields,
  path: string,
  parent: TargetGuardrails | undefined,
): TargetGuardrails | undefined {
  const before = readPhase(fields, 'before', path, null);
  const after = readPhase(fields, 'after', path, null);
  if (before === null && after === null) return parent;
  return Object.freeze({ before: before ?? parent?.before ?? [], after: after ?? parent?.after ?? [] });
}

/** null: the level names none for this phase. `findings` null: it is valid. */
function readPhase(
  fields: NodeFields,
  phase: 'before' | 'after',
  path: string,
  findings: Findings | null,
): readonly GuardrailEntry[] | null {
  let entries: GuardrailEntry[] | null = null;
  for (const key of keysOfPhase[phase]) {
    const list = fields[key];
    if (list === undefined) continue;
    entries ??= [];
    for (const [i, item] of list.entries()) {
      const entry = new EntryReader(`${childPath(path, key)}[${i}]`, findings).read(item);
      if (entry !== null) entries.push(entry);
    }
  }
  return entries === null ? null : Object.freeze(entries);
}

class EntryReader {
  constructor(
    readonly path: string,
    readonly findings: Findings | null,
  ) {}

  read(item: unknown): GuardrailEntry | null {
    if (typeof item === 'string') {
      if (named.test(item)) return Object.freeze({ name: item, actions: Object.freeze({}) });
      this.findings?.add(this.path, 'must be the id or slug of a guardrail, or an object');
      return null;
    }
    if (!isJsonObject(item)) {
      this.findings?.add(this.path, 'must be the id or slug of a guardrail, or an object');
      return null;
    }
    const rules: GuardrailRule[] = [];
    const fields: Record<string, unknown> = Object.create(null);
    let hasChecks = Object.hasOwn(item, 'checks');
    for (const [key, value] of Object.entries(item)) {
      if (key.includes('.')) {
        hasChecks = true;
        const path = childPath(this.path, key);
        this.#rule(rules, key, value, path, path);
      } else fields[snakeCase(key)] = value;
    }
    const { checks } = fields;
    delete fields['checks'];
    for (const key of ['on_success', 'on_fail']) if (fields[key] === null) delete fields[key];
    if (this.findings !== null) checkSchema(fields, hookSchema, this.path, this.findings);
    if (checks !== undefined) this.#checks(rules, checks);
    return this.#entry(fields as HookFields, rules, hasChecks);
  }

  #entry(fields: HookFields, rules: readonly GuardrailRule[], hasChecks: boolean): GuardrailEntry | null {
    const { deny, async, sequential, soft_deny_200: softDeny, stream } = fields;
    const incremental = stream === undefined ? undefined : stream === 'incremental';
    if (rules.length === 0 && !hasChecks) {
      if (fields.id === undefined) {
        this.findings?.add(this.path, 'must have checks, or the id of a stored guardrail');
        return null;
      }
      for (const key of ['on_success', 'on_fail', 'passthrough', 'passthrough_paths'] as const) {
        if (fields[key] !== undefined)
          this.findings?.add(childPath(this.path, key), 'belongs to the guardrail that is stored');
      }
      const actions = Object.fromEntries(
        Object.entries({ deny, async, sequential, softDeny, incremental }).filter(
          ([, value]) => value !== undefined,
        ),
      );
      return Object.freeze({ name: fields.id, actions: Object.freeze(actions) });
    }
    const made: Omit<GuardrailRules, 'versionId'> = {
      id: fields.id ?? this.path,
      type: fields.type ?? 'guardrail',
      rules: Object.freeze(rules),
      deny: deny ?? false,
      async: async ?? false,
      sequential: sequential ?? false,
      softDeny: softDeny ?? false,
      incremental: incremental ?? false,
      onSuccess: feedbackOf(fields.on_success, 5),
      onFail: feedbackOf(fields.on_fail, -5),
      passthroughPaths: Object.freeze([...(fields.passthrough_paths ?? [])]),
      passthroughAllowed: fields.passthrough === 'allow',
    };
    if (this.findings !== null) return null;
    return Object.freeze({ ...made, versionId: fingerprintOf(stringifyJson(made)) });
  }

  #checks(rules: GuardrailRule[], checks: unknown): void {
    const path = childPath(this.path, 'checks');
    if (!Array.isArray(checks) || checks.length === 0 || checks.length > maxChecks) {
      this.findings?.add(path, `must be a list of 1 to ${maxChecks} checks`);
      return;
    }
    for (const [i, check] of checks.entries()) {
      const at = `${path}[${i}]`;
      if (!isJsonObject(check)) {
        this.findings?.add(at, 'must be an object with id and parameters');
        continue;
      }
      const fields = Object.fromEntries(Object.entries(check).map(([key, value]) => [snakeCase(key), value]));
      const { id, parameters = {}, is_enabled: isEnabled = true, name: label = '', ...rest } = fields;
      for (const key of Object.keys(rest)) this.findings?.add(childPath(at, key), 'is not a known key');
      if (this.findings !== null) {
        checkSchema(isEnabled, flag, childPath(at, 'is_enabled'), this.findings);
        checkSchema(label, name, childPath(at, 'name'), this.findings);
      }
      if (typeof id !== 'string') this.findings?.add(childPath(at, 'id'), 'must be the id of a check');
      else if (isEnabled !== false || this.findings !== null)
        this.#rule(rules, id, parameters, childPath(at, 'id'), childPath(at, 'parameters'));
    }
  }

  /** Expressions and JSON Schemas, which no rule of `checkSchema` is for. */
  #written(properties: Properties, parameters: Readonly<Record<string, unknown>>, path: string): void {
    for (const [key, { format, jsonSchema }] of Object.entries(properties)) {
      const value = Object.hasOwn(parameters, key) ? parameters[key] : undefined;
      if (format === 'regex' && typeof value === 'string') {
        const why = whyNoExpression(value);
        if (why !== null) this.findings?.add(childPath(path, key), `must be a regular expression: ${why}`);
      }
      if (jsonSchema !== true || !isJsonObject(value)) continue;
      try {
        readSchema(value);
      } catch (thrown) {
        if (!(thrown instanceof SchemaRefused)) throw thrown;
        const where = `${thrown.path} ${thrown.message}`.trim();
        this.findings?.add(childPath(path, key), `must be a JSON Schema of draft 7: ${where}`);
      }
    }
  }

  #rule(rules: GuardrailRule[], id: string, parameters: unknown, idPath: string, path: string): void {
    const check = knownCheck(id);
    if (check === undefined) {
      if (this.findings === null) return;
      const meant = this.findings.full || id.length > 64 ? null : nearest(id, [...knownCheckIds()]);
      const hint = meant === null ? '' : `: did you mean ${meant}?`;
      this.findings.add(idPath, `names no check ${quoted(id)}${hint}`);
      return;
    }
    if (this.findings !== null && isPluginCheck(id)) {
      for (const found of parameterFindings(check.parameters, parameters, path, true))
        this.findings.add(found.path, found.message);
    } else if (this.findings !== null) {
      checkSchema(parameters, check.parameters as unknown as ConfigSchema, path, this.findings);
      if (isJsonObject(parameters)) this.#written(check.parameters.properties, parameters, path);
    }
    if (isJsonObject(parameters))
      rules.push(Object.freeze({ check: id, parameters: withDefaults(id, parameters) }));
  }
}

function feedbackOf(reaction: Reaction | undefined, usual: number): GuardrailFeedback | null {
  if (reaction === undefined) return null;
  const { value = usual, weight = 1, metadata = '' } = reaction.feedback ?? {};
  return Object.freeze({ value, weight, metadata });
}
