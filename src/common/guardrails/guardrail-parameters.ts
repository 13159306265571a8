/** JSON Schema of one parameter. `description` completes the sentence "<path> …" where its rules are broken. */
export interface Parameter {
  readonly type?: string | readonly string[];
  readonly description: string;
  readonly default?: unknown;
  /** What of it is sealed and masked: each text of an object, or the parts of a URL that may hold credentials. */
  readonly secret?: 'texts' | 'url';
  readonly [keyword: string]: unknown;
}

export type Properties = Readonly<Record<string, Parameter>>;

/** JSON Schema of all that a check takes: nothing beside it is allowed. */
export interface ParameterTable {
  readonly type: 'object';
  readonly description: string;
  readonly additionalProperties: false;
  readonly required: readonly string[];
  readonly properties: Properties;
}

export const parameters = (properties: Properties, required: readonly string[] = []): ParameterTable => ({
  type: 'object',
  description: 'must be an object',
  additionalProperties: false,
  required,
  properties,
});

/** Longest text and longest list. */
const maxLength = 65_536;
const maxItems = 1000;

export const flag = (fallback: boolean): Parameter => ({
  type: 'boolean',
  description: 'must be true or false',
  default: fallback,
});

export const text = (fallback?: string): Parameter => ({
  type: 'string',
  minLength: 1,
  maxLength,
  description: `must be text of 1 to ${maxLength} characters`,
  ...(fallback !== undefined && { default: fallback }),
});

/** An ECMAScript regular expression. */
export const expression: Parameter = {
  type: 'string',
  minLength: 1,
  maxLength: 4096,
  format: 'regex',
  description: 'must be a regular expression of at most 4096 characters',
};

/** A JSON Schema, draft 7. */
export const schema: Parameter = {
  type: 'object',
  jsonSchema: true,
  description: 'must be a JSON Schema of draft 7',
};

export const url: Parameter = {
  type: 'string',
  maxLength: 2048,
  pattern: '^https?://[^\\s/]',
  format: 'url',
  secret: 'url',
  description: 'must be an http or https URL',
};

export const choice = (words: readonly string[], fallback?: string): Parameter => ({
  type: 'string',
  enum: words,
  description: `must be one of ${words.join(', ')}`,
  ...(fallback !== undefined && { default: fallback }),
});

export const choices = (words: readonly string[]): Parameter => ({
  type: 'array',
  maxItems,
  uniqueItems: true,
  items: choice(words),
  description: `must be a list, no item twice, of ${words.join(', ')}`,
});

export const texts = (item: Parameter = text()): Parameter => ({
  type: 'array',
  maxItems,
  items: item,
  description: `must be a list of at most ${maxItems} texts`,
});

/** A list of texts, numbers, flags or nulls. */
export const values: Parameter = {
  type: 'array',
  maxItems,
  items: {
    type: ['string', 'number', 'boolean', 'null'],
    description: 'must be a text, a number, a flag or null',
  },
  description: `must be a list of at most ${maxItems} values`,
};

const number = (type: string, minimum: number, maximum: number, fallback: number): Parameter => ({
  type,
  minimum,
  maximum,
  default: fallback,
  description: `must be a ${type === 'integer' ? 'whole ' : ''}number from ${minimum} to ${maximum}`,
});

export const count = (fallback: number): Parameter => number('integer', 0, 2_147_483_647, fallback);
export const share = (fallback: number): Parameter => number('number', 0, 1, fallback);
/** How long a check may wait. */
export const milliseconds = (fallback: number): Parameter => number('integer', 1, 600_000, fallback);

/** An object of texts by names of free choice. */
export const textMap: Parameter = {
  type: 'object',
  maxProperties: maxItems,
  additionalProperties: text(),
  description: 'must be an object of texts',
};

/** Headers that the gateway sends. */
export const headers: Parameter = { ...textMap, secret: 'texts' };

/** Any object. */
export const free = (description = 'must be an object'): Parameter => ({ type: 'object', description });

/** An object of values of one kind by names of free choice. */
export const mapOf = (value: Parameter, description: string): Parameter => ({
  type: 'object',
  maxProperties: maxItems,
  additionalProperties: value,
  description,
});

/** An object with these fields, all of them optional. */
export const object = (properties: Properties): Parameter => ({ ...parameters(properties) });
