import { type Amount, parseAmount } from './amounts.js';

/** Whose export it is: which columns it has, and which calls of the gateway it is compared with. */
export type ExportKind = 'openai' | 'anthropic' | 'generic';

export const exportKinds: readonly ExportKind[] = ['openai', 'anthropic', 'generic'];

/** Usage of one day, key and model, as a line of an export has it. Several lines may be about the same. */
export interface UsageLine {
  /** UTC: 2026-10-07. */
  readonly day: string;
  readonly key: string | null;
  readonly model: string | null;
  /** null: the export has no tokens. */
  readonly input: number | null;
  readonly output: number | null;
  /** null: the export has no costs. */
  readonly cost: Amount | null;
}

/** Fields of a line by their names; empty text and null: none. */
type Fields = Readonly<Record<string, unknown>>;

/** Throws an Error that names what is wrong with the line. `day`: of the bucket that the line is in. */
type ReadLine = (fields: Fields, day: string | null) => UsageLine | null;

interface Shape {
  readonly kind: ExportKind;
  /** Names that only lines of this shape have. */
  readonly names: readonly string[];
  readonly read: ReadLine;
}

/** Nothing of this is compared. */
const isEmpty = (value: unknown): boolean =>
  value === undefined || value === null || (typeof value === 'string' && value.trim() === '');

const textOf = (fields: Fields, ...names: readonly string[]): string | null => {
  for (const name of names) {
    const value = fields[name];
    if (typeof value === 'string' && value.trim() !== '') return value.trim();
    if (typeof value === 'number') return String(value);
  }
  return null;
};

function tokens(fields: Fields, ...names: readonly string[]): number {
  let sum = 0;
  for (const name of names) {
    const value = fields[name];
    if (isEmpty(value)) continue;
    const count = typeof value === 'number' ? value : wholeOf(value);
    if (!Number.isSafeInteger(count) || count < 0)
      throw new Error(`${name} is no number of tokens: ${short(value)}`);
    sum += count;
  }
  return sum;
}

/** A spreadsheet's `1.2E+06` has lost its last digits; `120.0` has all of them. */
const wholeOf = (value: unknown): number =>
  typeof value === 'string' && /^\d+(\.0+)?$/.test(value.trim()) ? Number(value) : Number.NaN;

function amount(fields: Fields, name: string): Amount {
  const given = fields[name];
  const value = parseAmount(isEmpty(given) ? '0' : (textOf(fields, name) ?? ''));
  if (value === null) throw new Error(`${name} is no amount: ${short(given)}`);
  return value;
}

const short = (value: unknown): string => JSON.stringify(String(value).slice(0, 40));

const time = /^(\d{4}-\d{2}-\d{2})(?:[T ](\d{2}:\d{2}(?::\d{2}(?:\.\d+)?)?) ?(Z|UTC|[+-]\d{2}:?\d{2})?)?$/i;

/**
 * A day as it is, or that of a time: `2026-10-07`, `2026-10-07T00:00:00Z`, or Unix seconds. One without a zone is in UTC, as
 * the days of exports are, wherever this runs.
 */
export function dayOf(text: string): string {
  const [, date, clock = '00:00', zone = 'Z'] = time.exec(text) ?? [];
  const isUtc = /^(Z|UTC)$/i.test(zone);
  const at = /^\d{9,11}$/.test(text)
    ? Number(text) * 1000
    : isDate(date)
      ? Date.parse(`${date}T${clock}${isUtc ? 'Z' : zone}`)
      : Number.NaN;
  if (Number.isNaN(at)) throw new Error(`has no day but ${short(text)}`);
  return new Date(at).toISOString().slice(0, 10);
}

/** Date takes the 30th of February for the 2nd of March. */
function isDate(date: string | undefined): boolean {
  const at = date === undefined ? Number.NaN : Date.parse(`${date}T00:00Z`);
  return !Number.isNaN(at) && new Date(at).toISOString().slice(0, 10) === date;
}

function dayIn(fields: Fields, day: string | null, ...names: readonly string[]): string {
  const text = textOf(fields, ...names);
  if (text !== null) return dayOf(text);
  if (day !== null) return day;
  throw new Error(`has no ${names.join(' and no ')}`);
}

/** Names of models as people read them: `Claude Haiku 4.5`. */
const asId = (name: string | null): string | null =>
  name === null || !/ /.test(name) ? name : name.trim().toLowerCase().replace(/[ .]+/g, '-');

const dollars = (currency: string | null): void => {
  if (currency !== null && currency.toLowerCase() !== 'usd')
    throw new Error(`is in ${short(currency)}: amounts are compared in US dollars`);
};

/** `gpt-4o-2024-08-06, input` is a part of what the model costs. */
const modelOfItem = (item: string | null): string | null =>
  item === null ? null : item.replace(/, [^,]*$/, '');

const isNothing = (...values: readonly (number | bigint)[]): boolean =>
  values.every((value) => Number(value) === 0);

