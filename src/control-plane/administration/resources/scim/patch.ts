import { type ScimPatchOperation, type ScimResource, scimPatch } from 'scim-patch';
import {
  type Attribute,
  attributeNamed,
  enterpriseAttributes,
  enterpriseSchema,
  isPassedOver,
  readUser,
  readValue,
  userAttributes,
} from './attributes.js';
import { ScimError } from './scim-error.js';

/**
 * PATCH of users, RFC 7644 section 3.5.2. What Entra ID and Okta send besides the RFC (operations in any case, `"False"`,
 * values by dotted and URN-prefixed names, one value in place of a list) is brought into its form first.
 */

type Json = Readonly<Record<string, unknown>>;

export type PatchOp = 'add' | 'remove' | 'replace';

/** An operation as it was sent. `path` null: the value names the attributes. */
export interface SentOperation {
  readonly op: PatchOp;
  readonly path: string | null;
  /** undefined: the operation has no value. */
  readonly value: unknown;
}

const mostOperations = 1000;

const isObject = (value: unknown): value is Json =>
  typeof value === 'object' && value !== null && !Array.isArray(value);
const syntax = (message: string): ScimError => new ScimError('invalidSyntax', message);

const member = (json: Json, wanted: string): unknown => {
  const key = Object.keys(json).find((name) => name.toLowerCase() === wanted);
  return key === undefined ? undefined : json[key];
};

const patchSchema = 'urn:ietf:params:scim:api:messages:2.0:PatchOp';

/** Reads the operations of a body. Throws ScimError for an invalid one. */
export function readOperations(body: Json): SentOperation[] {
  const schemas = member(body, 'schemas');
  const isPatch =
    Array.isArray(schemas) &&
    schemas.some((one) => typeof one === 'string' && one.toLowerCase() === patchSchema.toLowerCase());
  if (schemas !== undefined && !isPatch) throw syntax(`schemas must contain ${patchSchema}.`);
  const operations = member(body, 'operations');
  if (!Array.isArray(operations) || operations.length === 0)
    throw syntax('Operations must be a list of at least one operation.');
  if (operations.length > mostOperations)
    throw syntax(`Operations must be at most ${mostOperations}: send several requests.`);
  return operations.map(readOperation);
}

function readOperation(sent: unknown, i: number): SentOperation {
  const at = `Operations[${i}]`;
  if (!isObject(sent)) throw syntax(`${at} must be an object.`);
  const word = member(sent, 'op');
  const op = typeof word === 'string' ? word.toLowerCase() : '';
  if (op !== 'add' && op !== 'remove' && op !== 'replace')
    throw syntax(`${at}.op must be add, remove or replace.`);
  const path = member(sent, 'path') ?? null;
  if (path !== null && typeof path !== 'string') throw syntax(`${at}.path must be text.`);
  const value = member(sent, 'value') ?? undefined;
  const trimmed = path?.trim() || null;
  if (op === 'remove' && trimmed === null)
    throw new ScimError('noTarget', `${at}.path is required to remove.`);
  if (op === 'add' && value === undefined)
    throw new ScimError('invalidValue', `${at}.value is required to add.`);
  if (trimmed === null && !isObject(value))
    throw new ScimError('invalidValue', `${at}.value must be an object where there is no path.`);
  return { op, path: trimmed, value };
}

/** A path taken apart. */
export interface PatchPath {
  /** Within the enterprise extension? */
  readonly isExtension: boolean;
  /** null: the extension itself. */
  readonly name: string | null;
  /** Between square brackets. */
  readonly filter: string | null;
  readonly part: string | null;
}

const coreSchema = /^urn:ietf:params:scim:schemas:core:2\.0:(?:User|Group)[:.]/i;
const pathForm = /^([A-Za-z$][\w$-]*)(?:\[(.*)\])?(?:\.([A-Za-z$][\w$-]*))?$/s;

/** null: a path of another extension, whose attributes are not kept. */
export function readPath(text: string): PatchPath | null {
  const core = text.replace(coreSchema, '');
  const isExtension = core.toLowerCase().startsWith(enterpriseSchema.toLowerCase());
  const rest = isExtension ? core.slice(enterpriseSchema.length).replace(/^[:.]/, '') : core;
  if (isExtension && rest === '') return { isExtension, name: null, filter: null, part: null };
  if (/^urn:/i.test(rest)) return null;
  const [, name = null, filter = null, part = null] = pathForm.exec(rest) ?? [];
  if (name === null) throw new ScimError('invalidPath', `path ${shown(text)} cannot be read.`);
  return { isExtension, name, filter, part };
}

export const shown = (text: string): string => JSON.stringify(text.slice(0, 120));

