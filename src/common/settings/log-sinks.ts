import { Ajv } from 'ajv';

/** Where rows of requests are sent as they come in: `log_sinks`. */
export interface LogSinkSettings {
  readonly type: 'http' | 'clickhouse' | 's3';
  /** Distinguishes sinks of one type and address: their places in the ledger are kept by it. */
  readonly name?: string;
  /** http, clickhouse: an http or https URL. s3: `s3://bucket/prefix`. */
  readonly url: string;
  readonly headers?: Readonly<Record<string, string>>;
  /** Also the bodies of requests and answers? */
  readonly bodies?: boolean;
  /** Rows of a batch, at most. */
  readonly batch_rows?: number;
  /** A batch that is not full is sent after so many milliseconds. */
  readonly batch_ms?: number;
}

const urlOf = (pattern: string) => ({ type: 'string', maxLength: 2048, pattern });

const schema = {
  type: 'array',
  maxItems: 10,
  items: {
    type: 'object',
    required: ['type', 'url'],
    additionalProperties: false,
    properties: {
      type: { enum: ['http', 'clickhouse', 's3'] },
      name: { type: 'string', pattern: '^[A-Za-z0-9._-]{1,64}$' },
      url: { type: 'string' },
      headers: {
        type: 'object',
        maxProperties: 50,
        propertyNames: { pattern: "^[A-Za-z0-9!#$%&'*+.^_`|~-]+$" },
        additionalProperties: { type: 'string', pattern: '^[\\t\\x20-\\x7e]*$', maxLength: 8192 },
      },
      bodies: { type: 'boolean' },
      batch_rows: { type: 'integer', minimum: 1, maximum: 10_000 },
      batch_ms: { type: 'integer', minimum: 50, maximum: 600_000 },
    },
    if: { properties: { type: { const: 's3' } } },
    // biome-ignore lint/suspicious/noThenProperty: a keyword of JSON Schema
    then: { properties: { url: urlOf('^s3://[a-z0-9][a-z0-9.-]{1,61}[a-z0-9](/[^?#]*)?$') } },
    else: { properties: { url: urlOf('^https?://[^\\s@/?#]+([/?][^\\s#]*)?$') } },
  },
} as const;

/** Throws a SyntaxError where the text is no JSON. */
const read = (text: string): unknown => JSON.parse(text);

let check: ReturnType<Ajv['compile']> | null = null;

/** Problems of the text of `log_sinks`, which quote nothing of it. */
export function logSinkProblems(text: string): readonly string[] {
  let value: unknown;
  try {
    value = read(text);
  } catch {
    return [': must be a JSON array, such as [{"type":"http","url":"https://logs.internal/in"}]'];
  }
  check ??= new Ajv({ allErrors: true }).compile(schema);
  if (!check(value)) {
    return (check.errors ?? [])
      .filter(({ keyword }) => keyword !== 'if')
      .map(({ instancePath, message, keyword, params }) => {
        const path = instancePath.replaceAll(/\/(\d+)/g, '[$1]').replaceAll('/', '.');
        if (keyword === 'additionalProperties') return `${path}: has a name that there is not`;
        if (keyword === 'enum') return `${path}: must be one of ${params['allowedValues'].join(', ')}`;
        return `${path}: ${message ?? 'is wrong'}`;
      });
  }
  const names = (value as LogSinkSettings[]).map((sink) => logSinkName(sink));
  return new Set(names).size === names.length
    ? []
    : [': two sinks have the same name: give each of them one of its own'];
}

/** The sinks of a checked text. */
export const readLogSinks = (text: string): readonly LogSinkSettings[] => read(text) as LogSinkSettings[];

/** The name, or type and host. */
export const logSinkName = ({ name, type, url }: LogSinkSettings): string =>
  name ?? `${type}-${/^\w+:\/\/([^/?]*)/.exec(url)?.[1] ?? ''}`.replaceAll(':', '-');
