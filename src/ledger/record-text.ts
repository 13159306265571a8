import type { CacheStatus } from '../core/cache.js';
import type { Decision } from '../core/decision.js';
import type { AttemptRecord } from '../core/exchange.js';
import type { Usage, UsageSource } from '../core/usage.js';
import { asciiJson, type LineWriter } from './line-writer.js';
import type { Intent, LedgerRow, RowState, Settlement } from './record.js';
import { head, idLength, maxTraceLength } from './settlements.js';

/**
 * Text of the journal: one record a line, a letter for its kind and a JSON array. Positions instead of names make a
 * line half as long, and every byte of it is paid for four times: built, written, read and stored.
 * A new field goes to the end; a position, once given, is never given again.
 *
 * All of it is ASCII, so that a text's length is its size in bytes. A torn line is never taken for a record: no
 * proper prefix of a JSON array is JSON.
 *
 * Behind a plain settlement's array (see `head`) stands its length, and, where its trace is not its id, a comma and how
 * far behind its `[` that begins. So whoever reads it need not parse it, not even to know that it is whole: a torn line
 * that another follows is longer than the other's length.
 */
export const kinds = { header: 0x48, intent: 0x49, settlement: 0x53 } as const;

const isEmpty = (value: object): boolean => {
  for (const _ in value) return false;
  return true;
};

export function writeIntent(to: LineWriter, i: Intent): void {
  to.raw('I[');
  to.text(i.id);
  to.comma();
  to.number(i.at);
  to.comma();
  to.text(i.org);
  to.comma();
  to.text(i.workspace);
  to.comma();
  to.text(i.key);
  to.comma();
  to.text(i.provider);
  to.comma();
  to.text(i.model);
  to.comma();
  to.number(i.reserved);
  to.comma();
  to.text(i.trace);
  to.comma();
  to.text(i.config);
  to.comma();
  to.text(i.endpoint);
  to.comma();
  to.text(i.method);
  to.comma();
  to.text(i.path);
  to.raw(']\n');
}

export function writeSettlement(to: LineWriter, s: Settlement): void {
  to.raw('S');
  const start = to.used;
  to.raw('[');
  to.text(s.id);
  to.comma();
  to.number(s.at);
  to.comma();
  to.text(s.org);
  to.comma();
  to.text(s.workspace);
  to.comma();
  to.text(s.key);
  to.comma();
  const rest = to.used - start;
  to.text(s.provider);
  to.comma();
  to.text(s.modelUsed);
  to.comma();
  to.number(s.status);
  to.comma();
  const trace = to.used - start + 1;
  to.text(s.trace);
  const afterTrace = to.used - start;
  to.comma();
  to.number(s.cost);
  to.comma();
  writeUsage(to, s.usage);
  to.comma();
  to.text(s.config);
  to.comma();
  to.text(s.configVersion);
  to.comma();
  to.text(s.endpoint);
  to.comma();
  to.text(s.method);
  to.comma();
  to.text(s.path);
  to.comma();
  to.text(s.modelAsked);
  to.comma();
  to.text(s.error);
  to.comma();
  to.text(s.errorMessage);
  to.raw(s.stream ? ',1,' : ',0,');
  to.milliseconds(s.totalMs);
  to.comma();
  to.milliseconds(s.upstreamMs);
  to.comma();
  to.milliseconds(s.firstByteMs);
  to.raw(',[');
  writeAttempts(to, s.attempts);
  to.raw('],');
  to.number(s.retries);
  to.comma();
  to.text(s.target);
  to.comma();
  to.text(s.cache);
  to.comma();
  to.raw(isEmpty(s.metadata) ? '{}' : asciiJson(s.metadata));
  to.comma();
  to.text(s.span);
  to.comma();
  to.text(s.parentSpan);
  to.comma();
  to.text(s.spanName);
  to.comma();
  to.raw(s.dropped.length === 0 ? '[]' : asciiJson(s.dropped));
  if (s.msSaved === null) to.raw(',null,null');
  else {
    to.comma();
    to.number(s.costSaved);
    to.comma();
    to.milliseconds(s.msSaved);
  }
  if (s.route !== null && s.route.length > 0) {
    to.comma();
    to.raw(asciiJson(s.route));
  }
  to.raw(']');
  if (rest === head.rest && hasPlainTexts(s) && afterTrace === trace + s.trace.length + 1) {
    to.number(to.used - start);
    if (s.trace !== s.id) {
      to.comma();
      to.number(trace);
    }
  }
  to.raw('\n');
}

