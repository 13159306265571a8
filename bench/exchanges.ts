import { EventStreamCodec } from '@smithy/core/event-streams';
import type { BenchAnswer } from './in-process.js';

/** What the benchmarks of conversion ask, 1 KB in every client format, and what they are answered, 300 bytes of text in each format. */
/** Pieces of text in a streamed answer. */
export const chunks = 1000;

const system = 'You are a helpful assistant. '.repeat(8);
const prompt = 'Tell me about the river and the gate that holds it. '.repeat(12);
const reply = 'Lorem ipsum dolor sit amet, consectetur elit. '.repeat(6);
const words = Array.from({ length: chunks }, (_, i) => ` word ${i}`);

const json = (value: unknown): BenchAnswer => ({
  contentType: 'application/json',
  pieces: [Buffer.from(JSON.stringify(value))],
});
const events = (list: readonly unknown[], end = ''): BenchAnswer => ({
  contentType: 'text/event-stream',
  pieces: [...list.map((event) => Buffer.from(`data: ${JSON.stringify(event)}\n\n`)), Buffer.from(end)],
});
const named = (list: readonly { type: string }[]): BenchAnswer => ({
  contentType: 'text/event-stream',
  pieces: list.map((event) => Buffer.from(`event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`)),
});

const codec = new EventStreamCodec(
  (bytes) => Buffer.from(bytes).toString('utf8'),
  (text) => Buffer.from(text),
);
function awsEvent(name: string, payload: unknown): Buffer {
  const text = (value: string) => ({ type: 'string', value }) as const;
  const headers = {
    ':event-type': text(name),
    ':content-type': text('application/json'),
    ':message-type': text('event'),
  };
  return Buffer.from(codec.encode({ headers, body: Buffer.from(JSON.stringify(payload)) }));
}

const completion = (object: string) => ({
  id: 'chatcmpl-bench000000000000000000',
  object,
  created: 1_700_000_000,
  model: 'gpt-4o-mini',
});
const openAiUsage = { prompt_tokens: 200, completion_tokens: 60, total_tokens: 260 };
const openAiChunk = (delta: object, finish_reason: string | null) => ({
  ...completion('chat.completion.chunk'),
  choices: [{ index: 0, delta, finish_reason }],
});
const responseItem = (text: string) => ({
  id: 'msg_bench',
  type: 'message',
  status: 'completed',
  role: 'assistant',
  content: [{ type: 'output_text', annotations: [], logprobs: [], text }],
});
const response = (status: string, output: object[]) => ({
  id: 'resp_bench',
  object: 'response',
  created_at: 1_700_000_000,
  status,
  error: null,
  incomplete_details: null,
  instructions: system,
  max_output_tokens: 256,
  model: 'gpt-4o-mini',
  output,
  parallel_tool_calls: true,
  previous_response_id: null,
  reasoning: { effort: null, summary: null },
  store: false,
  temperature: 0.7,
  text: { format: { type: 'text' } },
  tool_choice: 'auto',
  tools: [],
  top_p: 1,
  truncation: 'disabled',
  usage: {
    input_tokens: 200,
    input_tokens_details: { cached_tokens: 0 },
    output_tokens: 60,
    output_tokens_details: { reasoning_tokens: 0 },
    total_tokens: 260,
  },
  user: null,
  metadata: {},
});
const geminiUsage = { promptTokenCount: 200, candidatesTokenCount: 60, totalTokenCount: 260 };
const geminiPart = (text: string, more = {}) => ({
  candidates: [{ content: { parts: [{ text }], role: 'model' }, index: 0, ...more }],
  usageMetadata: geminiUsage,
  modelVersion: 'gemini-2.5-flash',
  responseId: 'bench',
});
const cohereUsage = {
  billed_units: { input_tokens: 200, output_tokens: 60 },
  tokens: { input_tokens: 200, output_tokens: 60 },
};

