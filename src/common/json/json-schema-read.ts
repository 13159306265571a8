import { compilePattern, type Pattern, PatternRefused } from '../text/pattern.js';
import { estimateSize } from '../text/pattern-size.js';

/** A JSON Schema (draft 7), or a part of one. */
export type Schema = boolean | { readonly [keyword: string]: unknown };

/** A schema that cannot be used. `path` leads to the fault from the schema's root: `.properties.team.pattern`, or ''. */
export class SchemaRefused extends Error {
  constructor(
    readonly path: string,
    /** Completes the sentence "<path> …". */
    message: string,
  ) {
    super(message);
  }
}

/** Schemas within a schema, that is what its parts may cost together where all of them are looked at. */
const maxParts = 1000;
const maxDepth = 32;
/** Size of all patterns together (pattern-size.ts): at most some 10 ms to compile. */
const maxPatternSize = 600;
/** A Unicode class takes half a millisecond to compile: this is added to its size. */
const unicodeSize = 40;
const unicodeClass = /\\[pP]/g;
const patternCacheBytes = 16 * 1024;

/** A schema that was read. Its parts are used unchanged. */
export interface ReadSchema {
  readonly root: Schema;
  /** By their sources. */
  readonly patterns: ReadonlyMap<string, Pattern>;
  /** Targets of `$ref`, by its text. */
  readonly references: ReadonlyMap<string, Schema>;
  /** Bytes of heap that the patterns keep, at most. */
  readonly patternBytes: number;
}

type KeywordReader = (reader: Reader, value: unknown, path: string) => void;

export const isObject = (value: unknown): value is { readonly [key: string]: unknown } =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/**
 * Reads a schema: every keyword of draft 7 is of its kind, every pattern is in RE2's syntax, every `$ref` leads to a
 * place within the schema. Throws SchemaRefused. Takes 20 ms at most, whatever it is given.
 */
export function readSchema(root: unknown): ReadSchema {
  const reader = new Reader(root);
  reader.part(root, '', 0);
  // The target of a reference may contain references again.
  for (const [reference, { path, target }] of reader.referred) reader.refer(reference, target, path);
  return {
    root: root as Schema,
    patterns: reader.patterns,
    references: reader.references,
    patternBytes: [...reader.patterns.values()].reduce((sum, { bytes }) => sum + bytes, 0),
  };
}

class Reader {
  readonly patterns = new Map<string, Pattern>();
  readonly references = new Map<string, Schema>();
  readonly referred = new Map<string, { readonly path: string; readonly target: unknown }>();
  readonly #seen = new Set<unknown>();
  #parts = 0;
  #patternSize = 0;
  #depth = 0;

  constructor(readonly root: unknown) {}

