import type { Message } from '../../../../proto/codec.js';
import type { FieldShape, Rules, Shape } from '../../../../proto/shape.js';
import { emailProblem } from '../../../common/access/email.js';
import { AdminError, type Fault, mostFaults } from '../admin-error.js';
import { checkFree, checkName } from './json.js';

/** What every field of a request must be, by the rules beside it in the proto files. The same over every transport. */

const patterns = new Map<string, RegExp>();

function patternOf(source: string): RegExp {
  let pattern = patterns.get(source);
  if (pattern === undefined) {
    pattern = new RegExp(source, 'u');
    patterns.set(source, pattern);
  }
  return pattern;
}

const refuse = (path: string, wanted: string): never => {
  throw AdminError.field(path, wanted);
};

const charactersOf = (count: number): string => `${count} character${count === 1 ? '' : 's'}`;
const words = (rule: string): string => rule.split(' ').join(', ');

const half = /\p{Surrogate}/u;

/** PostgreSQL keeps no NUL, and half a surrogate pair is no character: refused for all stores alike. */
function checkText(text: string, path: string): void {
  if (text.includes('\0')) refuse(path, 'must not contain the character U+0000.');
  if (half.test(text)) refuse(path, 'contains half of a surrogate pair: it is not valid Unicode.');
}

function checkTexts(value: unknown, path: string): void {
  if (typeof value === 'string') checkText(value, path);
  else if (Array.isArray(value)) {
    for (const [i, item] of value.entries()) checkTexts(item, `${path}[${i}]`);
  } else if (typeof value === 'object' && value !== null && !(value instanceof Uint8Array)) {
    for (const [name, item] of Object.entries(value)) {
      checkText(name, `A name in ${path}`);
      checkTexts(item, `${path}.${name}`);
    }
  }
}

function checkUri(text: string, path: string): void {
  const url = URL.canParse(text) ? new URL(text) : null;
  if (url === null || (url.protocol !== 'https:' && url.protocol !== 'http:'))
    return refuse(path, 'must be an http or https URL.');
  if (url.username !== '' || url.password !== '' || url.search !== '' || url.hash !== '')
    refuse(path, 'must have no user, query or fragment.');
}

/** UTF-16 units of texts without a limit in their proto file: ids, filters and the like. Only whole files may be longer. */
const longestText = 65_536;

/** Before anything else looks at a text: a long one must not take the time that all the other rules need. */
function checkLengths(field: FieldShape, value: unknown, path: string): void {
  const { kind, name, rules } = field;
  if (kind !== 'string' || (rules.max_len === undefined && name === 'file')) return;
  const most = rules.max_len ?? longestText;
  // Characters are counted later where the proto file limits them; each is one unit or two.
  const mostUnits = rules.max_len === undefined ? most : 2 * most;
  const texts = field.list || field.map ? Object.values(value as object) : [value];
  for (const text of texts as string[])
    if (text.length > mostUnits) refuse(path, `must be at most ${charactersOf(most)} long.`);
}

function checkString(text: string, rules: Rules, path: string): void {
  if (rules.in !== undefined && !rules.in.split(' ').includes(text))
    refuse(path, `must be one of ${words(rules.in)}.`);
  const isCounted = rules.min_len !== undefined || rules.max_len !== undefined;
  const length = isCounted ? [...text.trim()].length : 0;
  if (length < (rules.min_len ?? 0)) refuse(path, `must be at least ${charactersOf(rules.min_len!)} long.`);
  if (length > (rules.max_len ?? Number.POSITIVE_INFINITY))
    refuse(path, `must be at most ${charactersOf(rules.max_len!)} long.`);
  if (rules.pattern !== undefined && !patternOf(rules.pattern).test(text))
    refuse(path, `must match ${rules.pattern}.`);
  const problem = rules.email === true ? emailProblem(text) : null;
  if (problem !== null) refuse(path, problem);
  if (rules.uri === true) checkUri(text, path);
}

function checkNumber(value: number, { min, max }: Rules, path: string): void {
  if (!Number.isFinite(value)) refuse(path, 'must be a finite number.');
  if (value < (min ?? Number.NEGATIVE_INFINITY)) refuse(path, `must be at least ${min}.`);
  if (value > (max ?? Number.POSITIVE_INFINITY)) refuse(path, `must be at most ${max}.`);
}

/** JSON text that can be read must not be deeper than JSON itself; for invalid JSON, its method reports the error. */
function checkJsonText(text: string, path: string): void {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    return;
  }
  checkFree(value, path);
}

function checkJson(value: unknown, rules: Rules, path: string): void {
  const isText = typeof value === 'string';
  if (!isText) checkFree(value, path);
  const bytes = Buffer.byteLength(isText ? value : JSON.stringify(value));
  if (bytes > (rules.max_len ?? Number.POSITIVE_INFINITY))
    refuse(path, `must be at most ${rules.max_len} bytes of JSON.`);
  if (rules.json !== true) return;
  if (isText) checkJsonText(value, path);
  else if (typeof value !== 'object' || value === null || Array.isArray(value))
    refuse(path, 'must be an object, or the JSON text of one.');
}

