import type { CacheStatus } from '../core/cache.js';
import type { AttemptRecord } from '../core/exchange.js';
import type { UsageSource } from '../core/usage.js';
import type { LedgerRow, Settlement } from './record.js';

/**
 * Version of the ledger: of the journal's lines and of the database alike. 1 and 2: positions in one array, and few
 * columns. 3: the fields of this table, each a column; costs in picodollars. 4: `node_id`. 5: charges of budgets. 6: feedback.
 */
export const ledgerVersion = 6;

/** How a value is written and stored. A duration is given in milliseconds and stored in whole microseconds. */
export type FieldType = 'text' | 'integer' | 'duration' | 'boolean' | 'json';

/** Who fills a field. */
export type Filler = 'gateway' | 'key' | 'client' | 'config' | 'provider' | 'cache';

/** One field of a row. `Value`: as the program has it. */
export interface LedgerField<Name extends string = string, Value = unknown> {
  /** Its column, and its name in JSON. */
  readonly name: Name;
  readonly type: FieldType;
  /** May it be null? */
  readonly nullable: boolean;
  /** The version that introduced it. */
  readonly since: number;
  readonly unit: string | null;
  readonly filledBy: Filler;
  readonly about: string;
  of(settlement: Settlement): Value;
}

/** A field that each row has for itself, in a slot of so many characters where rows are packed. */
export interface RowField<Name extends string = string, Value = unknown> extends LedgerField<Name, Value> {
  readonly width: number;
}

type FieldOptions = Partial<Pick<LedgerField, 'since' | 'unit' | 'filledBy'>>;

const field =
  <Value>(type: FieldType, nullable: boolean, unit: string | null = null) =>
  <Name extends string>(
    name: Name,
    about: string,
    of: (settlement: Settlement) => Value,
    options: FieldOptions = {},
  ): LedgerField<Name, Value> => ({
    name,
    type,
    nullable,
    since: 1,
    unit,
    filledBy: 'gateway',
    about,
    of,
    ...options,
  });

const text = field<string>('text', false);
const maybeText = field<string | null>('text', true);
const whole = field<number>('integer', false);
const tokens = field<number>('integer', false, 'tokens');
const picodollars = field<number | null>('integer', true, 'picodollars');
const duration = field<number>('duration', false, 'µs');
const maybeDuration = field<number | null>('duration', true, 'µs');
const flag = field<boolean>('boolean', false);
const json = field<Readonly<Record<string, string>>>('json', false);

const slot = <Name extends string, Value>(
  width: number,
  of: LedgerField<Name, Value>,
): RowField<Name, Value> => ({
  ...of,
  width,
});

/**
 * What many requests have in common: organisation, key, model, outcome. A batch has each combination once. New fields
 * go to the end: the order is that of the journal.
 */
export const contextFields = [
  text('org', 'organisation', (s) => s.org, { filledBy: 'key' }),
  maybeText('workspace', 'workspace; null: a key of the organisation', (s) => s.workspace, {
    filledBy: 'key',
  }),
  maybeText('key', 'gateway key', (s) => s.key, { filledBy: 'key' }),
  maybeText('user', 'end user, as metadata `_user` names it', (s) => s.user, {
    since: 3,
    filledBy: 'client',
  }),
  maybeText('provider', 'provider that answered, or was asked last', (s) => s.provider, {
    filledBy: 'config',
  }),
  maybeText('provider_slug', 'slug of the stored provider', (s) => s.slug, { filledBy: 'config' }),
  maybeText(
    'integration',
    'slug of the integration whose credential the stored provider uses; null: it has its own',
    (s) => s.integration,
    {
      since: 3,
      filledBy: 'config',
    },
  ),
  maybeText('model', 'model that answered', (s) => s.modelUsed, { filledBy: 'provider' }),
  maybeText('model_asked', 'model that the client asked for', (s) => s.modelAsked, { filledBy: 'client' }),
  text('endpoint', 'name of the endpoint: `chat`, `embeddings`', (s) => s.endpoint),
  text('method', 'HTTP method', (s) => s.method, { filledBy: 'client' }),
  text('path', 'path of the request, without its query', (s) => s.path, { filledBy: 'client' }),
  whole('status', 'HTTP status that the client got; 499: it had disconnected; 0: unknown', (s) => s.status),
  maybeText('error', 'code of the error that ended it', (s) => s.error),
  flag('stream', 'was a stream asked for?', (s) => s.stream, { filledBy: 'client' }),
  whole('attempt_count', 'calls to providers', (s) => s.attempts.length),
  whole('retries', 'calls that repeated one to the same target', (s) => s.retries),
  maybeText('target', 'path of the target that answered, in the config', (s) => s.target, {
    filledBy: 'config',
  }),
  field<CacheStatus>('text', false)(
    'cache',
    'cache status: DISABLED, HIT, MISS, REFRESH, SEMANTIC HIT, SEMANTIC MISS',
    (s) => s.cache,
    {
      filledBy: 'cache',
    },
  ),
  picodollars('cost_saved', 'what a hit of the cache saved', (s) => s.costSaved, { filledBy: 'cache' }),
  maybeDuration('saved_us', 'upstream time that a hit of the cache saved', (s) => s.msSaved, {
    filledBy: 'cache',
  }),
  maybeText('config', 'slug of the stored config', (s) => s.config, { filledBy: 'config' }),
  maybeText('config_version', 'version of that config', (s) => s.configVersion, { filledBy: 'config' }),
  maybeText('prompt', 'slug of the stored prompt; always null until prompts can be stored', (s) => s.prompt, {
    since: 3,
    filledBy: 'client',
  }),
  field<UsageSource>('text', false)(
    'usage_source',
    'who counted the tokens: provider, counted (by the gateway) or none',
    (s) => s.usage.source,
  ),
  json('metadata', 'metadata of the request', (s) => s.metadata, { filledBy: 'client' }),
] as const;

