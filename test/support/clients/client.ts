/** A gateway, as a client's settings name it. */
export interface Place {
  /** Without a path. */
  readonly url: string;
  readonly key: string;
}

/** A client library as its users use it, for one model: what all of them have, spelt once. */
export interface Client {
  /** The whole answer's text. */
  chat(prompt: string): Promise<string>;
  /** The answer's text as it comes; throws where the library notices that the stream broke. */
  stream(prompt: string): AsyncIterable<string>;
  /** Two turns: asks with a tool, runs it, hands back its result. The text of the second answer. */
  tools(prompt: string, run: (city: string) => string): Promise<string>;
  /** An answer by `citySchema`, as the library reads it. */
  json(prompt: string): Promise<unknown>;
}

export interface Library {
  readonly name: string;
  /** Whose wire format it speaks. */
  readonly speaks: 'openai' | 'anthropic';
  connect(place: Place, model: string): Client;
  /** Absent: it embeds nothing. */
  embed?(place: Place, model: string, texts: string[]): Promise<number[][]>;
  /** Is this the error by which it tells such an answer? `status` null: a stream that broke. */
  isItsError(thrown: unknown, status: number | null): boolean;
}

export const toolName = 'get_weather';
export const toolDescription = 'The weather of a city.';

export const citySchema = {
  type: 'object',
  properties: { city: { type: 'string' } },
  required: ['city'],
  additionalProperties: false,
};

const classes: Readonly<Record<number, string>> = {
  400: 'BadRequestError',
  401: 'AuthenticationError',
  403: 'PermissionDeniedError',
  404: 'NotFoundError',
  429: 'RateLimitError',
  500: 'InternalServerError',
};

/** By the classes of OpenAI's client, of which several libraries bring one of their own. */
export function isOpenAiClass(thrown: unknown, status: number | null): boolean {
  if (!(thrown instanceof Error)) return false;
  const wanted = status === null ? 'APIError' : classes[status];
  return thrown.constructor.name === wanted && (status === null || 'status' in thrown);
}
