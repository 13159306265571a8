import type { Charge } from '../core/charges.js';
import type { AttemptRecord } from '../core/exchange.js';
import type { Usage } from '../core/usage.js';
import { contextFields, type LedgerField, ledgerVersion, rowFields } from './fields.js';
import { intentFields } from './intent-fields.js';
import { asciiJson, type LineWriter } from './line-writer.js';
import type { Intent, Settlement, StepTimes } from './record.js';

/**
 * Lines of the journal: a letter for the kind of record, and JSON in ASCII, so that a text's length is its size in bytes.
 * A torn line is never read as a record: no proper prefix of a JSON array is JSON.
 *
 * `S[[context …],row …,{rest}]`: the fields of a settlement, in the order of the table. After the array follows its length,
 * and after a comma where the row's own fields begin, if its id and its trace fit their slots unescaped. So a reader need not
 * parse the line, not even to find out whether it is whole: a torn line followed by another is longer than the length of
 * the other.
 */
export const kinds = { header: 0x48, intent: 0x49, settlement: 0x53 } as const;

/** The first line of a file: the version of its lines, the process that writes it, and its node. */
export const headerLine = (identity: string, node: string | null = null): string =>
  `H[${ledgerVersion},${asciiJson(identity)},${asciiJson(node)}]\n`;

const idField = rowFields.find(({ name }) => name === 'id')!;
const traceField = rowFields.find(({ name }) => name === 'trace')!;

export function writeIntent(to: LineWriter, intent: Intent): void {
  to.raw('I[');
  for (let i = 0; i < intentFields.length; i++) {
    if (i > 0) to.comma();
    const value = intent[intentFields[i]!];
    if (typeof value === 'number') to.number(value);
    else to.text(value);
  }
  if (intent.charges !== null) {
    to.comma();
    writeCharges(to, intent.charges);
  }
  to.raw(']\n');
}

export function writeSettlement(to: LineWriter, s: Settlement): void {
  to.raw('S');
  const start = to.used;
  to.raw('[[');
  for (let i = 0; i < contextFields.length; i++) {
    if (i > 0) to.comma();
    writeValue(to, contextFields[i]!, s);
  }
  to.raw(']');
  const row = to.used - start + 1;
  let fits = true;
  for (let i = 0; i < rowFields.length; i++) {
    to.comma();
    const field = rowFields[i]!;
    const before = to.used;
    writeValue(to, field, s);
    if (field === idField) fits = to.used - before === field.width + 2 && s.id.length === field.width;
    if (field === traceField && s.trace !== s.id)
      fits &&= fitsSlot(s.trace, to.used - before - 2, field.width);
  }
  to.raw(',{');
  writeRest(to, s);
  to.raw('}]');
  if (fits) {
    to.number(to.used - start);
    to.comma();
    to.number(row);
  }
  to.raw('\n');
}

/** `written`: its length as JSON. A slot is filled up with spaces, so a text must not end in one. */
const fitsSlot = (text: string, written: number, width: number): boolean =>
  text.length > 0 && text.length === written && written <= width && !text.endsWith(' ');

function writeValue(to: LineWriter, field: LedgerField, s: Settlement): void {
  const value = field.of(s);
  switch (field.type) {
    case 'text':
      return to.text(value as string | null);
    case 'integer':
      return to.number(value as number | null);
    case 'duration':
      return to.number(micros(value as number | null));
    case 'boolean':
      return to.raw(value === true ? '1' : '0');
    case 'json':
      return to.raw(isEmpty(value as object) ? '{}' : asciiJson(value));
  }
}

const micros = (ms: number | null): number | null => (ms === null ? null : Math.round(ms * 1000));

const isEmpty = (value: object): boolean => {
  for (const _ in value) return false;
  return true;
};

