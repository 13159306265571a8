import { existsSync } from 'node:fs';
import { dirname, relative, resolve } from 'node:path';
import type { ErrorObject } from 'ajv';
import { lazyAjv } from '../json/ajv.js';
import { isDeeperThan } from '../json/depth.js';
import { readBounded, UnreadableFile } from '../text/bounded-file.js';
import { nearest } from '../text/nearest.js';
import { fitsPlainly } from './plain-schema.js';
import type { SettingKind } from './settings-kinds.js';
import type { Setting } from './settings-setting.js';
import { stageRows } from './settings-stages.js';
import { allSettings, type Settings, type StageValues } from './settings-table.js';
import { maxDepth, readYaml, tooDeep } from './settings-yaml.js';

export type { PluginInsert, PluginSettings } from './settings-kinds.js';
export type { SettingKey, Settings } from './settings-table.js';

/** One row of the reference: what a setting is called in each place, and what it does. */
export interface SettingRow {
  readonly key: string;
  readonly flag: string;
  readonly env: string;
  readonly yaml: string;
  readonly type: string;
  readonly default: string;
  readonly doc: string;
  /** Given by file or variable, never as a flag: its flag takes the path of a file. */
  readonly secret: boolean;
}

/** Of a file that holds one value. */
const mostFileBytes = 1024 * 1024;

const snake = (key: string): string => key.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
const settingOf = (key: string): Setting<unknown, unknown> => allSettings.get(key)!;

function describe(key: string): SettingRow {
  const { kind, env, fallbackText, doc } = settingOf(key);
  const yaml = snake(key);
  const isSecret = kind.type === 'secret';
  return {
    key,
    flag: `--${yaml.replaceAll('_', '-')}${isSecret ? '-file' : ''}`,
    env: env ?? `HEADGATE_${yaml.toUpperCase()}`,
    yaml,
    type: kind.type,
    default: fallbackText,
    doc,
    secret: isSecret,
  };
}

/** Every setting as the reference and `--help` show it. */
export const settingsTable: readonly SettingRow[] = [...allSettings.keys()].map(describe);

/** Settings that cannot be used; each problem names its place: `headgate.yaml: plugins.insert[0].before: …`. */
export class SettingsError extends Error {
  readonly problems: readonly string[];

  constructor(problems: readonly string[]) {
    super(problems.join('\n'));
    this.name = 'SettingsError';
    this.problems = problems;
  }
}

export interface SettingsSources {
  /** Flags by the key of their setting, plus `config`; secrets by `<key>File`. Undefined: not given. */
  readonly flags?: Readonly<Record<string, unknown>>;
  readonly env?: Readonly<Record<string, string | undefined>>;
  /** The YAML file; null: none. By default `--config`, `HEADGATE_CONFIG`, or headgate.yaml if it is there. */
  readonly file?: string | null;
}

/** A value on its way in: raw, with the name to blame. */
interface GivenValue {
  readonly value: unknown;
  readonly origin: string;
  readonly base: string;
  /** What a secret was read from. */
  readonly file?: string;
}

type Layer = Map<string, GivenValue>;

const byYaml = new Map(settingsTable.map((row) => [row.yaml, row]));
const byEnv = new Map(settingsTable.map((row) => [row.env, row]));
const envNames = [
  'HEADGATE_CONFIG',
  ...settingsTable.flatMap((row) => (row.secret ? [row.env, `${row.env}_FILE`] : [row.env])),
];
const yamlNames = settingsTable.flatMap((row) => (row.secret ? [row.yaml, `${row.yaml}_file`] : [row.yaml]));

/**
 * Reads settings: a flag beats a variable beats the YAML file beats the default. Everything that is wrong is reported
 * at once, as a SettingsError.
 */
export function loadSettings(sources: SettingsSources = {}): Settings {
  const flags = sources.flags ?? {};
  const env = sources.env ?? process.env;
  const problems: string[] = [];
  const file = sources.file === undefined ? findFile(flags, env) : sources.file;
  const layers = [fromFlags(flags, problems), fromEnv(env, problems)];
  if (file !== null) layers.push(fromFile(file, problems));

  const settings: Record<string, unknown> = {};
  for (const row of settingsTable) {
    const setting = settingOf(row.key);
    const given = layers.find((layer) => layer.has(row.key))?.get(row.key);
    if (given === undefined) {
      settings[row.key] = row.key === 'dataDir' ? resolve(String(setting.fallback)) : setting.fallback;
      continue;
    }
    const found = check(setting.kind, given);
    problems.push(...found);
    if (found.length > 0) continue;
    settings[row.key] = setting.kind.make(given.value, given.base, given.file ?? null);
  }
  if (problems.length > 0) throw new SettingsError(problems);
  const complete = withStages(settings);
  checkPorts(complete);
  checkProxy(complete);
  checkRole(complete);
  return Object.freeze(complete);
}

