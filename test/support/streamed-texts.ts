import type { Ask } from './bare-worker.js';

const data = (value: unknown): string => `data: ${JSON.stringify(value)}\n\n`;
const named = (value: { readonly type: string; readonly [name: string]: unknown }): string =>
  `event: ${value.type}\n${data(value)}`;

/** The events by which providers stream a text in these pieces, by stored provider. */
export const providerStreams: Readonly<Record<string, (pieces: readonly string[]) => string[]>> = {
  openai(pieces) {
    const chunk = (delta: object, finish: string | null = null): string =>
      data({
        ...{ id: 'chatcmpl-1', object: 'chat.completion.chunk', created: 1, model: 'gpt-4o' },
        choices: [{ index: 0, delta, logprobs: null, finish_reason: finish }],
      });
    return [
      chunk({ role: 'assistant', content: '' }),
      ...pieces.map((content) => chunk({ content })),
      chunk({}, 'stop'),
      data({
        ...{ id: 'chatcmpl-1', object: 'chat.completion.chunk', created: 1, model: 'gpt-4o' },
        ...{ choices: [], usage: { prompt_tokens: 3, completion_tokens: 7, total_tokens: 10 } },
      }),
      'data: [DONE]\n\n',
    ];
  },
  anthropic(pieces) {
    const usage = { input_tokens: 3, output_tokens: 1 };
    const head = { id: 'msg_1', type: 'message', role: 'assistant', model: 'claude-sonnet-4-5', content: [] };
    return [
      { type: 'message_start', message: { ...head, stop_reason: null, stop_sequence: null, usage } },
      { type: 'content_block_start', index: 0, content_block: { type: 'text', text: '' } },
      { type: 'ping' },
      ...pieces.map((text) => ({
        ...{ type: 'content_block_delta', index: 0, delta: { type: 'text_delta', text } },
      })),
      { type: 'content_block_stop', index: 0 },
      {
        ...{ type: 'message_delta', delta: { stop_reason: 'end_turn', stop_sequence: null } },
        usage: { output_tokens: 7 },
      },
      { type: 'message_stop' },
    ].map(named);
  },
  google(pieces) {
    const chunk = (parts: object[], more: object = {}): string =>
      data({
        candidates: [{ content: { parts, role: 'model' }, index: 0, ...more }],
        modelVersion: 'gemini-2.5-flash',
      });
    const usageMetadata = { promptTokenCount: 3, candidatesTokenCount: 7, totalTokenCount: 10 };
    return [
      ...pieces.map((text) => chunk([{ text }])),
      data({
        candidates: [{ content: { parts: [{ text: '' }], role: 'model' }, index: 0, finishReason: 'STOP' }],
        ...{ usageMetadata, modelVersion: 'gemini-2.5-flash' },
      }),
    ];
  },
};

/** OpenAI's own events of the Responses API. */
export function responsesStream(pieces: readonly string[]): string[] {
  const text = pieces.join('');
  const part = { type: 'output_text', text, annotations: [] };
  const item = { id: 'msg_1', type: 'message', role: 'assistant', status: 'completed', content: [part] };
  const usage = { input_tokens: 3, output_tokens: 7, total_tokens: 10 };
  const response = {
    id: 'resp_1',
    object: 'response',
    status: 'completed',
    model: 'gpt-4o',
    output: [item],
    usage,
  };
  const at = { item_id: 'msg_1', output_index: 0, content_index: 0 };
  return [
    { type: 'response.created', response: { ...response, status: 'in_progress', output: [], usage: null } },
    { type: 'response.output_item.added', output_index: 0, item: { ...item, content: [] } },
    { type: 'response.content_part.added', ...at, part: { ...part, text: '' } },
    ...pieces.map((delta) => ({ type: 'response.output_text.delta', ...at, delta, logprobs: [] })),
    { type: 'response.output_text.done', ...at, text },
    { type: 'response.content_part.done', ...at, part },
    { type: 'response.output_item.done', output_index: 0, item },
    { type: 'response.completed', response },
  ].map((event, i) => named({ ...event, sequence_number: i }));
}

/** A format of clients, a provider, and how the text is read. */
export interface StreamedWay {
  readonly name: string;
  readonly slug: string;
  readonly ask: Ask;
  events(pieces: readonly string[]): string[];
  /** The text of an answer; every text that repeats it has to be the same. */
  read(answer: string): string;
  /** The mark of a stream that has ended in order. */
  readonly ended: RegExp;
  /** The tokens that the client is told of. */
  readonly usage: RegExp;
}

