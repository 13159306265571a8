import { visitReferences } from '../../../references/config-references.js';
import { isObject, type JsonFields } from './json.js';

/** Gives what takes the place of a reference to a record of that kind. */
export type Visit = (kind: string, name: string) => string;

/** The same spec with `visit` in place of everything in it that names another record. */
export type ReferenceWalk = (spec: JsonFields, visit: Visit) => JsonFields;

/** The spec with `change` applied to one field, where it has that. */
function at(spec: JsonFields, field: string, change: (value: unknown) => unknown): JsonFields {
  const value = spec[field];
  return value === undefined || value === null ? spec : { ...spec, [field]: change(value) };
}

const one =
  (kind: string, visit: Visit) =>
  (value: unknown): unknown =>
    typeof value === 'string' && value !== '' ? visit(kind, value) : value;

const each =
  (kind: string, visit: Visit) =>
  (value: unknown): unknown =>
    Array.isArray(value) ? value.map(one(kind, visit)) : value;

/** Of a field that holds an object. */
const inside =
  (change: (value: JsonFields) => JsonFields) =>
  (value: unknown): unknown =>
    isObject(value) ? change(value) : value;

const guardrails =
  (visit: Visit) =>
  (spec: JsonFields): JsonFields =>
    ['input_guardrails', 'output_guardrails'].reduce(
      (before, field) => at(before, field, each('Guardrail', visit)),
      spec,
    );

/** Of `secret_mappings`. */
const mapped =
  (visit: Visit) =>
  (spec: JsonFields): JsonFields =>
    at(spec, 'secret_mappings', (list) =>
      Array.isArray(list)
        ? list.map(inside((item) => at(item, 'secret_reference_id', one('SecretReference', visit))))
        : list,
    );

/** Keys of conditions whose values are records. */
const conditionKinds: Readonly<Record<string, string>> = {
  api_key: 'ApiKey',
  workspace_id: 'Workspace',
  config: 'Config',
};

function condition(value: unknown, visit: Visit): unknown {
  if (!isObject(value)) return value;
  const kind = conditionKinds[String(value['key'])];
  if (kind === undefined) return value;
  const change = (names: unknown): unknown =>
    Array.isArray(names) ? each(kind, visit)(names) : names === '*' ? names : one(kind, visit)(names);
  return at(at(value, 'value', change), 'excludes', change);
}

/** Where the specs of each kind name other records. */
export const references = {
  workspace: (spec, visit) =>
    at(
      spec,
      'defaults',
      inside((defaults) => guardrails(visit)(at(defaults, 'user_api_key_config', one('Config', visit)))),
    ),
  organisation: (spec, visit) => guardrails(visit)(spec),
  deployment: (spec, visit) =>
    at(
      spec,
      'auth_settings',
      inside((settings) => at(settings, 'workspaces_allowed', each('Workspace', visit))),
    ),
  secretReference: (spec, visit) => at(spec, 'allowed_workspaces', each('Workspace', visit)),
  integration: (spec, visit) =>
    at(mapped(visit)(spec), 'workspaces', (list) =>
      Array.isArray(list) ? list.map(inside((item) => at(item, 'id', one('Workspace', visit)))) : list,
    ),
  provider: (spec, visit) => at(mapped(visit)(spec), 'integration_id', one('Integration', visit)),
  config: (spec, visit) =>
    at(
      spec,
      'config',
      inside((config) => visitReferences(config, visit) as JsonFields),
    ),
  collection: (spec, visit) => at(spec, 'parent_collection_id', one('Collection', visit)),
  apiKey: (spec, visit) =>
    at(
      spec,
      'defaults',
      inside((defaults) => at(defaults, 'config_id', one('Config', visit))),
    ),
  policy: (spec, visit) =>
    at(spec, 'conditions', (list) =>
      Array.isArray(list) ? list.map((item) => condition(item, visit)) : list,
    ),
} as const satisfies Record<string, ReferenceWalk>;

/** A record that a spec names. */
export interface Reference {
  readonly kind: string;
  readonly name: string;
}

/** What a spec names. */
export function referencesIn(walk: ReferenceWalk | undefined, spec: JsonFields): Reference[] {
  const found: Reference[] = [];
  walk?.(spec, (kind, name) => {
    found.push({ kind, name });
    return name;
  });
  return found;
}