const unknownPath = (path: string): ScimError =>
  new ScimError('invalidPath', `path ${shown(path)} names no attribute of a user.`);

/** `primary eq "True"`, as Entra ID writes it. */
const booleanFilter = (filter: string): string =>
  filter.replace(
    /\b(primary\s+(?:eq|ne))\s+"(true|false)"/gi,
    (_, before: string, word: string) => `${before} ${word.toLowerCase()}`,
  );

/** The same operations in the RFC's form, with normalised paths and values. */
function* normalised(sent: SentOperation): Generator<ScimPatchOperation> {
  if (sent.path === null) {
    for (const [name, value] of Object.entries(sent.value as Json)) {
      if (isOwnName(name)) continue;
      yield* atPath({ op: sent.op, path: name, value: value ?? undefined }, true);
    }
    return;
  }
  yield* atPath(sent, false);
}

/** Names in a resource that are no attributes. */
const isOwnName = (name: string): boolean => /^(?:id|schemas|meta)$/i.test(name);

/** `lenient`: what is unknown or read-only is passed over, as in a whole resource. */
function* atPath(sent: SentOperation, lenient: boolean): Generator<ScimPatchOperation> {
  const path = sent.path as string;
  const parsed = readPath(path);
  if (parsed === null) return;
  const { isExtension, name, filter, part } = parsed;
  if (name === null) {
    yield* wholeExtension(sent);
    return;
  }
  const attribute = attributeNamed(isExtension ? enterpriseAttributes : userAttributes, name);
  if (attribute === undefined) {
    if (lenient || isPassedOver(name)) return;
    if (isOwnName(name)) throw new ScimError('mutability', `path ${shown(path)} cannot be changed.`);
    throw unknownPath(path);
  }
  if (attribute.mutability === 'readOnly') {
    if (lenient) return;
    throw new ScimError(
      'mutability',
      `path ${shown(path)} cannot be changed: change the members of the group.`,
    );
  }
  const inner = part === null ? null : attributeNamed(attribute.parts ?? [], part);
  if (inner === undefined || (filter !== null && attribute.multiValued !== true)) {
    if (lenient) return;
    throw unknownPath(path);
  }
  const value = formOf(sent, attribute, filter, inner);
  // An attribute without a value is absent.
  const op = value === undefined ? 'remove' : sent.op;
  const prefix = isExtension ? `${enterpriseSchema}:` : '';
  const within = filter === null ? '' : `[${booleanFilter(filter)}]`;
  const at = `${prefix}${attribute.name}${within}${inner === null ? '' : `.${inner.name}`}`;
  if (op !== 'remove') yield { op, path: at, value };
  else if (value === undefined) yield { op, path: at };
  // Values are removed by what identifies them, whatever else they have.
  else
    for (const { value: id } of value as { readonly value?: unknown }[])
      yield { op, path: `${at}[value eq ${JSON.stringify(id ?? '')}]` };
}

/** Normalises the value by the attribute that the path names. */
function formOf(
  { op, value, path }: SentOperation,
  attribute: Attribute,
  filter: string | null,
  inner: Attribute | null,
): unknown {
  if (value === undefined) return undefined;
  // `remove` of `name.givenName` ignores the value.
  if (op === 'remove' && (filter !== null || inner !== null || attribute.multiValued !== true))
    return undefined;
  const at = path ?? attribute.name;
  if (inner !== null) return readValue(inner, value, at);
  if (filter === null) return readValue(attribute, value, at);
  return (readValue(attribute, value, at) as readonly unknown[] | undefined)?.[0];
}

function* wholeExtension({ op, value }: SentOperation): Generator<ScimPatchOperation> {
  if (op === 'remove') {
    for (const { name } of enterpriseAttributes) yield { op, path: `${enterpriseSchema}:${name}` };
    return;
  }
  if (!isObject(value)) throw new ScimError('invalidValue', `${enterpriseSchema} must be an object.`);
  for (const [name, item] of Object.entries(value))
    yield* atPath({ op, path: `${enterpriseSchema}:${name}`, value: item ?? undefined }, true);
}

/** The user after the operations, in the form of `readUser`. */
export function patchUser(user: Json, sent: readonly SentOperation[]): Json {
  let patched = { ...user, meta: {}, schemas: [] } as unknown as ScimResource;
  for (const one of sent) {
    const operations = [...normalised(one)];
    try {
      patched = scimPatch(patched, operations, { mutateDocument: false, treatMissingAsAdd: true });
    } catch (error) {
      const type = (error as Error).constructor.name === 'NoTarget' ? 'noTarget' : 'invalidPath';
      const path = shown(one.path ?? '');
      throw new ScimError(type, `path ${path} leads to nothing that can be changed in that way.`);
    }
  }
  return readUser(patched as unknown as Json);
}