/** Collects what `check` refuses, so that the fields after it are checked too. */
function collect(faults: Fault[], check: () => void): void {
  if (faults.length >= mostFaults) return;
  try {
    check();
  } catch (thrown) {
    if (!(thrown instanceof AdminError) || thrown.faults.length === 0) throw thrown;
    faults.push(...thrown.faults);
  }
}

function checkSingle(field: FieldShape, value: unknown, path: string, faults: Fault[]): void {
  switch (field.kind) {
    case 'string':
      return checkString(value as string, field.rules, path);
    case 'int32':
    case 'double':
      return checkNumber(value as number, field.rules, path);
    case 'bytes':
      if ((value as Uint8Array).length > (field.rules.max_len ?? Number.POSITIVE_INFINITY))
        refuse(path, `must be at most ${field.rules.max_len} bytes long.`);
      return;
    case 'value':
    case 'struct':
      return checkJson(value, field.rules, path);
    case 'message':
      return checkFields(field.message!, value as Message, `${path}.`, faults);
    default:
  }
}

function checkCount(count: number, { min_items, max_items }: Rules, path: string): void {
  if (count < (min_items ?? 0))
    refuse(path, `must have at least ${min_items} item${min_items === 1 ? '' : 's'}.`);
  if (count > (max_items ?? Number.POSITIVE_INFINITY))
    refuse(path, `must have at most ${max_items} item${max_items === 1 ? '' : 's'}.`);
}

function checkField(field: FieldShape, value: unknown, path: string, faults: Fault[]): void {
  const { rules } = field;
  if (value !== undefined && value !== null) checkLengths(field, value, path);
  if (isNothing(field, value)) {
    if (rules.required === true) refuse(path, 'is required.');
    return;
  }
  checkTexts(value, path);
  if (field.list) {
    const items = value as unknown[];
    checkCount(items.length, rules, path);
    if (rules.unique === true && new Set(items.map((item) => JSON.stringify(item))).size < items.length)
      refuse(path, 'must not have an item twice.');
    for (const [i, item] of items.entries())
      collect(faults, () => checkSingle(field, item, `${path}[${i}]`, faults));
  } else if (field.map) {
    const entries = Object.entries(value as object);
    checkCount(entries.length, rules, path);
    for (const [name, item] of entries) {
      checkName(name, path);
      collect(faults, () => checkSingle(field, item, `${path}.${name}`, faults));
    }
  } else checkSingle(field, value, path, faults);
}

/** Is the value absent? An empty text, list or map is absent, unless its field has presence. */
function isNothing(field: FieldShape, value: unknown): boolean {
  if (value === undefined || value === null) return true;
  if (field.list) return (value as unknown[]).length === 0;
  if (field.map) return Object.keys(value).length === 0;
  if (typeof value === 'string')
    return field.rules.required === true ? value.trim() === '' : !field.optional && value === '';
  return false;
}

function checkFields(shape: Shape, message: Message, before: string, faults: Fault[]): void {
  for (const field of shape.fields)
    collect(faults, () => checkField(field, message[field.name], `${before}${field.jsonName}`, faults));
}

/** The field of that path, and its value in the request. */
function named(shape: Shape, request: Message, path: string): readonly [FieldShape | undefined, unknown] {
  let at: Shape | null = shape;
  let field: FieldShape | undefined;
  let value: unknown = request;
  for (const name of path.split('.')) {
    field = at?.field(name);
    value = (value as Message | null | undefined)?.[name];
    at = field?.kind === 'message' ? field.message : null;
  }
  return [field, value];
}

/** What must not be empty cannot be cleared either. */
function checkCleared(shape: Shape, request: Message, mask: readonly string[], faults: Fault[]): void {
  for (const path of mask) {
    const [field, value] = named(shape, request, path);
    if (field === undefined || !isNothing(field, value)) continue;
    const { required, min_len, min_items, clearable } = field.rules;
    const wantsContent = required === true || (min_len ?? 0) > 0 || (min_items ?? 0) > 0;
    if (wantsContent && clearable !== true) faults.push({ path, problem: 'cannot be cleared.' });
  }
}

/** Throws AB01 with the paths of all fields that break their rules, the first `mostFaults` of them. */
export function checkRules(shape: Shape, request: Message): void {
  const faults: Fault[] = [];
  checkFields(shape, request, '', faults);
  checkCleared(shape, request, (request['update_mask'] as readonly string[] | undefined) ?? [], faults);
  if (faults.length > 0) throw AdminError.fields(onePerField(faults).slice(0, mostFaults));
}

/** A field that is required and cleared is one fault. */
const onePerField = (faults: readonly Fault[]): readonly Fault[] =>
  [...new Map(faults.toReversed().map((fault) => [fault.path, fault])).values()].toReversed();