// biome-ignore lint/suspicious/noExplicitAny: answers are read as the test expects them; others make it fail.
type Json = Record<string, any>;

const eventsOf = (answer: string): Json[] =>
  [...answer.matchAll(/^data: (\{.*)$/gm)].map(([, text]) => JSON.parse(text!) as Json);

const chatText = (events: readonly Json[]): string =>
  events.map(({ choices }) => choices?.[0]?.delta?.content ?? '').join('');
const messagesText = (events: readonly Json[]): string =>
  events.map(({ delta }) => delta?.text ?? '').join('');
const geminiText = (events: readonly Json[]): string =>
  events
    .flatMap(({ candidates }) => candidates?.[0]?.content?.parts ?? [])
    .map(({ text }) => text ?? '')
    .join('');

function responsesText(events: readonly Json[]): string {
  const deltas = events
    .map(({ type, delta }) => (type === 'response.output_text.delta' ? delta : ''))
    .join('');
  for (const [i, { type, sequence_number: number, text, part, item, response }] of events.entries()) {
    if (number !== i) throw new Error(`event ${i} has the number ${number}`);
    const whole =
      type === 'response.output_text.done'
        ? text
        : type === 'response.content_part.done'
          ? part.text
          : type === 'response.output_item.done'
            ? item.content[0].text
            : type === 'response.completed'
              ? response.output[0].content[0].text
              : deltas;
    if (whole !== deltas) throw new Error(`${type} says ${whole}, and the deltas say ${deltas}`);
  }
  return deltas;
}

const clients: Readonly<Record<string, Pick<StreamedWay, 'ask' | 'read' | 'ended' | 'usage'>>> = {
  chat: {
    ask: {},
    read: (answer) => chatText(eventsOf(answer)),
    ended: /data: \[DONE\]/,
    usage: /"completion_tokens":7/,
  },
  messages: {
    ask: {
      path: '/v1/messages',
      body: { model: 'm', max_tokens: 9, stream: true, messages: [{ role: 'user', content: 'Hi' }] },
    },
    read: (answer) => messagesText(eventsOf(answer)),
    ended: /message_stop/,
    usage: /"output_tokens":7/,
  },
  responses: {
    ask: { path: '/v1/responses', body: { model: 'm', stream: true, input: 'Hi' } },
    read: (answer) => responsesText(eventsOf(answer)),
    ended: /response\.completed/,
    usage: /"output_tokens":7/,
  },
  gemini: {
    ask: {
      ...{ path: '/v1beta/models/gemini-2.5-flash:streamGenerateContent', query: 'alt=sse' },
      body: { contents: [{ role: 'user', parts: [{ text: 'Hi' }] }] },
    },
    read: (answer) => geminiText(eventsOf(answer)),
    ended: /"finishReason":"STOP"/,
    usage: /"candidatesTokenCount":7/,
  },
  'gemini as an array': {
    ask: {
      path: '/v1beta/models/gemini-2.5-flash:streamGenerateContent',
      body: { contents: [{ role: 'user', parts: [{ text: 'Hi' }] }] },
    },
    read: (answer) => geminiText(JSON.parse(answer) as Json[]),
    ended: /\]$/,
    usage: /"candidatesTokenCount":7/,
  },
};

/** Chat's clients ask for the usage by themselves. */
const withUsage: Ask = {
  body: {
    ...{ model: 'm', stream: true, stream_options: { include_usage: true } },
    messages: [{ role: 'user', content: 'Hello' }],
  },
};

const pairs: readonly (readonly [string, string])[] = [
  ['chat', 'openai'],
  ['chat', 'anthropic'],
  ['chat', 'google'],
  ['messages', 'anthropic'],
  ['messages', 'openai'],
  ['responses', 'openai'],
  ['responses', 'anthropic'],
  ['gemini', 'google'],
  ['gemini', 'openai'],
  ['gemini as an array', 'google'],
  ['gemini as an array', 'anthropic'],
];

/** Clients of each format, each at a provider of the same format and at others. */
export const streamedWays: readonly StreamedWay[] = pairs.map(([client, slug]) => {
  const { ask, ...rest } = clients[client]!;
  const native = client === 'responses' && slug === 'openai';
  return {
    name: `${client} from ${slug}`,
    slug,
    ask: client === 'chat' ? withUsage : ask,
    events: native ? responsesStream : providerStreams[slug]!,
    ...rest,
  };
});