/** The values that stages bring, apart from the others. */
function withStages(settings: Record<string, unknown>): Settings {
  const ofStages: Record<string, Record<string, unknown>> = {};
  for (const [key, { stage, name }] of stageRows) {
    ofStages[stage] ??= {};
    ofStages[stage][name] = settings[key];
    delete settings[key];
  }
  return { ...(settings as Omit<Settings, 'stages'>), stages: ofStages satisfies StageValues };
}

/** The file that settings are read from; null: there is none. */
export const settingsFile = (flags: Readonly<Record<string, unknown>> = {}): string | null =>
  findFile(flags, process.env);

function findFile(
  flags: Readonly<Record<string, unknown>>,
  env: Readonly<Record<string, string | undefined>>,
): string | null {
  const named = flags['config'] ?? env['HEADGATE_CONFIG'];
  if (typeof named === 'string' && named !== '') return named;
  return existsSync('headgate.yaml') ? 'headgate.yaml' : null;
}

function fromFlags(flags: Readonly<Record<string, unknown>>, problems: string[]): Layer {
  const layer: Layer = new Map();
  const base = process.cwd();
  for (const row of settingsTable) {
    const value = flags[row.secret ? `${row.key}File` : row.key];
    if (value === undefined) continue;
    if (row.secret) {
      readSecret(layer, row, String(value), row.flag, base, problems);
      continue;
    }
    const raw = typeof value === 'string' ? settingOf(row.key).kind.fromText(value) : value;
    layer.set(row.key, { value: raw, origin: row.flag, base });
  }
  return layer;
}

/**
 * Kubernetes puts variables of every Service into every container: a Service called `headgate` gives
 * `HEADGATE_PORT=tcp://10.0.0.7:80` and `HEADGATE_SERVICE_HOST`. They are not meant for the gateway.
 */
const serviceLinkName = /_SERVICE_(HOST|PORT(_\w+)?)$|_PORT_\d+_(TCP|UDP|SCTP)(_(PROTO|PORT|ADDR))?$/;
const serviceLinkValue = /^(tcp|udp|sctp):\/\//;
const isServiceLink = (name: string, value: string): boolean =>
  serviceLinkName.test(name) || (name.endsWith('_PORT') && serviceLinkValue.test(value));

function fromEnv(env: Readonly<Record<string, string | undefined>>, problems: string[]): Layer {
  const layer: Layer = new Map();
  const base = process.cwd();
  for (const [name, value] of Object.entries(env)) {
    // An empty variable is an unset one: compose files pass `${X:-}` for what is not set.
    if (value === undefined || value === '' || (!name.startsWith('HEADGATE_') && !byEnv.has(name))) continue;
    if (name === 'HEADGATE_CONFIG' || isServiceLink(name, value)) continue;
    const row = byEnv.get(name);
    if (row !== undefined) {
      layer.set(row.key, { value: settingOf(row.key).kind.fromText(value), origin: name, base });
      continue;
    }
    const twin = name.endsWith('_FILE') ? byEnv.get(name.slice(0, -'_FILE'.length)) : undefined;
    if (twin?.secret === true) {
      if (env[twin.env]) problems.push(`${name}: ${twin.env} is set too; set one of the two.`);
      else readSecret(layer, twin, value, name, base, problems);
      continue;
    }
    problems.push(`${name}: no such setting${suggest(name, envNames)}`);
  }
  return layer;
}

function fromFile(file: string, problems: string[]): Layer {
  const layer: Layer = new Map();
  const shown = shortPath(file);
  const base = dirname(resolve(file));
  const document = readYaml(file, shown, problems);
  for (const [name, value] of Object.entries(document)) {
    const origin = `${shown}: ${name}`;
    if (value === null || value === undefined) continue;
    const row = byYaml.get(name);
    if (row !== undefined) {
      const isText = typeof value === 'string' && settingOf(row.key).kind.schema['type'] === 'array';
      layer.set(row.key, { value: isText ? settingOf(row.key).kind.fromText(value) : value, origin, base });
      continue;
    }
    const twin = name.endsWith('_file') ? byYaml.get(name.slice(0, -'_file'.length)) : undefined;
    if (twin?.secret !== true) {
      problems.push(`${origin}: no such setting${suggest(name, yamlNames)}`);
    } else if (Object.hasOwn(document, twin.yaml)) {
      problems.push(`${origin}: ${twin.yaml} is set too; set one of the two.`);
    } else {
      readSecret(layer, twin, String(value), origin, base, problems);
    }
  }
  return layer;
}

