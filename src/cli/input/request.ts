import type { Message } from '../../../proto/codec.js';
import type { FieldShape, Shape } from '../../../proto/shape.js';
import type { AdminMethod } from '../../../proto/tree.js';
import { AdminError } from '../../control-plane/administration/admin-error.js';
import { checkedMask, maskOfJson } from '../../control-plane/administration/audit/mask.js';
import { empty, readGiven } from '../../control-plane/administration/shape/json.js';
import { checkRules } from '../../control-plane/administration/shape/rules.js';
import { CliError } from '../cli-error.js';
import { type FieldFlag, typed, typedPath } from './fields.js';
import { readInput } from './file-input.js';
import { momentOf, usualTimes } from './moment.js';
import { readSecret } from './secret-input.js';
import { fieldValue, parseJson, type Typed } from './typed-value.js';

/** A command line, taken apart. */
export interface CommandLine {
  /** Fields that are arguments, by name. */
  readonly named: Readonly<Record<string, string>>;
  /** Flags that were given, and what was given. */
  readonly flags: readonly (readonly [FieldFlag, Typed])[];
  /** Fields that the command's own manners set, by name; flags win over them. */
  readonly more: Readonly<Record<string, unknown>>;
  /** `@file`, or `-`: the request as JSON. Flags win over it. */
  readonly body?: string;
  /** Fields to clear, as they are typed in flags. */
  readonly clear?: readonly string[];
  readonly etag?: string;
  readonly requestId?: string;
}

type Body = Record<string, unknown>;

/** The object that holds the last field of a path, and that field's shape. Objects on the way are made. */
function reach(shape: Shape, body: Body, path: readonly string[]): [holder: Body, field: FieldShape] | null {
  let [holder, at] = [body, shape];
  for (const name of path.slice(0, -1)) {
    const field = at.spelt(name);
    if (field?.kind !== 'message' || field.list || field.map) return null;
    const spelling = field.spellings.find((one) => Object.hasOwn(holder, one)) ?? field.jsonName;
    const inner = holder[spelling];
    holder[spelling] = typeof inner === 'object' && inner !== null ? inner : {};
    [holder, at] = [holder[spelling] as Body, field.message!];
  }
  const field = at.spelt(path.at(-1) ?? '');
  return field === undefined || field.apart ? null : [holder, field];
}

function put(shape: Shape, body: Body, path: readonly string[], value: unknown): boolean {
  const reached = reach(shape, body, path);
  if (reached === null) return false;
  const [holder, field] = reached;
  for (const spelling of field.spellings) delete holder[spelling];
  holder[field.jsonName] = value;
  return true;
}

function bodyOf(file: string | undefined): Body {
  if (file === undefined) return {};
  if (file !== '-' && !file.startsWith('@'))
    throw new CliError('--body takes @file, or - for standard input.', 2);
  const body = parseJson(readInput(file.replace(/^@/, '')), '--body');
  if (typeof body !== 'object' || body === null || Array.isArray(body))
    throw new CliError('--body must be a JSON object.', 2);
  return body as Body;
}

async function jsonOf({ request: shape }: AdminMethod, line: CommandLine): Promise<Body> {
  const body = bodyOf(line.body);
  for (const [name, value] of Object.entries(line.more)) put(shape, body, [name], value);
  // Whole messages come before their single fields.
  const flags = [...line.flags].sort(([a], [b]) => a.path.length - b.path.length);
  for (const [{ path, field, name }, value] of flags)
    put(shape, body, path, await fieldValue(field, value, name));
  for (const named of line.clear ?? []) {
    const path = named.replace(/^--/, '').replaceAll('-', '_').split('.');
    if (!put(shape, body, path, null)) throw new CliError(`--clear ${named}: there is no such field.`, 2);
  }
  return body;
}

/** Times that are needed and were not given. A saved filter may have them. */
function fillTimes(method: AdminMethod, body: Body): void {
  if (['filter_id', 'filterId'].some((name) => Object.hasOwn(body, name))) return;
  for (const [name, text] of Object.entries(usualTimes(method))) {
    const spellings = method.request.field(name)?.spellings ?? [];
    if (!spellings.some((spelling) => Object.hasOwn(body, spelling)))
      body[name] = momentOf(text, typed(name));
  }
}

/** A secret that is needed and was not given is asked for. */
async function askFor(shape: Shape, body: Body): Promise<void> {
  for (const { name, rules, spellings } of shape.fields) {
    if (rules.secret !== true || rules.required !== true) continue;
    if (!spellings.some((spelling) => Object.hasOwn(body, spelling)))
      body[name] = await readSecret(undefined, `${typed(name)}: `);
  }
}

function onlyOneFromStdin({ flags, body }: CommandLine): void {
  const values = flags.flatMap(([, value]) => value);
  if ([...values, body].filter((value) => value === '-').length > 1)
    throw new CliError('Standard input can be read once: let the others come from files.', 2);
}

/** The path that a refusal begins with, as it was typed. */
export const inFlags = (method: AdminMethod, message: string): string =>
  message.replace(
    /(?<=^|\. )[A-Za-z_]\w*(?:\[\d+\])?(?:\.\w+(?:\[\d+\])?)*/g,
    (path) => typedPath(method, path) ?? path,
  );

/** Every fault, each with the flag in place of its field. */
const messageOf = (method: AdminMethod, { faults, message }: AdminError): string =>
  faults.length < 2
    ? inFlags(method, message)
    : faults.map(({ path, problem }) => inFlags(method, `${path} ${problem}`)).join(' ');

/** The request that a command line means, checked as the gateway will check it. Throws a CliError. */
export async function requestOf(method: AdminMethod, line: CommandLine): Promise<Message> {
  const { request: shape } = method;
  onlyOneFromStdin(line);
  const body = await jsonOf(method, line);
  await askFor(shape, body);
  fillTimes(method, body);
  try {
    const given = readGiven(shape, { ...body, ...line.named });
    const message: Body = { ...empty(shape), ...given };
    if (shape.field('update_mask')?.apart === true) message['update_mask'] = changesOf(shape, body, line);
    if (line.etag !== undefined) message['etag'] = line.etag;
    if (line.requestId !== undefined) message['request_id'] = line.requestId;
    checkRules(shape, message);
    return message;
  } catch (error) {
    throw error instanceof AdminError ? new CliError(messageOf(method, error), 2) : error;
  }
}

function changesOf(shape: Shape, body: Body, { named }: CommandLine): readonly string[] {
  const changed = maskOfJson(shape, body).filter((path) => !Object.hasOwn(named, path));
  if (changed.every((path) => path === 'workspace_id' || path === 'organisation_id'))
    throw new CliError('Nothing is to be changed: give the fields that are, or --clear.', 2);
  return checkedMask(shape, changed);
}
