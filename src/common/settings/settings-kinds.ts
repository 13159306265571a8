import { resolve } from 'node:path';
import type { StageName } from '../../data-plane/pipeline/order.js';
import { places } from '../../data-plane/pipeline/plugins/stages.js';
import { Secret } from '../access/secret.js';
import type { InsertScope } from '../plugin-host/files/inserted.js';

/**
 * One kind of value: how text becomes it, what it must look like, and what the program is given.
 * Flags and environment variables are text; YAML values are checked as they are.
 */
export interface SettingKind<T> {
  /** One word for the reference table. */
  readonly type: string;
  /** JSON Schema of the value as written in YAML, or made by `fromText`. */
  readonly schema: Readonly<Record<string, unknown>>;
  /** Text that does not fit is returned unchanged: the schema then reports what is wrong. */
  fromText(text: string): unknown;
  /**
   * Of a value that passed the schema. `base`: the folder that relative paths start from; `file`: the path that a
   * secret was read from, null where it was given as text.
   */
  make(checked: unknown, base: string, file: string | null): T;
  /** A problem that the schema cannot express, of a value that passed it: `[0]: has no port`. Absent: nothing more. */
  problems?(checked: unknown): readonly string[];
}

const asIs = (text: string): unknown => text;
const integer = (text: string): unknown => (/^\d{1,15}$/.test(text) ? Number(text) : text);

const truth: Readonly<Record<string, boolean>> = {
  true: true,
  1: true,
  yes: true,
  on: true,
  false: false,
  0: false,
  no: false,
  off: false,
};

/** A whole number within bounds. */
export function whole(type: string, minimum: number, maximum: number): SettingKind<number> {
  return {
    type,
    schema: { type: 'integer', minimum, maximum },
    fromText: integer,
    make: (checked) => checked as number,
  };
}

/** 0 lets the system choose a free one, which tests lean on. */
export const port = whole('port', 0, 65_535);
/** A day at most: more is a unit mistaken. */
export const milliseconds = whole('milliseconds', 0, 86_400_000);

/** `true` or `false`; as text also 1, 0, yes, no, on, off. */
export const toggle: SettingKind<boolean> = {
  type: 'boolean',
  schema: { type: 'boolean' },
  fromText: (text) => truth[text.toLowerCase()] ?? text,
  make: (checked) => checked as boolean,
};

/** Text of a given pattern; `wanted` is the sentence for text that does not match. */
export function text(type: string, pattern: string, wanted: string): SettingKind<string> {
  return {
    type,
    schema: { type: 'string', pattern, wanted },
    fromText: asIs,
    make: (checked) => checked as string,
  };
}

/** One of a few words. */
export function choice<T extends string>(...words: readonly T[]): SettingKind<T> {
  return {
    type: words.join(' | '),
    schema: { type: 'string', enum: words },
    fromText: asIs,
    make: (checked) => checked as T,
  };
}

/** A path; relative ones start at the YAML file's folder, or at the working directory for flags and variables. */
export const path: SettingKind<string> = {
  type: 'path',
  schema: { type: 'string', minLength: 1 },
  fromText: asIs,
  make: (checked, base) => resolve(base, checked as string),
};

/** A YAML list, or as text one line with commas. */
export function list(
  type: string,
  pattern: string,
  wanted: string,
  minItems: number,
): SettingKind<readonly string[]> {
  return {
    type,
    schema: { type: 'array', minItems, items: { type: 'string', pattern, wanted } },
    fromText: (line) =>
      line
        .split(',')
        .map((item) => item.trim())
        .filter((item) => item !== ''),
    make: (checked) => Object.freeze([...(checked as string[])]),
  };
}

/** A list of which each item is checked by a function: a sentence without its end, or null where nothing is wrong. */
export function checkedList(
  type: string,
  problem: (item: string) => string | null,
): SettingKind<readonly string[]> {
  return {
    ...list(type, '', '', 0),
    problems: (checked) =>
      (checked as readonly string[]).flatMap((item, i) => {
        const found = problem(item);
        return found === null ? [] : [`[${i}]: ${item} ${found}.`];
      }),
  };
}

