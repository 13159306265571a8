type Check = (wanted: never, value: unknown) => boolean;

const types: Readonly<Record<string, (value: unknown) => boolean>> = {
  array: Array.isArray,
  boolean: (value) => typeof value === 'boolean',
  integer: Number.isInteger,
  string: (value) => typeof value === 'string',
};

const checks: Readonly<Record<string, Check>> = {
  type: (type: string, value) => types[type]?.(value) === true,
  minimum: (least: number, value) => typeof value === 'number' && value >= least,
  maximum: (most: number, value) => typeof value === 'number' && value <= most,
  minLength: (least: number, value) => typeof value === 'string' && [...value].length >= least,
  pattern: (pattern: string, value) => typeof value === 'string' && new RegExp(pattern, 'u').test(value),
  enum: (words: readonly unknown[], value) => words.includes(value),
  minItems: (least: number, value) => Array.isArray(value) && value.length >= least,
  items: (schema: object, value) => Array.isArray(value) && value.every((item) => fitsPlainly(schema, item)),
  // The words for what does not fit.
  wanted: () => true,
};

/**
 * Whether the value certainly fits the JSON schema; false also where the schema has keywords that are not looked at here.
 * Most settings are numbers, words and paths that are right: to load Ajv and compile their schemas takes each command and
 * each start 60 ms of the processor.
 */
export function fitsPlainly(schema: object, value: unknown): boolean {
  return Object.entries(schema).every(
    ([keyword, wanted]) => checks[keyword]?.(wanted as never, value) === true,
  );
}