/** Every shape of a line that is read; the first whose names are all there. Docs: docs/reconciliation.md. */
const shapes: readonly Shape[] = [
  {
    kind: 'openai',
    names: ['amount_value', 'line_item'],
    read(fields, day) {
      const value = textOf(fields, 'amount_value');
      // Days without any cost have a line without anything.
      if (value === null) return null;
      dollars(textOf(fields, 'amount_currency'));
      return {
        day: dayIn(fields, day, 'start_time_iso', 'start_time'),
        key: textOf(fields, 'api_key_id', 'project_id'),
        model: modelOfItem(textOf(fields, 'line_item')),
        input: null,
        output: null,
        cost: amount(fields, 'amount_value'),
      };
    },
  },
  {
    kind: 'openai',
    names: ['num_model_requests'],
    read(fields, day) {
      const input = tokens(fields, 'input_tokens');
      const output = tokens(fields, 'output_tokens');
      if (isNothing(input, output) && textOf(fields, 'model') === null) return null;
      return {
        day: dayIn(fields, day, 'start_time_iso', 'start_time'),
        key: textOf(fields, 'api_key_id', 'project_id'),
        model: textOf(fields, 'model'),
        input,
        output,
        cost: null,
      };
    },
  },
  {
    kind: 'anthropic',
    names: ['usage_date_utc', 'usage_output_tokens'],
    read: (fields, day) => ({
      day: dayIn(fields, day, 'usage_date_utc'),
      key: textOf(fields, 'api_key', 'workspace'),
      model: textOf(fields, 'model_version'),
      input: tokens(
        fields,
        'usage_input_tokens_no_cache',
        'usage_input_tokens_cache_write',
        'usage_input_tokens_cache_write_5m',
        'usage_input_tokens_cache_write_1h',
        'usage_input_tokens_cache_read',
      ),
      output: tokens(fields, 'usage_output_tokens'),
      cost: null,
    }),
  },
  {
    kind: 'anthropic',
    names: ['usage_date_utc', 'cost_usd'],
    read: (fields, day) => ({
      day: dayIn(fields, day, 'usage_date_utc'),
      key: textOf(fields, 'api_key', 'workspace'),
      model: asId(textOf(fields, 'model')),
      input: null,
      output: null,
      cost: amount(fields, 'cost_usd'),
    }),
  },
  {
    kind: 'anthropic',
    names: ['uncached_input_tokens'],
    read(fields, day) {
      const written = (fields['cache_creation'] ?? {}) as Fields;
      return {
        day: dayIn(fields, day, 'starting_at'),
        key: textOf(fields, 'api_key_id', 'workspace_id'),
        model: textOf(fields, 'model'),
        input:
          tokens(fields, 'uncached_input_tokens', 'cache_read_input_tokens') +
          tokens(written, 'ephemeral_5m_input_tokens', 'ephemeral_1h_input_tokens'),
        output: tokens(fields, 'output_tokens'),
        cost: null,
      };
    },
  },
  {
    kind: 'anthropic',
    names: ['amount', 'currency', 'cost_type'],
    read(fields, day) {
      dollars(textOf(fields, 'currency'));
      return {
        day: dayIn(fields, day, 'starting_at'),
        key: textOf(fields, 'workspace_id'),
        model: textOf(fields, 'model'),
        input: null,
        output: null,
        // In cents.
        cost: amount(fields, 'amount') / 100n,
      };
    },
  },
  {
    kind: 'generic',
    names: ['date', 'model', 'key', 'input_tokens', 'output_tokens', 'cost_usd'],
    read: (fields, day) => ({
      day: dayIn(fields, day, 'date'),
      key: textOf(fields, 'key'),
      model: textOf(fields, 'model'),
      input: isEmpty(fields['input_tokens']) ? null : tokens(fields, 'input_tokens'),
      output: isEmpty(fields['output_tokens']) ? null : tokens(fields, 'output_tokens'),
      cost: isEmpty(fields['cost_usd']) ? null : amount(fields, 'cost_usd'),
    }),
  },
];

/** The shape of lines with these names. Throws an Error that names what was expected. */
export function shapeOf(kind: ExportKind, names: readonly string[]): ReadLine {
  const given = new Set(names);
  const shape = shapes.find((one) => one.kind === kind && one.names.every((name) => given.has(name)));
  if (shape !== undefined) return shape.read;
  const known = shapes.filter((one) => one.kind === kind).map((one) => one.names.join(', '));
  const other = shapes.find((one) => one.names.every((name) => given.has(name)));
  throw new Error(
    `is no export of ${kind}: it needs the columns ${known.join('; or ')}${
      other === undefined ? '' : `; it looks like one of ${other.kind}`
    }`,
  );
}

/** OpenAI's costs over its API have the amount in an object. */
export const flat = (fields: Fields): Fields => {
  const given = fields['amount'];
  if (typeof given !== 'object' || given === null) return fields;
  const { value, currency } = given as Fields;
  return { ...fields, amount_value: value, amount_currency: currency };
};