/** Numbers above 0 by name: a YAML mapping, or as text `name=2,other=0.5`. */
export function numbers(type: string): SettingKind<Readonly<Record<string, number>>> {
  return {
    type,
    schema: {
      type: 'object',
      additionalProperties: { type: 'number', exclusiveMinimum: 0, maximum: 1_000_000 },
    },
    fromText: (line) =>
      Object.fromEntries(
        line.split(',').map((item) => {
          const [name = '', value = ''] = item.split('=').map((part) => part.trim());
          return [name, /^\d+(\.\d+)?$/.test(value) ? Number(value) : value];
        }),
      ),
    make: (checked) => Object.freeze({ ...(checked as Record<string, number>) }),
  };
}

/** Text that is never printed. */
export function secret(pattern: string, wanted: string): SettingKind<Secret> {
  return {
    type: 'secret',
    schema: { type: 'string', pattern, wanted },
    fromText: asIs,
    make: (checked, _base, file) => new Secret(checked as string, file),
  };
}

/** Text that is never printed, checked by a function: problems such as `.port: must be …`, which quote nothing of it. */
export function checkedSecret(problems: (text: string) => readonly string[]): SettingKind<Secret> {
  return { ...secret('', ''), problems: (checked) => problems(checked as string) };
}

/** A custom plugin and its place in the chain. */
export interface PluginInsert {
  readonly name: string;
  readonly before?: StageName;
  readonly after?: StageName;
  readonly options?: Readonly<Record<string, unknown>>;
  readonly scope?: InsertScope;
  readonly required?: boolean;
}

/** Custom plugins: where they lie and where in the chain they go. */
export interface PluginSettings {
  readonly directory: string | null;
  readonly insert: readonly PluginInsert[];
}

const ids = { type: 'array', items: { type: 'string', minLength: 1 }, minItems: 1 };

const scopeSchema = {
  oneOf: [
    { enum: ['all', 'config'] },
    {
      type: 'object',
      additionalProperties: false,
      minProperties: 1,
      properties: { organisations: ids, workspaces: ids },
    },
  ],
  wanted: 'must be all, config, or the ids of organisations or workspaces, as in {workspaces: [id]}',
};

/** A plugin's scope must be known where it runs. */
function misplaced({ before, after, scope = 'all' }: PluginInsert): string | null {
  if (scope === 'all') return null;
  const place = before === undefined ? `after ${after}` : `before ${before}`;
  if (before === 'auth') return `${place} the caller is not known, so that its scope must be all`;
  const isEarly = before === 'config' || after === 'auth';
  if (scope === 'config' && isEarly)
    return `${place} the config is not known: insert it after config, or later`;
  return null;
}

/** A YAML mapping; as text the same mapping in JSON. */
export const plugins: SettingKind<PluginSettings> = {
  type: 'mapping',
  schema: {
    type: 'object',
    additionalProperties: false,
    properties: {
      directory: { type: 'string', minLength: 1 },
      insert: {
        type: 'array',
        items: {
          type: 'object',
          additionalProperties: false,
          required: ['name'],
          oneOf: [{ required: ['before'] }, { required: ['after'] }],
          properties: {
            name: {
              type: 'string',
              pattern: '^[a-z][a-z0-9-]*$',
              wanted: 'must be the name of a plugin, as in check-region',
            },
            before: { type: 'string', enum: places },
            after: { type: 'string', enum: places },
            options: { type: 'object' },
            scope: scopeSchema,
            required: { type: 'boolean' },
          },
        },
      },
    },
  },
  fromText(line) {
    try {
      return JSON.parse(line) as unknown;
    } catch {
      return line;
    }
  },
  problems(checked) {
    const { insert = [] } = checked as { insert?: PluginInsert[] };
    return insert.flatMap((entry, i) => {
      const problem = misplaced(entry);
      return problem === null ? [] : [`.insert[${i}].scope: ${problem}`];
    });
  },
  make(checked, base) {
    const { directory, insert } = checked as { directory?: string; insert?: PluginInsert[] };
    return {
      directory: directory === undefined ? null : resolve(base, directory),
      insert: insert ?? [],
    };
  },
};
