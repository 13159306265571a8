import { SseReader } from '../../data-plane/providers/streams/sse.js';

/** What is looked at, in the order of the columns. */
export const checkNames = [
  'chat',
  'stream',
  'tools',
  'image',
  'json',
  'embeddings',
  'rerank',
  'responses',
  'messages',
  'gemini',
] as const;

/** Metadata of every request of a selftest: it marks their rows in the ledger. */
export const selftestMetadata = { _selftest: 'true' } as const;

export type CheckName = (typeof checkNames)[number];

/** A provider, as calls name it, with the models to ask it for; without one of a kind its calls are skipped. */
export interface Tested {
  /** `@slug` of a stored provider. */
  readonly provider: string;
  readonly model: string;
  readonly embeddingModel: string | null;
  readonly rerankModel: string | null;
}

/** Where calls go and by which gateway key. */
export interface TestedGateway {
  /** Without a path. */
  readonly url: string;
  readonly key: string;
}

export interface Cell {
  readonly provider: string;
  readonly check: CheckName;
  /** `none`: the provider does not have it, or no model was named for it. */
  readonly result: 'pass' | 'fail' | 'none';
  /** null where it passed. */
  readonly reason: string | null;
  readonly durationMs: number;
}

/** Longer than a model needs to answer a line. */
const patienceMs = 60_000;

type Json = Record<string, unknown>;

/** The gateway has no provider of that slug: nothing can be tested there. */
export class UnknownSlug extends Error {
  provider = '';
}
class Unfit extends Error {}
class NotOffered extends Error {}

type Post = (path: string, body: Json) => Promise<Response>;
type SelfTestCheck = (post: Post, tested: Tested) => Promise<void>;

const checks: Readonly<Record<CheckName, SelfTestCheck>> = {
  chat: async (post, { model }) => {
    const body = await answered(post('/v1/chat/completions', { model, messages: [user('Say hello.')] }));
    textIn(body);
    const usage = body['usage'] as Json | undefined;
    const [input, output, total] = ['prompt_tokens', 'completion_tokens', 'total_tokens'].map(
      (name) => usage?.[name],
    );
    if (typeof total !== 'number' || total !== Number(input) + Number(output))
      throw new Unfit(`its usage does not add up: ${JSON.stringify(usage)}`);
  },

  stream: async (post, { model }) => {
    const asked = { model, messages: [user('Say hello.')], stream: true };
    const response = await post('/v1/chat/completions', asked);
    if (!response.ok) await answered(Promise.resolve(response));
    let text = '';
    let ended = false;
    const reader = new SseReader((_name, data) => {
      if (data.trim() === '[DONE]') ended = true;
      else text += deltaIn(JSON.parse(data) as Json);
    });
    reader.push(Buffer.from(await response.arrayBuffer()));
    reader.end();
    if (!ended) throw new Unfit('its stream has no end');
    if (text === '') throw new Unfit('its stream has no text');
  },

  tools: async (post, { model }) => {
    const messages: Json[] = [user('What is the weather in Rome? Use get_weather.')];
    const first = await answered(
      post('/v1/chat/completions', { model, messages, tools: [weather], tool_choice: 'required' }),
    );
    const message = messageOf(first);
    const calls = message['tool_calls'];
    if (!Array.isArray(calls) || calls.length === 0) throw new Unfit('it called no tool');
    messages.push(message);
    for (const { id, function: fn } of calls as { id: string; function: { arguments: string } }[]) {
      const given: unknown = JSON.parse(fn.arguments);
      if (typeof given !== 'object' || given === null)
        throw new Unfit('the arguments of its call are no object');
      messages.push({ role: 'tool', tool_call_id: id, content: 'sunny, 21 °C' });
    }
    textIn(await answered(post('/v1/chat/completions', { model, messages, tools: [weather] })));
  },

  image: async (post, { model }) => {
    const content = [
      { type: 'text', text: 'Which colour is this?' },
      { type: 'image_url', image_url: { url: `data:image/png;base64,${redSquare}` } },
    ];
    textIn(await answered(post('/v1/chat/completions', { model, messages: [{ role: 'user', content }] })));
  },

  json: async (post, { model }) => {
    const schema = {
      type: 'object',
      properties: { colour: { type: 'string' } },
      required: ['colour'],
      additionalProperties: false,
    };
    const response_format = { type: 'json_schema', json_schema: { name: 'colour', strict: true, schema } };
    const asked = { model, messages: [user('Name a colour, as JSON.')], response_format };
    const text = textIn(await answered(post('/v1/chat/completions', asked)));
    let read: unknown = null;
    try {
      read = JSON.parse(text);
    } catch {
      throw new Unfit('what it answered is not JSON');
    }
    if (typeof (read as Json | null)?.['colour'] !== 'string')
      throw new Unfit('its JSON does not fit the schema');
  },

  embeddings: async (post, { embeddingModel }) => {
    if (embeddingModel === null) throw new NotOffered('no embedding model was named');
    const input = 'A line to be embedded.';
    const body = await answered(
      post('/v1/embeddings', { model: embeddingModel, input, encoding_format: 'float' }),
    );
    const vector = (body['data'] as Json[] | undefined)?.[0]?.['embedding'];
    if (!Array.isArray(vector) || vector.length === 0 || !vector.every((value) => typeof value === 'number'))
      throw new Unfit('it answered without a vector');
  },

  rerank: async (post, { rerankModel }) => {
    if (rerankModel === null) throw new NotOffered('no rerank model was named');
    const documents = ['Bread is baked.', 'Rome is the capital of Italy.', 'Rain falls.'];
    const body = await answered(
      post('/v1/rerank', { model: rerankModel, query: 'capital of Italy', documents, top_n: 2 }),
    );
    const results = body['results'] as Json[] | undefined;
    if (!Array.isArray(results) || results.length === 0 || results.length > 2)
      throw new Unfit('it did not answer with the two documents that it was asked for');
    if (results.some(({ relevance_score: score }) => typeof score !== 'number'))
      throw new Unfit('its documents have no score');
    if (results[0]?.['index'] !== 1) throw new Unfit('it did not put the document that fits first');
  },

  responses: async (post, { model }) => {
    const body = await answered(post('/v1/responses', { model, input: 'Say hello.' }));
    const output = (body['output'] ?? []) as Json[];
    const parts = output.flatMap(({ content }) => (Array.isArray(content) ? (content as Json[]) : []));
    textOf(parts.filter(({ type }) => type === 'output_text'));
  },

  messages: async (post, { model }) => {
    const body = await answered(
      post('/v1/messages', { model, max_tokens: maxTokens, messages: [user('Say hello.')] }),
    );
    textOf((body['content'] ?? []) as Json[]);
  },

  gemini: async (post, { model }) => {
    const path = `/v1beta/models/${encodeURIComponent(model)}:generateContent`;
    const body = await answered(
      post(path, { contents: [{ role: 'user', parts: [{ text: 'Say hello.' }] }] }),
    );
    const content = (body['candidates'] as Json[] | undefined)?.[0]?.['content'] as Json | undefined;
    textOf((content?.['parts'] ?? []) as Json[]);
  },
};