/** What each request has for itself. The order is that of the journal; another one is another version. */
export const rowFields = [
  slot(
    36,
    text('id', 'id of the request', (s) => s.id),
  ),
  slot(
    13,
    whole('at', 'when it came', (s) => s.at, { unit: 'ms since 1970' }),
  ),
  slot(
    16,
    picodollars('cost', 'cost of all attempts; null: no price is known', (s) => s.cost),
  ),
  slot(
    12,
    tokens('input_tokens', 'input, cached ones included', (s) => s.usage.input, { filledBy: 'provider' }),
  ),
  slot(
    12,
    tokens('output_tokens', 'output, reasoning included', (s) => s.usage.output, { filledBy: 'provider' }),
  ),
  slot(
    12,
    tokens('cached_tokens', "input read from the provider's cache", (s) => s.usage.cached, {
      filledBy: 'provider',
    }),
  ),
  slot(
    12,
    tokens('cache_write_tokens', 'input written to it', (s) => s.usage.cacheWrite, { filledBy: 'provider' }),
  ),
  slot(
    12,
    tokens('reasoning_tokens', 'output that was reasoning', (s) => s.usage.reasoning, {
      filledBy: 'provider',
    }),
  ),
  slot(
    12,
    duration('total_us', 'from the request to the end of its answer', (s) => s.totalMs),
  ),
  slot(
    12,
    duration('upstream_us', 'time in which a provider was waited for', (s) => s.upstreamMs),
  ),
  slot(
    12,
    maybeDuration(
      'first_byte_us',
      'to the first byte of the answer: of a stream, its first token',
      (s) => s.firstByteMs,
    ),
  ),
  slot(
    64,
    maybeText(
      'trace',
      'trace id that the client gave; null: the id',
      (s) => (s.trace === s.id ? null : s.trace),
      {
        filledBy: 'client',
      },
    ),
  ),
] as const;

/** The rest, in the JSON column `rest`; left out where empty. */
export const restFields = [
  maybeText('error_message', 'message of the error', (s) => s.errorMessage),
  field<readonly AttemptRecord[]>('json', false)(
    'attempts',
    'every call to a provider, see below',
    (s) => s.attempts,
  ),
  maybeText('span', 'span id', (s) => s.span, { filledBy: 'client' }),
  maybeText('parent_span', 'id of the span above', (s) => s.parentSpan, { filledBy: 'client' }),
  maybeText('span_name', 'name of the span', (s) => s.spanName, { filledBy: 'client' }),
  maybeText(
    'trace_context',
    "trace id and flags of the call's `traceparent`, where its trace is named otherwise or it is not sampled",
    (s) => s.traceContext,
    { since: 6, filledBy: 'client' },
  ),
  field<Settlement['dropped']>('json', false)(
    'dropped',
    'fields that the provider could not be sent',
    (s) => s.dropped,
  ),
  field<Settlement['route']>('json', true)(
    'route',
    'decisions on the way through the config',
    (s) => s.route,
  ),
  field<Settlement['stages']>('json', true)(
    'stages',
    'fields of stages, by the name of the stage',
    (s) => s.stages,
    {
      since: 3,
    },
  ),
  field<Settlement['usage']['kinds'] | null>('json', true)(
    'usage_kinds',
    'what is billed apart, of the tokens or by other units: cacheWriteHour, audioInput, audioCached, audioOutput, imageInput, imageCached, imageOutput, seconds, characters, searches; and the tier (batch, flex, priority)',
    (s) => s.usage.kinds ?? null,
    { since: 4, filledBy: 'provider' },
  ),
  field<Settlement['charges']>('json', true)(
    'charges',
    'what it adds to budgets, each `[budget, start and end of the period, limit, threshold, amount]`; cost in nanodollars',
    (s) => s.charges,
    { since: 5 },
  ),
  field<Settlement['steps']>('json', true)(
    'steps',
    "`[µs for reading the request's body, from the start to the cache lookup, for that lookup, for reading and converting the answer]`; 0: the step did not run",
    (s) => s.steps,
    { since: 6 },
  ),
] as const;

/** One of `rest.attempts`; what is null is left out, and of a single attempt what the row has: slugs, usage and cost. */
export const attemptFields = [
  'target',
  'slug',
  'integration',
  'provider',
  'model',
  'started_us',
  'status',
  'error',
  'duration_us',
  'cost',
  'usage',
] as const;

/** What all rows of a journal file have in common: the first line of the file has it. */
export const fileFields = [
  // Lines do not have it: it is only read from stored rows.
  maybeText('node_id', 'node that served the request', (row) => (row as LedgerRow).node, { since: 4 }),
] as const;

/** Columns of a row as the program has their values. */
export type Columns<Fields extends readonly LedgerField[]> = {
  readonly [F in Fields[number] as F['name']]: F extends LedgerField<string, infer Value> ? Value : never;
};
export type ContextColumns = Columns<typeof contextFields>;
export type RowColumns = Columns<typeof rowFields>;
export type FileColumns = Columns<typeof fileFields>;

/** All that have a column of their own, in the order of the columns. */
export const columnFields: readonly LedgerField[] = [...rowFields, ...contextFields, ...fileFields];
