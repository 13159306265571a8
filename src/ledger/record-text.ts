import type { Attempt } from '../core/exchange.js';
import type { UsageSource } from '../core/usage.js';
import type { Intent, LedgerRow, RowState, Settlement } from './record.js';

/**
 * Text of the journal: one record a line, a letter for its kind and a JSON array. Positions instead of names make a
 * line half as long, and every byte of it is paid for four times: built, written, read and stored.
 * A new field goes to the end; a position, once given, is never given again.
 *
 * All of it is ASCII, so that a text's length is its size in bytes. A torn line is never taken for a record: no
 * proper prefix of a JSON array is JSON.
 */
export const kinds = { header: 0x48, intent: 0x49, settlement: 0x53 } as const;

const needsQuoting = /[^\x20\x21\x23-\x5b\x5d-\x7e]/;
// biome-ignore lint/suspicious/noControlCharactersInRegex: everything beyond ASCII, which JSON.stringify leaves as it is.
const beyondAscii = /[^\x00-\x7f]/g;

const escapeUnit = (unit: string): string => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`;

/** A JSON string (or any JSON text) in ASCII. */
export const asciiJson = (value: unknown): string => JSON.stringify(value).replace(beyondAscii, escapeUnit);

const quoted = (text: string): string => (needsQuoting.test(text) ? asciiJson(text) : `"${text}"`);

/** The few values that nearly every record repeats (ids of tenants, models, paths) are quoted once. */
const known = new Map<string, string>();
const maxKnown = 4096;

function repeated(text: string | null): string {
  if (text === null) return 'null';
  let found = known.get(text);
  if (found === undefined) {
    found = quoted(text);
    if (known.size >= maxKnown) known.clear();
    // A long one-off (a path with an id in it) would only push the others out.
    if (text.length <= 64) known.set(text, found);
  }
  return found;
}

const once = (text: string | null): string => (text === null ? 'null' : quoted(text));

/** JSON has no NaN or Infinity, and one of them would spoil the whole batch it is read in. */
const number = (value: number | null): string =>
  value !== null && Number.isFinite(value) ? String(value) : 'null';

const isEmpty = (value: object): boolean => {
  for (const _ in value) return false;
  return true;
};

export function intentText(i: Intent): string {
  return `I[${once(i.id)},${number(i.at)},${repeated(i.org)},${repeated(i.workspace)},${repeated(i.key)},${repeated(
    i.provider,
  )},${repeated(i.model)},${number(i.reserved)},${once(i.trace)},${repeated(i.config)},${repeated(
    i.endpoint,
  )},${repeated(i.method)},${repeated(i.path)}]\n`;
}

export function settlementText(s: Settlement): string {
  const { usage } = s;
  let attempts = '';
  for (const a of s.attempts) {
    attempts += `${attempts === '' ? '[' : ',['}${repeated(a.target)},${repeated(a.provider)},${repeated(
      a.model,
    )},${number(a.startedAt)},${number(a.status)},${repeated(a.error)},${number(a.durationMs)}]`;
  }
  return `S[${once(s.id)},${number(s.at)},${repeated(s.org)},${repeated(s.workspace)},${repeated(s.key)},${repeated(
    s.provider,
  )},${repeated(s.modelUsed)},${number(s.status)},${once(s.trace)},${number(s.cost)},${number(usage.input)},${number(
    usage.output,
  )},${number(usage.cached)},${number(usage.cacheWrite)},${number(usage.reasoning)},${repeated(
    usage.source,
  )},${repeated(s.config)},${repeated(s.configVersion)},${repeated(s.endpoint)},${repeated(s.method)},${repeated(
    s.path,
  )},${repeated(s.modelAsked)},${repeated(s.error)},${once(s.errorMessage)},${s.stream ? 1 : 0},${number(
    s.totalMs,
  )},${number(s.upstreamMs)},${number(s.firstByteMs)},[${attempts}],${number(s.retries)},${repeated(
    s.target,
  )},${repeated(s.cache)},${isEmpty(s.metadata) ? '{}' : asciiJson(s.metadata)},${once(s.span)},${once(
    s.parentSpan,
  )},${once(s.spanName)},${s.dropped.length === 0 ? '[]' : asciiJson(s.dropped)}]\n`;
}

/** Where the columns that one filters by stand in a settlement's array. */
export const at = {
  id: 0,
  at: 1,
  org: 2,
  workspace: 3,
  key: 4,
  provider: 5,
  modelUsed: 6,
  status: 7,
  trace: 8,
  cost: 9,
  input: 10,
  output: 11,
  modelAsked: 21,
} as const;

type IntentFields = [
  id: string,
  at: number,
  org: string,
  workspace: string,
  key: string,
  provider: string,
  model: string | null,
  reserved: number | null,
  trace: string,
  config: string | null,
  endpoint: string,
  method: string,
  path: string,
];

type AttemptFields = [
  target: string,
  provider: string,
  model: string | null,
  startedAt: number,
  status: number,
  error: Attempt['error'],
  durationMs: number,
];

type SettlementFields = [
  id: string,
  at: number,
  org: string,
  workspace: string | null,
  key: string | null,
  provider: string | null,
  modelUsed: string | null,
  status: number,
  trace: string,
  cost: number | null,
  input: number,
  output: number,
  cached: number,
  cacheWrite: number,
  reasoning: number,
  source: UsageSource,
  config: string | null,
  configVersion: string | null,
  endpoint: string,
  method: string,
  path: string,
  modelAsked: string | null,
  error: string | null,
  errorMessage: string | null,
  stream: 0 | 1,
  totalMs: number,
  upstreamMs: number,
  firstByteMs: number | null,
  attempts: AttemptFields[],
  retries: number,
  target: string | null,
  cache: string,
  metadata: Record<string, string>,
  span: string | null,
  parentSpan: string | null,
  spanName: string | null,
  dropped: string[],
];

/** JSON of an intent's array to the JSON of the row it becomes when no settlement ever came. Throws on a torn text. */
export function unknownRowText(intent: string): string {
  const i = JSON.parse(intent) as IntentFields;
  const row: SettlementFields = [
    i[0],
    i[1],
    i[2],
    i[3] === '' ? null : i[3],
    i[4],
    i[5],
    i[6],
    0,
    i[8],
    i[7],
    0,
    0,
    0,
    0,
    0,
    'none',
    i[9],
    null,
    i[10],
    i[11],
    i[12],
    i[6],
    null,
    null,
    0,
    0,
    0,
    null,
    [],
    0,
    null,
    'DISABLED',
    {},
    null,
    null,
    null,
    [],
  ];
  return asciiJson(row);
}

/** A stored row back from its JSON text. */
export function rowFromText(text: string, state: RowState): LedgerRow {
  const f = JSON.parse(text) as SettlementFields;
  return {
    state,
    id: f[0],
    at: f[1],
    org: f[2],
    workspace: f[3],
    key: f[4],
    provider: f[5],
    modelUsed: f[6],
    status: f[7],
    trace: f[8],
    cost: f[9],
    usage: {
      input: f[10],
      output: f[11],
      cached: f[12],
      cacheWrite: f[13],
      reasoning: f[14],
      source: f[15],
    },
    config: f[16],
    configVersion: f[17],
    endpoint: f[18],
    method: f[19],
    path: f[20],
    modelAsked: f[21],
    error: f[22],
    errorMessage: f[23],
    stream: f[24] === 1,
    totalMs: f[25],
    upstreamMs: f[26],
    firstByteMs: f[27],
    attempts: f[28].map(([target, provider, model, startedAt, status, error, durationMs]) => ({
      target,
      provider,
      model,
      startedAt,
      status,
      error,
      durationMs,
    })),
    retries: f[29],
    target: f[30],
    cache: f[31],
    metadata: f[32],
    span: f[33],
    parentSpan: f[34],
    spanName: f[35],
    dropped: f[36],
  };
}