/** With the whole head as long as a plain one's, nothing in it is escaped. */
const hasPlainTexts = ({ id, org, workspace, key, trace }: Settlement): boolean =>
  id.length === idLength &&
  org.length === idLength &&
  workspace?.length === idLength &&
  key?.length === idLength &&
  trace.length <= maxTraceLength;

function writeUsage(to: LineWriter, usage: Usage): void {
  to.number(usage.input);
  to.comma();
  to.number(usage.output);
  to.comma();
  to.number(usage.cached);
  to.comma();
  to.number(usage.cacheWrite);
  to.comma();
  to.number(usage.reasoning);
  to.comma();
  to.text(usage.source);
}

/** What each of several used stands with it; of a single one it is what the whole exchange used. */
function writeAttempts(to: LineWriter, attempts: readonly AttemptRecord[]): void {
  for (let i = 0; i < attempts.length; i++) {
    const attempt = attempts[i]!;
    to.raw(i === 0 ? '[' : ',[');
    to.text(attempt.target);
    to.comma();
    to.text(attempt.provider);
    to.comma();
    to.text(attempt.model);
    to.comma();
    to.milliseconds(attempt.startedAt);
    to.comma();
    to.number(attempt.status);
    to.comma();
    to.text(attempt.error);
    to.comma();
    to.milliseconds(attempt.durationMs);
    if (attempts.length > 1 && attempt.usage !== null) {
      to.comma();
      to.number(attempt.cost);
      to.comma();
      writeUsage(to, attempt.usage);
    }
    to.raw(']');
  }
}

/** Where the columns that one filters by stand in a settlement's array. */
export const at = { id: 0, at: 1, org: 2, workspace: 3, key: 4, trace: 8 } as const;

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

type UsageFields = [
  input: number,
  output: number,
  cached: number,
  cacheWrite: number,
  reasoning: number,
  source: UsageSource,
];

type AttemptFields = [
  target: string,
  provider: string,
  model: string | null,
  startedAt: number,
  status: number,
  error: AttemptRecord['error'],
  durationMs: number,
  cost?: number | null,
  ...usage: UsageFields | [],
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
  ...usage: UsageFields,
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
  cache: CacheStatus,
  metadata: Record<string, string>,
  span: string | null,
  parentSpan: string | null,
  spanName: string | null,
  dropped: string[],
  costSaved?: number | null,
  msSaved?: number | null,
  route?: Decision[],
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
    null,
    null,
  ];
  return asciiJson(row);
}

/** A stored row back from its JSON text. */
export function rowFromText(text: string, state: RowState): LedgerRow {
  const f = JSON.parse(text) as SettlementFields;
  const cost = f[9];
  const usage = usageOf(f.slice(10, 16) as UsageFields);
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
    cost,
    usage,
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
    attempts: f[28].map((fields) => attemptOf(fields, f[28].length > 1 ? null : { cost, usage })),
    retries: f[29],
    target: f[30],
    cache: f[31],
    metadata: f[32],
    span: f[33],
    parentSpan: f[34],
    spanName: f[35],
    dropped: f[36],
    costSaved: f[37] ?? null,
    msSaved: f[38] ?? null,
    route: f[39] ?? null,
  };
}

/** `whole`: of the exchange, where this was its only attempt. */
function attemptOf(
  [target, provider, model, startedAt, status, error, durationMs, ownCost, ...own]: AttemptFields,
  whole: (Pick<AttemptRecord, 'cost'> & { readonly usage: Usage }) | null,
): AttemptRecord {
  const attempt = { target, provider, model, startedAt, status, error, durationMs };
  if (whole === null) {
    return { ...attempt, cost: ownCost ?? null, usage: own.length === 0 ? null : usageOf(own) };
  }
  return { ...attempt, cost: whole.cost, usage: whole.usage.source === 'none' ? null : whole.usage };
}

function usageOf([input, output, cached, cacheWrite, reasoning, source]: UsageFields): Usage {
  return { input, output, cached, cacheWrite, reasoning, source };
}
