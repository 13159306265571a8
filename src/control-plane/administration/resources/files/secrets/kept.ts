import type { FieldShape } from '../../../../../../proto/shape.js';
import type { Fault } from '../../../admin-error.js';
import type { JsonFields } from '../kinds/json.js';
import type { DocumentKind } from '../kinds/kind.js';
import { specShape } from '../kinds/spec-shape.js';
import type { MissingSecret } from './placeholders.js';
import { secretMark } from './spec-secrets.js';

/** `config.targets[0].api_key` → its names and numbers. */
const segmentsOf = (path: string): string[] => path.split(/[.[\]]+/).filter((segment) => segment !== '');

const camelCase = (name: string): string =>
  name.replace(/_([a-z])/g, (_, letter: string) => letter.toUpperCase());

/** Is there a secret at that path of a spec that has marks in place of its secrets? Names of headers may have points. */
function hasSecretAt(spec: unknown, segments: readonly string[]): boolean {
  if (segments.length === 0) return spec === secretMark;
  if (typeof spec !== 'object' || spec === null) return false;
  const fields = spec as JsonFields;
  return segments.some((_, i) => {
    const name = segments.slice(0, i + 1).join('.');
    const found = [name, camelCase(name)].find((one) => Object.hasOwn(fields, one));
    return found !== undefined && hasSecretAt(fields[found], segments.slice(i + 1));
  });
}

/** Does an update that leaves out the field at that path keep it, whatever else it changes? */
function isMerged(kind: DocumentKind, [first = '', ...rest]: readonly string[]): boolean {
  let field: FieldShape | undefined = specShape(kind).spelt(first);
  for (const name of rest) {
    if (field?.kind !== 'message' || field.list || field.map) return false;
    field = field.message?.spelt(name);
  }
  return field !== undefined && !field.list && !field.map;
}

/** Secrets of a field that are without a value and that the record cannot keep. `differs`: is something of the field changed? */
export function notKept(
  kind: DocumentKind,
  missing: readonly MissingSecret[],
  current: JsonFields,
  differs: boolean,
): Fault[] {
  return missing.flatMap(({ path, problem }) => {
    const segments = segmentsOf(path);
    if (!hasSecretAt(current, segments)) return [{ path, problem }];
    if (!differs || isMerged(kind, segments)) return [];
    const [field] = segments;
    const why = `The stored secret is kept only where nothing else in spec.${field} changes, which is stored as a whole.`;
    return [{ path, problem: `${problem} ${why}` }];
  });
}

/** Is that path one of a field, `key` of `key` and `configurations.x` of `configurations`? */
export const isWithin = (path: string, field: string): boolean =>
  path === field || path.startsWith(`${field}.`) || path.startsWith(`${field}[`);