/** Behind each slug: its row, and what it answers, whole and streamed. */
export const providers = {
  openai: {
    row: 'openai',
    whole: json({
      ...completion('chat.completion'),
      choices: [{ index: 0, message: { role: 'assistant', content: reply }, finish_reason: 'stop' }],
      usage: openAiUsage,
    }),
    streamed: events(
      [
        openAiChunk({ role: 'assistant', content: '' }, null),
        ...words.map((content) => openAiChunk({ content }, null)),
        openAiChunk({}, 'stop'),
        { ...completion('chat.completion.chunk'), choices: [], usage: openAiUsage },
      ],
      'data: [DONE]\n\n',
    ),
  },
  responses: {
    row: 'openai',
    whole: json(response('completed', [responseItem(reply)])),
    streamed: named([
      { type: 'response.created', response: response('in_progress', []) } as { type: string },
      ...words.map((delta) => ({
        type: 'response.output_text.delta',
        item_id: 'msg_bench',
        output_index: 0,
        content_index: 0,
        delta,
        logprobs: [],
      })),
      { type: 'response.completed', response: response('completed', [responseItem(words.join(''))]) } as {
        type: string;
      },
    ]),
  },
  anthropic: {
    row: 'anthropic',
    whole: json({
      id: 'msg_bench',
      type: 'message',
      role: 'assistant',
      model: 'claude-sonnet-4-5',
      content: [{ type: 'text', text: reply }],
      stop_reason: 'end_turn',
      stop_sequence: null,
      usage: { input_tokens: 200, output_tokens: 60 },
    }),
    streamed: named([
      {
        type: 'message_start',
        message: {
          id: 'msg_bench',
          type: 'message',
          role: 'assistant',
          model: 'claude-sonnet-4-5',
          content: [],
          usage: { input_tokens: 200, output_tokens: 1 },
        },
      } as { type: string },
      { type: 'content_block_start', index: 0, content_block: { type: 'text', text: '' } } as {
        type: string;
      },
      ...words.map((text) => ({
        type: 'content_block_delta',
        index: 0,
        delta: { type: 'text_delta', text },
      })),
      { type: 'content_block_stop', index: 0 } as { type: string },
      { type: 'message_delta', delta: { stop_reason: 'end_turn' }, usage: { output_tokens: 60 } } as {
        type: string;
      },
      { type: 'message_stop' },
    ]),
  },
  gemini: {
    row: 'google',
    whole: json(geminiPart(reply, { finishReason: 'STOP' })),
    streamed: events([...words.map((text) => geminiPart(text)), geminiPart('', { finishReason: 'STOP' })]),
  },
  bedrock: {
    row: 'bedrock',
    whole: json({
      output: { message: { role: 'assistant', content: [{ text: reply }] } },
      stopReason: 'end_turn',
      usage: { inputTokens: 200, outputTokens: 60, totalTokens: 260 },
      metrics: { latencyMs: 100 },
    }),
    streamed: {
      contentType: 'application/vnd.amazon.eventstream',
      pieces: [
        awsEvent('messageStart', { role: 'assistant' }),
        ...words.map((text) => awsEvent('contentBlockDelta', { contentBlockIndex: 0, delta: { text } })),
        awsEvent('contentBlockStop', { contentBlockIndex: 0 }),
        awsEvent('messageStop', { stopReason: 'end_turn' }),
        awsEvent('metadata', { usage: { inputTokens: 200, outputTokens: 60, totalTokens: 260 } }),
      ],
    },
  },
  cohere: {
    row: 'cohere',
    whole: json({
      id: 'bench',
      finish_reason: 'COMPLETE',
      message: { role: 'assistant', content: [{ type: 'text', text: reply }] },
      usage: cohereUsage,
    }),
    streamed: named([
      { id: 'bench', type: 'message-start', delta: { message: { role: 'assistant' } } } as { type: string },
      { type: 'content-start', index: 0, delta: { message: { content: { type: 'text', text: '' } } } } as {
        type: string;
      },
      ...words.map((text) => ({
        type: 'content-delta',
        index: 0,
        delta: { message: { content: { text } } },
      })),
      { type: 'content-end', index: 0 } as { type: string },
      { type: 'message-end', delta: { finish_reason: 'COMPLETE', usage: cohereUsage } } as { type: string },
    ]),
  },
} as const;
export type Slug = keyof typeof providers;

const text = { model: 'some-model', temperature: 0.7 };
const user = { role: 'user', content: prompt };
const gemini = {
  systemInstruction: { parts: [{ text: system }] },
  contents: [{ role: 'user', parts: [{ text: prompt }] }],
  generationConfig: { temperature: 0.7, maxOutputTokens: 256 },
};
/** The same request in each client format. */
export const clientFormats = {
  chat: (stream: boolean) => ({
    path: '/v1/chat/completions',
    query: '',
    body: { ...text, messages: [{ role: 'system', content: system }, user], max_tokens: 256, stream },
  }),
  messages: (stream: boolean) => ({
    path: '/v1/messages',
    query: '',
    body: { ...text, system, messages: [user], max_tokens: 256, stream },
  }),
  responses: (stream: boolean) => ({
    path: '/v1/responses',
    query: '',
    body: { ...text, instructions: system, input: [user], max_output_tokens: 256, stream },
  }),
  gemini: (stream: boolean) => ({
    path: `/v1beta/models/some-model:${stream ? 'streamGenerateContent' : 'generateContent'}`,
    query: stream ? 'alt=sse' : '',
    body: gemini,
  }),
} as const;
export type ClientFormatName = keyof typeof clientFormats;

/** What is compared: a client format and a provider. For each client format, a provider of the same format comes first. */
export const ways: readonly (readonly [ClientFormatName, Slug])[] = [
  ['chat', 'openai'],
  ['chat', 'anthropic'],
  ['chat', 'gemini'],
  ['chat', 'bedrock'],
  ['chat', 'cohere'],
  ['messages', 'anthropic'],
  ['messages', 'openai'],
  ['gemini', 'gemini'],
  ['gemini', 'openai'],
  ['responses', 'responses'],
  ['responses', 'anthropic'],
];

/** Index of the pair of the same client format and a provider of that format. */
export const unconverted = (way: number): number =>
  ways.findIndex(([clientFormat]) => clientFormat === ways[way]?.[0]);
