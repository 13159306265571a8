import type { CacheStatus } from '../../../../common/core/cache.js';
import type { AttemptRecord } from '../../../../common/core/exchange.js';
import { noUsage, type Usage, type UsageSource } from '../../../../common/core/usage.js';
import {
  type LedgerRow,
  providerBodiesId,
  type RowState,
  type StepTimes,
} from '../../../../common/ledger/record.js';
import { blankRow } from '../../../../common/ledger/rows.js';
import { uuidv7 } from '../../../../common/text/id.js';
import { maxPicos, picosPerDollar } from '../../../../common/vocabulary/money.js';
import { AdminError } from '../../admin-error.js';
import { readTime } from '../../shape/json.js';
import { boundedMetadata } from './custom-logs.js';

/** Rows as `ListLogs` gives them, read back. By hand: an import has many thousands in a second. */

type Given = Readonly<Record<string, unknown>>;
type Kind = 'text' | 'number' | 'boolean' | 'list' | 'object';

/** Milliseconds: `exact_times` has them with their fractions. */
const timeKinds: Readonly<Record<string, Kind>> = {
  response_time: 'number',
  upstream_response_time: 'number',
  gateway_processing_time: 'number',
  request_parsing_time: 'number',
  pre_processing_time: 'number',
  cache_processing_time: 'number',
  response_parsing_time: 'number',
};

/** Every name that a row may have. Those without a column here follow from others. */
const kinds: Readonly<Record<string, Kind>> = {
  id: 'text',
  organisation_id: 'text',
  organisation_name: 'text',
  workspace_id: 'text',
  workspace_slug: 'text',
  api_key_id: 'text',
  created_at: 'text',
  is_success: 'boolean',
  ai_org: 'text',
  virtual_key: 'text',
  ai_model: 'text',
  req_units: 'number',
  res_units: 'number',
  total_units: 'number',
  cost: 'number',
  cost_currency: 'text',
  request_url: 'text',
  request_method: 'text',
  response_status_code: 'number',
  cache_status: 'text',
  cache_type: 'text',
  stream_mode: 'number',
  retry_success_count: 'number',
  trace_id: 'text',
  internal_trace_id: 'text',
  span_id: 'text',
  parent_span_id: 'text',
  span_name: 'text',
  config: 'text',
  config_id: 'text',
  config_version_id: 'text',
  prompt_id: 'text',
  prompt_version_id: 'text',
  prompt_slug: 'text',
  mode: 'text',
  metadata: 'object',
  'metadata.key': 'list',
  'metadata.value': 'list',
  state: 'text',
  node_id: 'text',
  error: 'text',
  error_message: 'text',
  attempts: 'list',
  model_asked: 'text',
  target: 'text',
  cached_units: 'number',
  reasoning_units: 'number',
  first_byte_time: 'number',
  usage_source: 'text',
  cost_saved: 'number',
  time_saved: 'number',
  dropped_fields: 'list',
  stage_fields: 'object',
  decisions: 'list',
  is_proxy_call: 'boolean',
  last_used_option_index: 'number',
  source: 'text',
  runtime: 'text',
  runtime_version: 'text',
  sdk_version: 'text',
  log_store_file_path_format: 'text',
  exact_times: 'object',
  ...timeKinds,
};

const attemptKinds: Readonly<Record<string, Kind>> = {
  target: 'text',
  provider: 'text',
  model: 'text',
  status: 'number',
  error: 'text',
  started_at_ms: 'number',
  duration_ms: 'number',
  req_units: 'number',
  res_units: 'number',
  cost: 'number',
  usage_source: 'text',
};

const longestText = 8192;
/** Characters of a line: pages of logs have 1000 of them in memory. */
const longestLine = 131_072;
const mostAttempts = 100;
const mostRetries = 10_000;
const highestStatus = 999;
/** An hour. */
const maxStepMicros = 3_600_000_000;
const cacheStatuses: readonly string[] = [
  'DISABLED',
  'HIT',
  'MISS',
  'REFRESH',
  'SEMANTIC HIT',
  'SEMANTIC MISS',
] satisfies readonly CacheStatus[];
const usageSources: readonly string[] = ['provider', 'counted', 'none'] satisfies readonly UsageSource[];

/** Levels of a line: what is nested deeper could not be written again. */
const deepest = 64;

const isDeeper = (value: unknown, levels: number): boolean =>
  typeof value === 'object' &&
  value !== null &&
  (levels === 0 || Object.values(value).some((one) => isDeeper(one, levels - 1)));

