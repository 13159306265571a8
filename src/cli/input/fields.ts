import { Option } from 'commander';
import type { FieldShape, Shape } from '../../../proto/shape.js';
import type { AdminMethod } from '../../../proto/tree.js';
import { argumentsOf } from '../verbs.js';
import { usualTimes } from './moment.js';

/** A field of a request as a flag of its command. */
export interface FieldFlag {
  /** `--usage-limits.credit-limit` */
  readonly name: string;
  /** Where its value goes, by the names of JSON: `['usage_limits', 'credit_limit']`. */
  readonly path: readonly string[];
  readonly field: FieldShape;
  readonly option: Option;
}

/** Names of fields as they are typed: `isDefault` and `is_default` are `is-default`. */
export const typed = (name: string): string => name.replaceAll('_', '-');

/** Messages inside of messages have flags down to here; what lies deeper is given as JSON. */
const deepest = 3;

const isSingleMessage = ({ kind, list, map }: FieldShape): boolean => kind === 'message' && !list && !map;
const isRepeated = ({ list, map }: FieldShape): boolean => list || map;

function placeholder({ kind, rules, list, map, message }: FieldShape): string {
  if (rules.secret === true) return '<file>';
  if (map) return '<name=value>';
  const values = rules.in?.replaceAll(' ', '|');
  switch (kind) {
    case 'string':
      return values !== undefined && values.length <= 40 ? `<${values}>` : list ? '<texts>' : '<text>';
    case 'bool':
      return '[true|false]';
    case 'int32':
    case 'double':
      return '<number>';
    case 'timestamp':
      return '<time>';
    case 'message':
      return list ? `<${message!.fields.map(({ name }) => `${name}=…`).join(',')}>`.slice(0, 60) : '<json>';
    default:
      return '<json>';
  }
}

const appended = (text: string, before: readonly string[] | undefined): readonly string[] => [
  ...(before ?? []),
  text,
];

function describe(field: FieldShape, isInside: boolean, usual: string | undefined): string {
  const { comment, rules } = field;
  const words = [comment.replaceAll('\n', ' ')];
  if (rules.in !== undefined && !placeholder(field).includes('|'))
    words.push(`One of ${rules.in.split(' ').join(', ')}.`);
  if (rules.secret === true) words.push('Read from the file; - is standard input.');
  if (usual !== undefined) words.push(`(default: ${usual})`);
  else if (rules.required === true) words.push(isInside ? '(required there)' : '(required)');
  return words.filter((word) => word !== '').join(' ');
}

/** A workspace has the same flag with every command. */
const flagName = (path: readonly string[], secret: boolean): string =>
  path.length === 1 && path[0] === 'workspace_id'
    ? '--workspace'
    : `--${path.map(typed).join('.')}${secret ? '-file' : ''}`;

function flagOf(path: readonly string[], field: FieldShape, usual?: string): FieldFlag {
  const secret = field.rules.secret === true;
  const name = flagName(path, secret);
  const option = new Option(`${name} ${placeholder(field)}`, describe(field, path.length > 1, usual));
  if (isRepeated(field) && !secret) option.argParser(appended);
  return { name, path, field, option };
}

function flagsIn(
  shape: Shape,
  skipped: readonly string[],
  before: readonly string[],
  usual: Readonly<Record<string, string>> = {},
): FieldFlag[] {
  return shape.fields.flatMap((field) => {
    if (field.apart || skipped.includes(field.name)) return [];
    const path = [...before, field.name];
    const own = flagOf(path, field, usual[field.name]);
    if (!isSingleMessage(field) || path.length > deepest) return [own];
    return [own, ...flagsIn(field.message!, [], path)];
  });
}

/** The flags of a method: every field of its request that is no argument, and that it can change. */
export function flagsOf(method: AdminMethod): FieldFlag[] {
  const { request } = method;
  const isUpdate = request.field('update_mask') !== undefined;
  const fixed = request.fields.filter(({ rules }) => isUpdate && rules.immutable === true);
  const skipped = [...argumentsOf(method), ...fixed.map(({ name }) => name)];
  return flagsIn(request, skipped, [], usualTimes(method));
}

/** A path of the API (`usage_limits.credit_limit`, `checks[0].id`) as it was typed; null: it names no field. */
export function typedPath(method: AdminMethod, path: string): string | null {
  const [, first = '', rest = ''] = /^(\w+)(.*)$/s.exec(path) ?? [];
  const field = method.request.spelt(first);
  if (field === undefined) return null;
  if (argumentsOf(method).includes(field.name)) return `<${typed(field.name)}>${rest}`;
  let [name, at, left] = [flagName([field.name], false), field, rest];
  while (isSingleMessage(at)) {
    const [whole, inner = ''] = /^\.(\w+)/.exec(left) ?? [];
    const next = at.message!.spelt(inner);
    if (whole === undefined || next === undefined) break;
    [name, at, left] = [`${name}.${typed(next.name)}`, next, left.slice(whole.length)];
  }
  return `${name}${at.rules.secret === true ? '-file' : ''}${left}`;
}
