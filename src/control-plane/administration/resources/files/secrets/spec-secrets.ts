import type { FieldShape } from '../../../../../../proto/shape.js';
import { partners } from '../../../../../common/guardrails/partners.js';
import { replaced } from '../../../../store/secrets/config-secrets.js';
import { hidesPart, secretOf } from '../../../../store/secrets/guardrail-secrets.js';
import { isObject, type JsonFields, under } from '../kinds/json.js';
import type { DocumentKind } from '../kinds/kind.js';
import { specShape } from '../kinds/spec-shape.js';

/** In place of a secret wherever specs are compared or shown. */
export const secretMark = '(secret)';

/** What a document gives for a secret. Throws an AdminError where it may not. */
type Visit = (value: unknown, path: string) => unknown;

/** The same spec with `visit` in place of every secret in it, and of everything where a secret belongs. */
export function visitSecrets(kind: DocumentKind, spec: JsonFields, visit: Visit): JsonFields {
  const made: Record<string, unknown> = {};
  for (const [name, value] of Object.entries(spec)) {
    const field = specShape(kind).spelt(name);
    if (field === undefined) made[name] = value;
    else if (kind.secrets === 'config' && field.name === 'config') made[name] = ofConfig(value, visit);
    else if (kind.secrets === 'guardrail' && field.name === 'checks') made[name] = ofChecks(value, visit);
    else if (kind.secrets === 'partner' && field.name === 'credentials')
      made[name] = ofPartner(value, name, visit);
    else made[name] = ofField(field, value, name, visit);
  }
  return made;
}

function ofField(field: FieldShape, value: unknown, path: string, visit: Visit): unknown {
  if (value === null || value === undefined) return value;
  if (field.rules.secret === true) {
    if (!field.map || !isObject(value)) return visit(value, path);
    return Object.fromEntries(
      Object.entries(value).map(([name, item]) => [name, visit(item, under(path, name))]),
    );
  }
  if (field.kind !== 'message') return value;
  const inner = (item: unknown, at: string): unknown =>
    isObject(item)
      ? Object.fromEntries(
          Object.entries(item).map(([name, one]) => {
            const found = field.message!.spelt(name);
            return [name, found === undefined ? one : ofField(found, one, under(at, name), visit)];
          }),
        )
      : item;
  if (field.list && Array.isArray(value)) return value.map((item, i) => inner(item, `${path}[${i}]`));
  if (field.map && isObject(value))
    return Object.fromEntries(
      Object.entries(value).map(([name, item]) => [name, inner(item, under(path, name))]),
    );
  return inner(value, path);
}

/** Credentials that are no secret, whichever partner they are for. */
const openCredentials = new Set<string>();
for (const { fields } of partners.values())
  for (const { name, isPublic } of fields) if (isPublic) openCredentials.add(name);
for (const { fields } of partners.values())
  for (const { name, isPublic } of fields) if (!isPublic) openCredentials.delete(name);

const ofPartner = (value: unknown, path: string, visit: Visit): unknown =>
  isObject(value)
    ? Object.fromEntries(
        Object.entries(value).map(([name, item]) => [
          name,
          openCredentials.has(name) ? item : visit(item, under(path, name)),
        ]),
      )
    : value;

const ofConfig = (value: unknown, visit: Visit): unknown => {
  const config = configOf(value);
  return isObject(config) ? replaced(config, 'config', visit) : value;
};

/** A config may be given as its JSON text. Text that is none is refused when it is read. */
function configOf(value: unknown): unknown {
  if (typeof value !== 'string') return value;
  try {
    return JSON.parse(value);
  } catch {
    return value;
  }
}

function ofChecks(value: unknown, visit: Visit): unknown {
  if (!Array.isArray(value)) return value;
  return value.map((check, i) => {
    if (!isObject(check) || !isObject(check['parameters'])) return check;
    const parameters = Object.entries(check['parameters']).map(([name, parameter]) => {
      const path = `checks[${i}].parameters.${name}`;
      const holds = secretOf(String(check['id']), name);
      const isOpen = holds === 'url' && typeof parameter === 'string' && !hidesPart(parameter);
      if (holds === undefined || isOpen) return [name, parameter];
      if (holds === 'url') return [name, visit(parameter, path)];
      if (!isObject(parameter)) return [name, parameter];
      const texts = Object.entries(parameter).map(([key, text]) => [key, visit(text, `${path}.${key}`)]);
      return [name, Object.fromEntries(texts)];
    });
    return { ...check, parameters: Object.fromEntries(parameters) };
  });
}
