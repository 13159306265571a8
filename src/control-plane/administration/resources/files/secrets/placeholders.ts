import type { Fault } from '../../../admin-error.js';
import { isObject, type JsonFields } from '../kinds/json.js';
import type { DocumentKind } from '../kinds/kind.js';
import { specShape } from '../kinds/spec-shape.js';
import { secretMark, visitSecrets } from './spec-secrets.js';

/** The name in a request for the value from standard input. */
const standardInput = '-';

const howTo =
  'is a secret: write {env: NAME} and set the variable where headgate apply runs, {stdin: true}, or {secret_reference: slug}.';

/** A document's secrets, each in the three forms in which it is needed. */
export interface ReadSecrets {
  /** The spec with the values, as it is sent to the methods. */
  readonly sent: JsonFields;
  /** The spec with a mark in place of each value. */
  readonly shown: JsonFields;
  /** Values by their paths. */
  readonly values: ReadonlyMap<string, string>;
  /** Those whose variable is not set: the record keeps what it has, and a new record cannot be made. */
  readonly missing: readonly MissingSecret[];
  readonly faults: readonly Fault[];
}

/** A secret without a value. */
export interface MissingSecret extends Fault {
  /** Of the variable; `-` is standard input. */
  readonly name: string;
}

/** Is it `{env: NAME}`, `{stdin: true}` or `{secret_reference: slug}`, and which? */
function placeholderIn(value: unknown): { readonly name: string; readonly text: string } | null {
  if (!isObject(value)) return null;
  const [entry, another] = Object.entries(value);
  if (entry === undefined || another !== undefined) return null;
  const [name, text] = entry;
  if (name === 'stdin') return text === true ? { name, text: standardInput } : null;
  const isNamed = name === 'env' || name === 'secret_reference';
  return isNamed && typeof text === 'string' && text !== '' ? { name, text } : null;
}

/** The field of `secret_mappings` that a path means; null: none can be mapped there. */
function targetOf(kind: DocumentKind, path: string): string | null {
  if (specShape(kind).field('secret_mappings') === undefined) return null;
  if (kind.kind === 'Provider' && /^\w+$/.test(path)) return path === 'key' ? path : `model_config.${path}`;
  if (kind.secrets === 'partner') return /^credentials\.[\w.]+$/.test(path) ? path : null;
  return /^(?:key|configurations\.\w+)$/.test(path) ? path : null;
}

const notMapped = (kind: DocumentKind): string =>
  specShape(kind).field('secret_mappings') === undefined
    ? 'cannot come from a secret reference: put the credential into an Integration or a Provider.'
    : 'is part of a field that a secret reference fills as a whole: name the field in secret_mappings.';

interface Mapping {
  readonly target_field: string;
  readonly secret_reference_id: string;
}

/** A secret that is an object is given as its JSON text. */
function parsed(text: string, isObjectField: boolean): unknown {
  if (!isObjectField) return text;
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}

/** The same JSON without fields that are undefined. */
function withoutAbsent(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(withoutAbsent);
  if (!isObject(value)) return value;
  const fields = Object.entries(value).filter(([, item]) => item !== undefined);
  return Object.fromEntries(fields.map(([name, item]) => [name, withoutAbsent(item)]));
}

/** Fills in the secrets that a spec names. Literal ones are refused. */
export function readSecrets(
  kind: DocumentKind,
  spec: JsonFields,
  given: Readonly<Record<string, string>>,
): ReadSecrets {
  const faults: Fault[] = [];
  const values = new Map<string, string>();
  const missing: MissingSecret[] = [];
  const mappings: Mapping[] = [];
  const fill = (value: unknown, path: string): unknown => {
    const placeholder = placeholderIn(value);
    if (placeholder === null) {
      faults.push({ path, problem: howTo });
      return undefined;
    }
    if (placeholder.name === 'secret_reference') {
      const target = targetOf(kind, path);
      if (target === null) faults.push({ path, problem: notMapped(kind) });
      else mappings.push({ target_field: target, secret_reference_id: placeholder.text });
      return undefined;
    }
    const secret = Object.hasOwn(given, placeholder.text) ? given[placeholder.text] : undefined;
    if (secret === undefined || secret === '') {
      const where =
        placeholder.name === 'stdin'
          ? 'standard input is empty'
          : `the variable ${placeholder.text} is not set`;
      missing.push({ path, name: placeholder.text, problem: `has no value: ${where}.` });
      return undefined;
    }
    values.set(path, secret);
    return parsed(secret, path.endsWith('service_account_json'));
  };
  const sent = withoutAbsent(visitSecrets(kind, spec, fill)) as JsonFields;
  const shown = visitSecrets(kind, spec, (value) =>
    placeholderIn(value)?.name === 'secret_reference' ? undefined : secretMark,
  );
  if (mappings.length === 0) return { sent, shown, values, missing, faults };
  const own = Array.isArray(spec['secret_mappings']) ? spec['secret_mappings'] : [];
  const secret_mappings = [...own, ...mappings];
  return {
    sent: { ...sent, secret_mappings },
    shown: { ...shown, secret_mappings },
    values,
    missing,
    faults,
  };
}

/** What takes the place of a secret in an export: a variable named by the document and the field. */
export function placeholderOf(kind: string, name: string, path: string): JsonFields {
  const words = `${kind}_${name}_${path.replace(/^(?:config|configurations|checks)\b\.?/, '')}`
    .replace(/([a-z0-9])([A-Z])/g, '$1_$2')
    .replace(/[^A-Za-z0-9]+/g, '_')
    .replace(/^_+|_+$/g, '');
  return { env: words.toUpperCase() };
}
