import type { Exchange, JsonObject } from '../../src/common/core/exchange.js';

/** An answer that refuses, in the client's format. */
interface Refusal {
  readonly body: string;
  readonly events: boolean;
}

const refusalText = 'This request was refused by a guardrail.';

interface Written {
  readonly whole: JsonObject;
  /** The same as a stream; a name for formats whose events have one. */
  readonly events: readonly { readonly name: string | null; readonly data: JsonObject | string }[];
}

const plain = (...data: (JsonObject | string)[]): Written['events'] =>
  data.map((one) => ({ name: null, data: one }));
const typed = (...data: JsonObject[]): Written['events'] =>
  data.map((one) => ({ name: String(one['type']), data: one }));

const noTokens = { prompt_tokens: 0, completion_tokens: 0, total_tokens: 0 };

function chat(x: Exchange, model: string): Written {
  const created = Math.floor(x.startedAt / 1000);
  const head = { id: `chatcmpl-${x.id}`, created, model };
  const message = { role: 'assistant', content: refusalText, refusal: refusalText };
  const choice = { index: 0, logprobs: null };
  const chunk = (delta: object, finish: string | null): JsonObject => ({
    ...head,
    object: 'chat.completion.chunk',
    choices: [{ ...choice, delta, finish_reason: finish }],
  });
  return {
    whole: {
      ...head,
      object: 'chat.completion',
      choices: [{ ...choice, message, finish_reason: 'content_filter' }],
      usage: noTokens,
    },
    events: plain(
      chunk({ role: 'assistant', content: refusalText }, null),
      chunk({}, 'content_filter'),
      '[DONE]',
    ),
  };
}

function completion(x: Exchange, model: string): Written {
  const created = Math.floor(x.startedAt / 1000);
  const choices = [{ index: 0, text: refusalText, logprobs: null, finish_reason: 'content_filter' }];
  const whole = { id: `cmpl-${x.id}`, object: 'text_completion', created, model, choices };
  return { whole: { ...whole, usage: noTokens }, events: plain(whole, '[DONE]') };
}

function message(x: Exchange, model: string): Written {
  const head = { id: `msg_${x.id}`, type: 'message', role: 'assistant', model };
  const usage = { input_tokens: 0, output_tokens: 0 };
  const end = { stop_reason: 'refusal', stop_sequence: null };
  const block = { type: 'text', text: refusalText };
  return {
    whole: { ...head, content: [block], ...end, usage },
    events: typed(
      {
        type: 'message_start',
        message: { ...head, content: [], stop_reason: null, stop_sequence: null, usage },
      },
      { type: 'content_block_start', index: 0, content_block: { type: 'text', text: '' } },
      { type: 'content_block_delta', index: 0, delta: { type: 'text_delta', text: refusalText } },
      { type: 'content_block_stop', index: 0 },
      { type: 'message_delta', delta: end, usage },
      { type: 'message_stop' },
    ),
  };
}

function response(x: Exchange, model: string): Written {
  const head = { id: `resp_${x.id}`, object: 'response', created_at: Math.floor(x.startedAt / 1000), model };
  const part = { type: 'output_text', text: refusalText, annotations: [] };
  const item = {
    id: `msg_${x.id}`,
    type: 'message',
    role: 'assistant',
    status: 'completed',
    content: [part],
  };
  const whole = { ...head, status: 'completed', output: [item], error: null, usage: null };
  const at = { item_id: item.id, output_index: 0, content_index: 0 };
  return {
    whole,
    events: typed(
      ...[
        { type: 'response.created', response: { ...whole, status: 'in_progress', output: [] } },
        {
          type: 'response.output_item.added',
          output_index: 0,
          item: { ...item, status: 'in_progress', content: [] },
        },
        { type: 'response.content_part.added', ...at, part: { ...part, text: '' } },
        { type: 'response.output_text.delta', ...at, delta: refusalText },
        { type: 'response.output_text.done', ...at, text: refusalText },
        { type: 'response.content_part.done', ...at, part },
        { type: 'response.output_item.done', output_index: 0, item },
        { type: 'response.completed', response: whole },
      ].map((event, i) => ({ ...event, sequence_number: i })),
    ),
  };
}

function gemini(_x: Exchange, model: string): Written {
  const content = { role: 'model', parts: [{ text: refusalText }] };
  const usageMetadata = { promptTokenCount: 0, candidatesTokenCount: 0, totalTokenCount: 0 };
  const whole = {
    candidates: [{ index: 0, content, finishReason: 'SAFETY' }],
    usageMetadata,
    modelVersion: model,
  };
  return { whole, events: plain(whole) };
}

const writers: Partial<Record<Exchange['endpoint']['format'], (x: Exchange, model: string) => Written>> = {
  'openai-chat': chat,
  'openai-completions': completion,
  'openai-responses': response,
  'anthropic-messages': message,
  'gemini-generate-content': gemini,
};

/** null: answers of this format have no text. */
export function refusalFor(x: Exchange): Refusal | null {
  const written = writers[x.endpoint.format]?.(x, x.modelAsked ?? '');
  if (written === undefined) return null;
  if (!x.streaming) return { body: JSON.stringify(written.whole), events: false };
  if (x.endpoint.wantsArray?.(x.request.query) === true)
    return { body: JSON.stringify([written.whole]), events: false };
  const body = written.events.map(({ name, data }) => {
    const text = typeof data === 'string' ? data : JSON.stringify(data);
    return `${name === null ? '' : `event: ${name}\n`}data: ${text}\n\n`;
  });
  return { body: body.join(''), events: true };
}