function readSecret(
  layer: Layer,
  row: SettingRow,
  file: string,
  origin: string,
  base: string,
  problems: string[],
): void {
  try {
    const path = resolve(base, file);
    const value = readBounded(path, mostFileBytes).replace(/\r?\n$/, '');
    layer.set(row.key, { value, origin, base, file: path });
  } catch (error) {
    const why = error instanceof UnreadableFile ? `it ${error.message}` : codeOf(error);
    problems.push(`${origin}: cannot read ${file} (${why}).`);
  }
}

const ajv = lazyAjv({ allErrors: true, verbose: true, keywords: ['wanted'] });

function check(kind: SettingKind<unknown>, given: GivenValue): string[] {
  // The checks below are recursive.
  if (isDeeperThan(given.value, maxDepth)) return [tooDeep(given.origin)];
  const validate = fitsPlainly(kind.schema, given.value) ? null : ajv().compile(kind.schema);
  if (validate === null || validate(given.value)) {
    return (kind.problems?.(given.value) ?? []).map((problem) => given.origin + problem);
  }
  const problems = new Set<string>();
  for (const error of validate.errors ?? []) {
    const problem = sentence(error);
    if (problem !== null) problems.add(`${given.origin}${place(error)}: ${problem}`);
  }
  return [...problems];
}

/** `/insert/0/before` → `.insert[0].before`; for a key that is too many, the key itself. */
function place(error: ErrorObject): string {
  const path = error.instancePath
    .split('/')
    .slice(1)
    .map((step) => (/^\d+$/.test(step) ? `[${step}]` : `.${step}`))
    .join('');
  return error.keyword === 'additionalProperties' ? `${path}.${extra(error)}` : path;
}

const extra = (error: ErrorObject): string => String(error.params['additionalProperty']);

const typeNames: Readonly<Record<string, string>> = {
  integer: 'a whole number',
  boolean: 'true or false',
  string: 'text',
  array: 'a list',
  object: 'a mapping',
};

function sentence(error: ErrorObject): string | null {
  const { params, parentSchema } = error;
  const wanted = (parentSchema as { wanted?: string } | undefined)?.wanted;
  switch (error.keyword) {
    case 'type':
      return `must be ${typeNames[String(params['type'])] ?? String(params['type'])}.`;
    case 'enum': {
      const words = params['allowedValues'] as string[];
      return `must be one of ${words.join(', ')}${suggest(String(error.data), words)}`;
    }
    case 'minimum':
      return `must be at least ${String(params['limit'])}.`;
    case 'maximum':
      return `must be at most ${String(params['limit'])}.`;
    case 'pattern':
      return `${wanted}.`;
    case 'minItems':
    case 'minLength':
      return 'must not be empty.';
    case 'required':
      // The branches of a oneOf report what they miss; the oneOf itself reports it in one sentence.
      return error.schemaPath.includes('/oneOf/') ? null : `${String(params['missingProperty'])} is missing.`;
    case 'oneOf':
      return 'must say either before or after, and name a stage.';
    case 'additionalProperties':
      return `no such key${suggest(extra(error), Object.keys(parentSchema?.['properties'] as object))}`;
    default:
      return `${error.message ?? 'is not valid'}.`;
  }
}

/** The end of a sentence about an unknown word. */
function suggest(word: string, known: Iterable<string>): string {
  const found = nearest(word, known);
  return found === null ? '.' : `; did you mean ${found}?`;
}

function checkPorts(settings: Settings): void {
  const taken = new Map<number, string>();
  for (const key of ['port', 'grpcPort', 'dataGrpcPort', 'opsPort'] as const) {
    const number = settings[key];
    const other = number === 0 ? undefined : taken.get(number);
    if (other !== undefined) {
      throw new SettingsError([
        `${snake(key)}: ${number} is the ${other} already; each needs a port of its own.`,
      ]);
    }
    taken.set(number, snake(key));
  }
}

function checkProxy({ upstreamClient, upstreamProxy }: Settings): void {
  if (upstreamProxy !== null && upstreamClient === 'own')
    throw new SettingsError(['upstream_proxy: needs upstream_client: undici.']);
}

function checkRole({ role, databaseUrl }: Settings): void {
  if (role === 'data' && databaseUrl === null)
    throw new SettingsError([
      'role: data needs DATABASE_URL: the records are kept by nodes with the role all.',
    ]);
}

function shortPath(file: string): string {
  const short = relative(process.cwd(), resolve(file));
  return short.startsWith('..') ? file : short;
}

function codeOf(error: unknown): string {
  return error instanceof Error && 'code' in error ? String(error.code) : String(error);
}

/** URL under which clients reach the gateway, without a slash at its end. */
export const publicUrlOf = ({ publicUrl, port }: Pick<Settings, 'publicUrl' | 'port'>): string =>
  publicUrl ?? `http://localhost:${port}`;
