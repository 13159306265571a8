import type { Message } from '../../../../../proto/codec.js';
import { nearest } from '../../../../common/text/nearest.js';
import { AdminError, type Fault, mostFaults } from '../../admin-error.js';
import { empty, fieldOf, readField } from '../../shape/json.js';
import { checkRules } from '../../shape/rules.js';
import { isObject, type JsonFields, under } from './kinds/json.js';
import type { DocumentKind } from './kinds/kind.js';
import { kindNamed, kinds } from './kinds/kinds.js';
import { specShape } from './kinds/spec-shape.js';
import { type ReadSecrets, readSecrets } from './secrets/placeholders.js';

/** A document that was read: its form is right, and its secrets are filled in. */
export interface Document {
  /** Its place in the request. */
  readonly index: number;
  readonly kind: DocumentKind;
  /** Of the record: its slug, or its name. */
  readonly name: string;
  /** Slug or id; null: it names none. */
  readonly workspace: string | null;
  readonly etag: string | null;
  /** Names of the fields that it gives, as they are in memory. */
  readonly fields: readonly string[];
  readonly secrets: ReadSecrets;
}

/** What a request gives for placeholders. */
export interface GivenSecrets {
  readonly values: Readonly<Record<string, string>>;
  /** Is each placeholder without a value a fault? */
  readonly strict: boolean;
}

/** Where faults of a document are. */
export const placeOf = (index: number): string => `documents[${index}]`;

const known = new Set(['kind', 'name', 'workspace', 'etag', 'spec']);
const kindNames = kinds.map(({ kind }) => kind);

const textOf = (value: unknown): string | null =>
  typeof value === 'string' && value.trim() !== '' ? value.trim() : null;

/** Reads a document. What is wrong with it is added to `faults`; null: it cannot be applied. */
export function readDocument(
  json: unknown,
  index: number,
  secrets: GivenSecrets,
  faults: Fault[],
): Document | null {
  const at = placeOf(index);
  const before = faults.length;
  const wrong = (path: string, problem: string): void => void faults.push({ path: under(at, path), problem });
  if (!isObject(json)) {
    faults.push({ path: at, problem: 'must be an object with kind, name and spec.' });
    return null;
  }
  for (const name of Object.keys(json))
    if (!known.has(name))
      wrong(name, `is not a field of a document: fields of the record belong under spec.`);
  const kind = kindNamed(json['kind']);
  if (kind === undefined) {
    const meant = faults.length < mostFaults ? nearest(String(json['kind']).slice(0, 64), kindNames) : null;
    wrong(
      'kind',
      meant === null ? `must be one of ${kindNames.join(', ')}.` : `is none: did you mean ${meant}?`,
    );
    return null;
  }
  const name = kind.reach === 'single' ? (textOf(json['name']) ?? 'organisation') : textOf(json['name']);
  if (name === null) wrong('name', 'is required: the slug or the name of the record.');
  else if (kind.identity?.isName(name) === false) wrong('name', `must be ${kind.identity.form}.`);
  const workspace = json['workspace'] ?? null;
  if (workspace !== null && textOf(workspace) === null)
    wrong('workspace', 'must be the slug of a workspace.');
  if (workspace !== null && (kind.reach === 'organisation' || kind.reach === 'single'))
    wrong('workspace', `does not go with ${kind.kind}, which belongs to the organisation.`);
  const etag = json['etag'] ?? null;
  if (etag !== null && typeof etag !== 'string') wrong('etag', 'must be text.');
  const spec = json['spec'] ?? {};
  if (!isObject(spec)) {
    wrong('spec', 'must be an object.');
    return null;
  }
  const read = readSpec(kind, spec, secrets, under(at, 'spec'), faults);
  if (faults.length > before || read === null || name === null) return null;
  const normal = kind.identity?.normal?.(name) ?? name;
  return { index, kind, name: normal, workspace: textOf(workspace), etag: etag as string | null, ...read };
}

function readSpec(
  kind: DocumentKind,
  spec: JsonFields,
  given: GivenSecrets,
  at: string,
  faults: Fault[],
): Pick<Document, 'fields' | 'secrets'> | null {
  const shape = specShape(kind);
  const before = faults.length;
  const read: Record<string, unknown> = {};
  for (const [spelling, value] of Object.entries(spec)) {
    try {
      read[fieldOf(shape, spelling, 'spec', faults.length < mostFaults).name] = value;
    } catch (thrown) {
      if (!(thrown instanceof AdminError)) throw thrown;
      for (const { path, problem } of thrown.faults)
        faults.push({ path: path.replace(/^spec/, at).replace(/\."(.*)"$/, '.$1'), problem });
    }
  }
  const secrets = readSecrets(kind, read, given.values);
  for (const { path, problem } of [...secrets.faults, ...(given.strict ? secrets.missing : [])])
    faults.push({ path: under(at, path), problem });
  if (faults.length > before) return null;
  const message: Record<string, unknown> = empty(shape);
  for (const [name, value] of Object.entries(secrets.sent)) {
    const field = shape.field(name);
    if (field === undefined || value === null || value === undefined) continue;
    try {
      message[name] = readField(field, value, field.jsonName);
    } catch (thrown) {
      addFaults(faults, thrown, at);
    }
  }
  if (faults.length > before) return null;
  try {
    checkRules(shape.only(Object.keys(read)), message as Message);
  } catch (thrown) {
    const found: Fault[] = [];
    addFaults(found, thrown, at);
    // A required secret without a value: the record may have one.
    const missing = new Set(secrets.missing.map(({ path }) => under(at, path)));
    faults.push(...found.filter(({ path }) => !missing.has(path)));
  }
  return faults.length > before
    ? null
    : { fields: [...new Set([...Object.keys(read), ...Object.keys(secrets.sent)])], secrets };
}

/** A path at the start of a message: `config.targets[0].provider: the workspace has no provider @main.` */
const pathFirst = /^([a-z_]\w*(?:\[\d+\])?(?:\.[\w-]+(?:\[\d+\])?)*)(:?) (.*)$/s;

/** What a method or a reader refused, as faults of the document at `at`. Throws what is no refusal. */
export function addFaults(faults: Fault[], thrown: unknown, at: string, kind?: DocumentKind): void {
  const error = AdminError.from(thrown);
  if (error.code === 'AB04' || error.code === 'unavailable' || error.code === 'deadline') throw thrown;
  const more = error.faults.slice(0, mostFaults);
  for (const { path, problem } of more)
    faults.push({ path: under(at, path), problem: problem.endsWith('.') ? problem : `${problem}.` });
  if (more.length > 0) return;
  const [, path = '', colon = '', rest = ''] = pathFirst.exec(error.message) ?? [];
  const problem = colon === '' ? rest : `is refused: ${rest}`;
  const isField = kind !== undefined && specShape(kind).spelt(/^\w+/.exec(path)?.[0] ?? '') !== undefined;
  if (isField)
    faults.push({ path: under(at, path), problem: problem.endsWith('.') ? problem : `${problem}.` });
  else faults.push({ path: at.replace(/\.spec$/, ''), problem: `is refused: ${error.message}` });
}