/** The same as `restOf`, without making the object. */
function writeRest(to: LineWriter, s: Settlement): void {
  to.raw('"attempts":[');
  const { attempts } = s;
  for (let i = 0; i < attempts.length; i++) {
    if (i > 0) to.comma();
    writeAttempt(to, attempts[i]!, attempts.length > 1);
  }
  to.raw(']');
  writeText(to, ',"error_message":', s.errorMessage);
  writeText(to, ',"span":', s.span);
  writeText(to, ',"parent_span":', s.parentSpan);
  writeText(to, ',"span_name":', s.spanName);
  writeText(to, ',"trace_context":', s.traceContext);
  if (s.dropped.length > 0) writeJson(to, ',"dropped":', s.dropped);
  if (s.route !== null && s.route.length > 0) writeJson(to, ',"route":', s.route);
  if (s.stages !== null) writeJson(to, ',"stages":', s.stages);
  if (s.usage.kinds !== undefined) writeJson(to, ',"usage_kinds":', s.usage.kinds);
  if (s.charges !== null && s.charges.length > 0) {
    to.raw(',"charges":');
    writeCharges(to, s.charges);
  }
  if (s.steps !== null) writeSteps(to, s.steps);
}

function writeSteps(to: LineWriter, [body, cacheStart, cache, answer]: StepTimes): void {
  to.raw(',"steps":[');
  to.number(body);
  to.comma();
  to.number(cacheStart);
  to.comma();
  to.number(cache);
  to.comma();
  to.number(answer);
  to.raw(']');
}

function writeCharges(to: LineWriter, charges: readonly Charge[]): void {
  for (let i = 0; i < charges.length; i++) {
    const charge = charges[i]!;
    to.raw(i === 0 ? '[' : ',');
    to.raw(chargeStart(charge));
    to.number(charge[5]);
    to.raw(']');
  }
  to.raw(charges.length === 0 ? '[]' : ']');
}

interface ChargeStart {
  readonly charge: Charge;
  readonly text: string;
}

/** By budget. All but the amount is the same in the intent and the settlement of a request, and mostly in the next one. */
const chargeStarts = new Map<string, ChargeStart>();
const maxChargeStarts = 512;
/** Characters of a budget's name; value keys may be long. */
const longestKept = 512;

/** A charge as JSON up to its amount. */
function chargeStart(charge: Charge): string {
  const [budget, startsAt, endsAt, limit, threshold] = charge;
  const known = chargeStarts.get(budget);
  if (
    known !== undefined &&
    known.charge[1] === startsAt &&
    known.charge[2] === endsAt &&
    known.charge[3] === limit &&
    known.charge[4] === threshold
  ) {
    return known.text;
  }
  const text = `${asciiJson([budget, startsAt, endsAt, limit, threshold]).slice(0, -1)},`;
  if (budget.length <= longestKept) {
    if (chargeStarts.size >= maxChargeStarts) chargeStarts.clear();
    chargeStarts.set(budget, { charge, text });
  }
  return text;
}

/** `isOneOf`: there are others, so that it has what is the row's otherwise. */
function writeAttempt(to: LineWriter, attempt: AttemptRecord, isOneOf: boolean): void {
  to.raw('{"target":');
  to.text(attempt.target);
  if (isOneOf) {
    writeText(to, ',"slug":', attempt.slug);
    writeText(to, ',"integration":', attempt.integration);
  }
  writeText(to, ',"provider":', attempt.provider);
  writeText(to, ',"model":', attempt.model);
  to.raw(',"started_us":');
  to.number(micros(attempt.startedAt));
  to.raw(',"status":');
  to.number(attempt.status);
  writeText(to, ',"error":', attempt.error);
  to.raw(',"duration_us":');
  to.number(micros(attempt.durationMs));
  if (isOneOf && attempt.cost !== null) {
    to.raw(',"cost":');
    to.number(attempt.cost);
  }
  if (isOneOf && attempt.usage !== null) writeUsage(to, attempt.usage);
  to.raw('}');
}

function writeUsage(to: LineWriter, usage: Usage): void {
  to.raw(',"usage":{"input":');
  to.number(usage.input);
  to.raw(',"output":');
  to.number(usage.output);
  to.raw(',"cached":');
  to.number(usage.cached);
  to.raw(',"cache_write":');
  to.number(usage.cacheWrite);
  to.raw(',"reasoning":');
  to.number(usage.reasoning);
  to.raw(',"source":');
  to.text(usage.source);
  if (usage.kinds !== undefined) writeJson(to, ',"kinds":', usage.kinds);
  to.raw('}');
}

function writeText(to: LineWriter, name: string, text: string | null): void {
  if (text === null) return;
  to.raw(name);
  to.text(text);
}

function writeJson(to: LineWriter, name: string, value: object): void {
  to.raw(name);
  to.raw(asciiJson(value));
}