/** Served over chat: a provider without chat has none of them. */
const viaChat: ReadonlySet<CheckName> = new Set(['responses', 'messages', 'gemini']);
/** Enough for a model that reasons before it answers. */
const maxTokens = 2048;

/** Asks for each thing in turn. Throws `UnknownSlug` where the gateway does not have the provider. */
export async function* cellsOf(gateway: TestedGateway, tested: Tested): AsyncGenerator<Cell> {
  const { provider } = tested;
  const post: Post = (path, body) =>
    fetch(gateway.url + path, {
      method: 'POST',
      headers: {
        'content-type': 'application/json',
        'x-gateway-api-key': gateway.key,
        'x-gateway-provider': provider,
        'x-gateway-metadata': JSON.stringify(selftestMetadata),
      },
      body: JSON.stringify(body),
      signal: AbortSignal.timeout(patienceMs),
    });
  let hasChat = true;
  for (const check of checkNames) {
    const start = performance.now();
    let result: Cell['result'] = 'pass';
    let reason: string | null = null;
    try {
      if (!hasChat && viaChat.has(check)) throw new NotOffered('it has no chat');
      await checks[check](post, tested);
    } catch (thrown) {
      if (thrown instanceof UnknownSlug) throw Object.assign(thrown, { provider });
      result = thrown instanceof NotOffered ? 'none' : 'fail';
      reason = thrown instanceof Error ? thrown.message : String(thrown);
    }
    if (check === 'chat') hasChat = result !== 'none';
    yield { provider, check, result, reason, durationMs: Math.round(performance.now() - start) };
  }
}

async function answered(asked: Promise<Response>): Promise<Json> {
  const response = await asked;
  const text = await response.text();
  let body: Json;
  try {
    body = JSON.parse(text) as Json;
  } catch {
    throw new Unfit(`it answered with status ${response.status} and no JSON`);
  }
  if (response.ok) return body;
  const error = body['error'] as Json | undefined;
  const message = `${response.status}: ${String(error?.['message'] ?? text.slice(0, 200))}`;
  if (error?.['code'] === 'unknown_provider') throw new UnknownSlug(message);
  throw error?.['code'] === 'unsupported_by_provider' ? new NotOffered(message) : new Unfit(message);
}

function messageOf(body: Json): Json {
  const message = (body['choices'] as Json[] | undefined)?.[0]?.['message'] as Json | undefined;
  if (message === undefined) throw new Unfit('it answered without a message');
  return message;
}

function textIn(body: Json): string {
  const { content } = messageOf(body);
  if (typeof content !== 'string' || content === '') throw new Unfit('it answered without text');
  return content;
}

/** Throws where none of these parts of an answer has text. */
function textOf(parts: readonly Json[]): void {
  if (!parts.some(({ text }) => typeof text === 'string' && text !== ''))
    throw new Unfit('it answered without text');
}

function deltaIn(chunk: Json): string {
  const error = chunk['error'] as Json | undefined;
  if (error !== undefined) throw new Unfit(`its stream broke: ${String(error['message'])}`);
  const delta = (chunk['choices'] as Json[] | undefined)?.[0]?.['delta'] as Json | undefined;
  return typeof delta?.['content'] === 'string' ? delta['content'] : '';
}

const user = (content: string): Json => ({ role: 'user', content });

const weather = {
  type: 'function',
  function: {
    name: 'get_weather',
    description: 'The weather of a city.',
    parameters: {
      type: 'object',
      properties: { city: { type: 'string', description: 'Name of the city' } },
      required: ['city'],
    },
  },
};

/** 16 by 16 pixels. */
const redSquare =
  'iVBORw0KGgoAAAANSUhEUgAAABAAAAAQCAIAAACQkWg2AAAAFklEQVR42mO4IydHEmIY1TCqYfhqAACaMxgQdrf9VwAAAABJRU5ErkJggg==';