const refuse = (path: string, problem: string): never => {
  throw AdminError.field(path, problem);
};

const isObject = (value: unknown): value is Given =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

const isKind = (value: unknown, kind: Kind): boolean => {
  if (kind === 'text')
    return typeof value === 'string' && value.length <= longestText && !/[\0\p{Surrogate}]/u.test(value);
  if (kind === 'number') return typeof value === 'number' && value >= 0 && value <= Number.MAX_SAFE_INTEGER;
  if (kind === 'boolean') return typeof value === 'boolean';
  return kind === 'list' ? Array.isArray(value) : isObject(value);
};

const wanted: Readonly<Record<Kind, string>> = {
  text: `must be text of at most ${longestText} characters, without U+0000 and halves of surrogate pairs.`,
  number: 'must be a number of at least 0.',
  boolean: 'must be true or false.',
  list: 'must be a list.',
  object: 'must be an object.',
};

/** A checked object: names that it may have, with values of their kinds. */
class Fields {
  constructor(
    readonly given: Given,
    allowed: Readonly<Record<string, Kind>>,
    readonly path: string,
  ) {
    for (const name in given) {
      const kind = Object.hasOwn(allowed, name) ? allowed[name] : undefined;
      if (kind === undefined) refuse(`${path} ${JSON.stringify(name.slice(0, 80))}`, 'is no field of a log.');
      else if (given[name] !== null && !isKind(given[name], kind)) refuse(`${path} ${name}`, wanted[kind]);
    }
  }

  text(name: string): string | null {
    const value = this.given[name];
    return typeof value === 'string' && value !== '' ? value : null;
  }

  needed(name: string): string {
    return this.text(name) ?? refuse(`${this.path} ${name}`, 'is required.');
  }

  oneOf(name: string, values: readonly string[], usual: string): string {
    const value = this.text(name) ?? usual;
    return values.includes(value)
      ? value
      : refuse(`${this.path} ${name}`, `must be one of ${values.join(', ')}.`);
  }

  number(name: string): number | null {
    const value = this.given[name];
    return typeof value === 'number' ? value : null;
  }

  whole(name: string, most = Number.MAX_SAFE_INTEGER): number {
    const value = Math.round(this.number(name) ?? 0);
    return value <= most ? value : refuse(`${this.path} ${name}`, `must be at most ${most}.`);
  }

  picos(name: string): number | null {
    const dollars = this.number(name);
    return dollars === null ? null : Math.min(Math.round(dollars * picosPerDollar), maxPicos);
  }

  list(name: string): readonly unknown[] {
    const value = this.given[name];
    return Array.isArray(value) ? value : [];
  }
}

/** A line as a row. `workspace`: the id or slug that it names. Throws AB01 with `line` and the path. */
export function readLoggedRow(
  text: string,
  org: string,
  line: string,
): { readonly row: LedgerRow; readonly workspace: string } {
  if (text.length > longestLine) refuse(line, `must have at most ${longestLine} characters.`);
  let given: unknown;
  try {
    given = JSON.parse(text);
  } catch {
    return refuse(line, 'is no JSON.');
  }
  if (!isObject(given)) return refuse(line, 'must be an object.');
  if (isDeeper(given, deepest)) refuse(line, `is nested deeper than ${deepest} levels.`);
  const fields = new Fields(given, kinds, `${line}:`);
  const at = Date.parse(readTime(fields.needed('created_at'), `${line}: created_at`));
  if (at < 0 || at > Date.now() + 86_400_000)
    refuse(`${line}: created_at`, 'must be from 1970 on, and not in the future.');
  const id = fields.text('id') ?? uuidv7();
  // Such an id would be that of another log's bodies.
  if (id.endsWith(providerBodiesId(''))) refuse(`${line}: id`, `must not end in ${providerBodiesId('')}.`);
  const state = fields.oneOf('state', ['settled', 'unknown'], 'settled') as RowState;
  const metadata = metadataOf(given['metadata'], `${line}: metadata`);
  const usage = usageOf(fields);
  const status = fields.whole('response_status_code', highestStatus);
  const times = timesOf(fields, `${line}: exact_times`);
  const row: LedgerRow = {
    ...blankRow,
    state,
    node: fields.text('node_id'),
    id,
    at,
    org,
    key: fields.text('api_key_id'),
    user: metadata['_user'] ?? null,
    config: fields.text('config'),
    configVersion: fields.text('config_version_id'),
    prompt: fields.text('prompt_slug'),
    endpoint: fields.text('mode') ?? 'custom',
    method: fields.text('request_method') ?? 'POST',
    path: fields.text('request_url') ?? '',
    provider: fields.text('ai_org'),
    slug: fields.text('virtual_key'),
    modelAsked: fields.text('model_asked') ?? fields.text('ai_model'),
    modelUsed: fields.text('ai_model'),
    status,
    error: fields.text('error'),
    errorMessage: fields.text('error_message'),
    stream: fields.number('stream_mode') === 1,
    totalMs: times('response_time') ?? 0,
    upstreamMs: times('upstream_response_time') ?? 0,
    firstByteMs: fields.number('first_byte_time'),
    attempts: attemptsOf(fields, `${line}: attempts`),
    retries: fields.whole('retry_success_count', mostRetries),
    target: fields.text('target'),
    usage,
    cost: fields.picos('cost'),
    cache: fields.oneOf('cache_status', cacheStatuses, 'DISABLED') as CacheStatus,
    metadata,
    trace: fields.text('trace_id') ?? id,
    span: fields.text('span_id'),
    parentSpan: fields.text('parent_span_id'),
    spanName: fields.text('span_name'),
    dropped: fields.list('dropped_fields').filter((path): path is string => typeof path === 'string'),
    costSaved: fields.picos('cost_saved'),
    msSaved: fields.number('time_saved'),
    stages: isObject(given['stage_fields']) ? given['stage_fields'] : null,
    steps: stepsOf(times),
  };
  return { row, workspace: fields.needed('workspace_id') };
}