  part(schema: unknown, path: string, depth = this.#depth + 1): void {
    if (typeof schema === 'boolean') return this.#count(path);
    if (!isObject(schema)) throw new SchemaRefused(path, 'must be a schema: an object, true or false');
    if (this.#seen.has(schema)) return;
    this.#seen.add(schema);
    this.#count(path);
    if (depth > maxDepth) throw new SchemaRefused(path, `is nested too deep: at most ${maxDepth} levels`);
    const before = this.#depth;
    this.#depth = depth;
    for (const keyword of Object.keys(schema))
      kinds.get(keyword)?.(this, schema[keyword], `${path}.${keyword}`);
    this.#depth = before;
  }

  #count(path: string): void {
    if (++this.#parts > maxParts)
      throw new SchemaRefused(
        path,
        `is one schema too many: at most ${maxParts}, each within another counts`,
      );
  }

  pattern(source: unknown, path: string): void {
    if (typeof source !== 'string') throw new SchemaRefused(path, 'must be text');
    if (this.patterns.has(source)) return;
    const estimate = estimateSize(source) + unicodeSize * (source.match(unicodeClass)?.length ?? 0);
    this.#takePattern(estimate, path);
    try {
      const pattern = compilePattern(source, patternCacheBytes);
      this.#takePattern(Math.max(0, pattern.size - estimate), path);
      this.patterns.set(source, { ...pattern, size: Math.max(estimate, pattern.size) });
    } catch (thrown) {
      if (thrown instanceof PatternRefused) throw new SchemaRefused(path, thrown.message);
      throw thrown;
    }
  }

  #takePattern(size: number, path: string): void {
    this.#patternSize += size;
    if (this.#patternSize > maxPatternSize)
      throw new SchemaRefused(
        path,
        `makes the patterns of this schema too large together: ${this.#patternSize}, at most ${maxPatternSize} (a repeat such as {1,100} counts as often)`,
      );
  }

  reference(reference: unknown, path: string): void {
    if (typeof reference !== 'string') throw new SchemaRefused(path, 'must be text');
    if (this.referred.has(reference)) return;
    this.referred.set(reference, { path, target: this.#targetOf(reference, path) });
  }

  refer(reference: string, target: unknown, path: string): void {
    this.part(target, path);
    this.references.set(reference, target as Schema);
  }

  #targetOf(reference: string, path: string): unknown {
    const { root } = this;
    const id = isObject(root) && typeof root['$id'] === 'string' ? root['$id'].replace(/#$/, '') : '';
    const local = id !== '' && reference.startsWith(id) ? reference.slice(id.length) || '#' : reference;
    if (local !== '#' && !local.startsWith('#/'))
      throw new SchemaRefused(path, 'must lead to a place within the schema: # or #/definitions/<name>');
    let at: unknown = root;
    for (const key of local.split('/').slice(1)) {
      const name = unescaped(key).replaceAll('~1', '/').replaceAll('~0', '~');
      const holds = (isObject(at) || Array.isArray(at)) && Object.hasOwn(at, name);
      if (!holds) throw new SchemaRefused(path, 'leads to a place that the schema does not have');
      at = (at as Record<string, unknown>)[name];
    }
    return at;
  }
}

function unescaped(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

const types = ['array', 'boolean', 'integer', 'null', 'number', 'object', 'string'];

const is =
  (holds: (value: unknown) => boolean, rule: string): KeywordReader =>
  (_reader, value, path) => {
    if (!holds(value)) throw new SchemaRefused(path, rule);
  };

const schema: KeywordReader = (reader, value, path) => reader.part(value, path);
const pattern: KeywordReader = (reader, value, path) => reader.pattern(value, path);
const count = is(
  (value) => Number.isInteger(value) && (value as number) >= 0,
  'must be a whole number, 0 or more',
);
const number = is(Number.isFinite, 'must be a number');
const texts = is(
  (value) => Array.isArray(value) && value.every((item) => typeof item === 'string'),
  'must be a list of texts',
);
const schemas: KeywordReader = (reader, value, path) => {
  if (!Array.isArray(value) || value.length === 0)
    throw new SchemaRefused(path, 'must be a list of schemas, not empty');
  for (const [i, item] of value.entries()) reader.part(item, `${path}[${i}]`);
};

const mapOf =
  (member: KeywordReader, name?: KeywordReader): KeywordReader =>
  (reader, value, path) => {
    if (!isObject(value)) throw new SchemaRefused(path, 'must be an object');
    for (const key of Object.keys(value)) {
      name?.(reader, key, `${path}[${JSON.stringify(key.slice(0, 64))}]`);
      member(reader, value[key], `${path}.${key.slice(0, 64)}`);
    }
  };

const items: KeywordReader = (reader, value, path) =>
  (Array.isArray(value) ? schemas : schema)(reader, value, path);
const dependency: KeywordReader = (reader, value, path) =>
  (Array.isArray(value) ? texts : schema)(reader, value, path);
const oneType = is((value) => types.includes(value as string), `must be one of ${types.join(', ')}`);
const type: KeywordReader = (reader, value, path) => {
  if (!Array.isArray(value)) return oneType(reader, value, path);
  if (value.length === 0 || value.length > types.length)
    throw new SchemaRefused(path, `must be a list of 1 to ${types.length} types`);
  for (const [i, item] of value.entries()) oneType(reader, item, `${path}[${i}]`);
};

/** The check of each keyword's value in draft 7. Other keywords have no effect. */
const kinds: ReadonlyMap<string, KeywordReader> = new Map([
  ...(
    [
      'not',
      'if',
      'then',
      'else',
      'contains',
      'additionalItems',
      'additionalProperties',
      'propertyNames',
    ] as const
  ).map((keyword): [string, KeywordReader] => [keyword, schema]),
  ...(['allOf', 'anyOf', 'oneOf'] as const).map((keyword): [string, KeywordReader] => [keyword, schemas]),
  ...(['properties', 'definitions'] as const).map((keyword): [string, KeywordReader] => [
    keyword,
    mapOf(schema),
  ]),
  ...(['minLength', 'maxLength', 'minItems', 'maxItems', 'minProperties', 'maxProperties'] as const).map(
    (keyword): [string, KeywordReader] => [keyword, count],
  ),
  ...(['minimum', 'maximum', 'exclusiveMinimum', 'exclusiveMaximum'] as const).map(
    (keyword): [string, KeywordReader] => [keyword, number],
  ),
  ['patternProperties', mapOf(schema, pattern)],
  ['dependencies', mapOf(dependency)],
  ['items', items],
  ['pattern', pattern],
  ['type', type],
  ['required', texts],
  ['enum', is((value) => Array.isArray(value) && value.length > 0, 'must be a list of values, not empty')],
  ['uniqueItems', is((value) => typeof value === 'boolean', 'must be true or false')],
  ['multipleOf', is((value) => Number.isFinite(value) && (value as number) > 0, 'must be a number above 0')],
  ['$ref', (reader, value, path) => reader.reference(value, path)],
  [
    '$schema',
    is(
      (value) => typeof value === 'string' && /^https?:\/\/json-schema\.org\/draft-07\/schema#?$/.test(value),
      'must be http://json-schema.org/draft-07/schema#: other drafts are not understood',
    ),
  ],
]);