/** Milliseconds by the name of their field; null: there is none. */
type TimeReader = (name: string) => number | null;

/** Lines of an earlier version, or of other programs, have no `exact_times`. */
function timesOf(fields: Fields, path: string): TimeReader {
  const given = fields.given['exact_times'];
  const exact = new Fields(isObject(given) ? given : {}, timeKinds, path);
  return (name) => exact.number(name) ?? fields.number(name);
}

/** The lines do not contain the start of the cache lookup. */
function stepsOf(times: TimeReader): StepTimes | null {
  const micros = (name: string): number => Math.min(Math.round((times(name) ?? 0) * 1000), maxStepMicros);
  const body = micros('request_parsing_time');
  return body === 0 ? null : [body, 0, micros('cache_processing_time'), micros('response_parsing_time')];
}

function metadataOf(given: unknown, path: string): Record<string, string> {
  if (!isObject(given)) return {};
  for (const name in given)
    if (!isKind(given[name], 'text') || !isKind(name, 'text'))
      refuse(`${path}.${name.slice(0, 80)}`, wanted.text);
  boundedMetadata(given, path);
  return given as Record<string, string>;
}

function usageOf(fields: Fields): Usage {
  const usage = {
    ...noUsage(),
    input: fields.whole('req_units'),
    output: fields.whole('res_units'),
    cached: fields.whole('cached_units'),
    reasoning: fields.whole('reasoning_units'),
  };
  const usual = usage.input + usage.output > 0 ? 'provider' : 'none';
  return { ...usage, source: fields.oneOf('usage_source', usageSources, usual) as UsageSource };
}

function attemptsOf(fields: Fields, path: string): AttemptRecord[] {
  const given = fields.list('attempts');
  if (given.length > mostAttempts) refuse(path, `must have at most ${mostAttempts} items.`);
  return given.map((one, i): AttemptRecord => {
    const at = `${path}[${i}]`;
    if (!isObject(one)) return refuse(at, 'must be an object.');
    const attempt = new Fields(one, attemptKinds, at);
    const source = attempt.oneOf('usage_source', usageSources, 'none') as UsageSource;
    return {
      target: attempt.text('target') ?? 'config',
      slug: null,
      integration: null,
      provider: attempt.text('provider') ?? '',
      model: attempt.text('model'),
      startedAt: attempt.number('started_at_ms') ?? 0,
      status: attempt.whole('status', highestStatus),
      error: attempt.text('error') as AttemptRecord['error'],
      durationMs: attempt.number('duration_ms') ?? 0,
      cost: attempt.picos('cost'),
      usage:
        source === 'none'
          ? null
          : { ...noUsage(), input: attempt.whole('req_units'), output: attempt.whole('res_units'), source },
    };
  });
}
