import { jsonAnswer, type SimulatedAnswer, streamAnswer } from './answer.js';
import type { Behaviour } from './behaviour.js';
import { lastOf } from './openai.js';
import { countMessages, countTokens, cutToTokens, fill, type Json, newId, split, textOf } from './text.js';

/** Anthropic's side of the simulated provider, after platform.claude.com/docs/en/api/messages. */

export function anthropicHeaders(): string[] {
  return [
    'request-id',
    newId('req_011', 21),
    'anthropic-organization-id',
    '00000000-0000-4000-8000-000000000000',
  ];
}

const errorTypes: Readonly<Record<number, string>> = {
  400: 'invalid_request_error',
  401: 'authentication_error',
  403: 'permission_error',
  404: 'not_found_error',
  413: 'request_too_large',
  429: 'rate_limit_error',
  504: 'timeout_error',
  529: 'overloaded_error',
};

export function anthropicError(status: number, message: string): SimulatedAnswer {
  const type = errorTypes[status] ?? (status < 500 ? 'invalid_request_error' : 'api_error');
  const headers = anthropicHeaders();
  return jsonAnswer(status, { type: 'error', error: { type, message }, request_id: headers[1] }, headers);
}

const errorFrame = `event: error\ndata: ${JSON.stringify({
  type: 'error',
  error: { type: 'overloaded_error', message: 'Overloaded' },
})}\n\n`;

/** Accepts the key in `x-api-key` or, as newer SDKs send it, as a bearer. null: it is there and good. */
export function checkAnthropicKey(
  apiKey: string | undefined,
  authorization: string | undefined,
): SimulatedAnswer | null {
  const key = apiKey ?? authorization?.replace(/^Bearer\s+/i, '') ?? '';
  if (key === '') return anthropicError(401, 'x-api-key header is required');
  return key.startsWith('sk-invalid') ? anthropicError(401, 'invalid x-api-key') : null;
}

const versions = new Set(['2023-01-01', '2023-06-01', '2026-10-21']);

export function checkVersion(version: string | undefined): SimulatedAnswer | null {
  if (version === undefined) return anthropicError(400, 'anthropic-version: header is required');
  return versions.has(version)
    ? null
    : anthropicError(400, `anthropic-version: "${version}" is not a valid version`);
}

/** What the real API refuses and a gateway might get wrong. */
function checkBody(body: Json, version: string | undefined, counting: boolean): string | null {
  if (typeof body['model'] !== 'string') return 'model: Field required';
  const maxTokens = body['max_tokens'];
  if (!counting && maxTokens === undefined) return 'max_tokens: Field required';
  if (!counting && (typeof maxTokens !== 'number' || maxTokens < 0))
    return 'max_tokens: Input should be a valid integer';
  const messages = body['messages'];
  if (!Array.isArray(messages)) return 'messages: Field required';
  if (messages.length === 0) return 'messages: at least one message is required';
  for (const [i, value] of messages.entries()) {
    const role = (value as Json | null)?.['role'];
    if (role !== 'user' && role !== 'assistant' && role !== 'system') {
      return `messages.${i}.role: Input should be 'user' or 'assistant'`;
    }
    const content = (value as Json)['content'];
    if (typeof content !== 'string' && !Array.isArray(content))
      return `messages.${i}.content: Field required`;
    for (const [j, block] of (Array.isArray(content) ? content : []).entries()) {
      if ((block as Json)['type'] === 'text' && (block as Json)['text'] === '') {
        return `messages.${i}.content.${j}.text: text content blocks must be non-empty`;
      }
    }
  }
  const temperature = body['temperature'];
  if (typeof temperature === 'number' && temperature > 1) return 'temperature: range: 0..1';
  if (version === '2026-10-21') {
    for (const gone of ['temperature', 'top_p', 'top_k'])
      if (body[gone] !== undefined) return `${gone}: Extra inputs are not permitted`;
  }
  if (typeof body['stop_sequences'] === 'string') return 'stop_sequences: Input should be a valid list';
  for (const name of [
    'n',
    'stop',
    'max_completion_tokens',
    'response_format',
    'reasoning_effort',
    'stream_options',
  ]) {
    if (body[name] !== undefined) return `${name}: Extra inputs are not permitted`;
  }
  if (body['tool_choice'] !== undefined && !Array.isArray(body['tools']))
    return 'tool_choice: may only be specified while providing tools';
  return null;
}

interface Counts {
  readonly input: number;
  readonly cacheRead: number;
}

/** Blocks marked with `cache_control` count as read from the cache; the rest is plain input. */
function countInput(body: Json): Counts {
  const messages = body['messages'] as readonly Json[];
  const system = body['system'];
  let total = countMessages(messages) + countTokens(textOf(system));
  let cacheRead = 0;
  for (const content of [system, ...messages.map((message) => message['content'])]) {
    if (!Array.isArray(content)) continue;
    for (const block of content) {
      if ((block as Json)['cache_control'] !== undefined) cacheRead += countTokens(textOf([block]));
    }
  }
  if (Array.isArray(body['tools'])) total += countTokens(JSON.stringify(body['tools']));
  return { input: total - cacheRead, cacheRead };
}

export function countTokensAnswer(body: Json, version: string | undefined): SimulatedAnswer {
  const problem = checkBody(body, version, true);
  if (problem !== null) return anthropicError(400, problem);
  const { input, cacheRead } = countInput(body);
  return jsonAnswer(200, { input_tokens: input + cacheRead }, anthropicHeaders());
}

export function message(body: Json, version: string | undefined, behaviour: Behaviour): SimulatedAnswer {
  const problem = checkBody(body, version, false);
  if (problem !== null) return anthropicError(400, problem);
  const counts = countInput(body);
  const calls = toolUses(body);
  const limit = body['max_tokens'] as number;
  const { text, cut } = calls.length > 0 ? { text: '', cut: false } : cutToTokens(answerText(body), limit);
  const thinkingMode = (body['thinking'] as Json | undefined)?.['type'];
  const content: Json[] = [];
  let thinkingTokens = 0;
  if (thinkingMode === 'enabled' || thinkingMode === 'adaptive') {
    const thinking = 'The user said something. I shall say it back.';
    thinkingTokens = countTokens(thinking);
    content.push({ type: 'thinking', thinking, signature: 'c2ltdWxhdGVkIHNpZ25hdHVyZQ==' });
  }
  if (text !== '') content.push({ type: 'text', text });
  content.push(...calls);
  const output =
    countTokens(text) +
    thinkingTokens +
    calls.reduce((sum, call) => sum + countTokens(JSON.stringify(call['input'])), 0);
  const usage = {
    input_tokens: counts.input,
    cache_creation_input_tokens: 0,
    cache_read_input_tokens: counts.cacheRead,
    cache_creation: { ephemeral_5m_input_tokens: 0, ephemeral_1h_input_tokens: 0 },
    output_tokens: output,
    ...(thinkingTokens > 0 ? { output_tokens_details: { thinking_tokens: thinkingTokens } } : {}),
    service_tier: 'standard',
  };
  const stopReason = calls.length > 0 ? 'tool_use' : cut ? 'max_tokens' : 'end_turn';
  const whole = {
    id: newId('msg_01', 22),
    type: 'message',
    role: 'assistant',
    model: body['model'],
    content,
    stop_reason: stopReason,
    stop_sequence: null,
    usage,
  };
  if (body['stream'] !== true) return jsonAnswer(200, whole, anthropicHeaders());
  return streamAnswer(messageFrames(whole, usage, behaviour.chunks), errorFrame, anthropicHeaders());
}

function messageFrames(whole: Json, usage: Json, chunks: number | null): string[] {
  const frames: string[] = [];
  const frame = (type: string, rest: Json): void => {
    frames.push(`event: ${type}\ndata: ${JSON.stringify({ type, ...rest })}\n\n`);
  };
  frame('message_start', {
    message: { ...whole, content: [], stop_reason: null, usage: { ...usage, output_tokens: 1 } },
  });
  (whole['content'] as Json[]).forEach((block, index) => {
    const type = block['type'];
    const delta = (rest: Json): void => frame('content_block_delta', { index, delta: rest });
    if (type === 'thinking') {
      frame('content_block_start', { index, content_block: { type, thinking: '', signature: '' } });
      for (const piece of split(String(block['thinking']), chunks))
        delta({ type: 'thinking_delta', thinking: piece });
      delta({ type: 'signature_delta', signature: block['signature'] });
    } else if (type === 'text') {
      frame('content_block_start', { index, content_block: { type, text: '' } });
      for (const piece of split(String(block['text']), chunks)) delta({ type: 'text_delta', text: piece });
    } else {
      frame('content_block_start', { index, content_block: { ...block, input: {} } });
      delta({ type: 'input_json_delta', partial_json: '' });
      const json = JSON.stringify(block['input']);
      if (json !== '{}')
        for (const piece of split(json, chunks ?? 3))
          delta({ type: 'input_json_delta', partial_json: piece });
    }
    if (index === 0) frame('ping', {});
    frame('content_block_stop', { index });
  });
  frame('message_delta', {
    delta: { stop_reason: whole['stop_reason'], stop_sequence: null },
    usage: { output_tokens: usage['output_tokens'] },
  });
  frame('message_stop', {});
  return frames;
}

function answerText(body: Json): string {
  const messages = body['messages'] as readonly Json[];
  const last = messages[messages.length - 1] as Json;
  const content = last['content'];
  const answersTool =
    Array.isArray(content) && content.some((block) => (block as Json)['type'] === 'tool_result');
  const text = answersTool
    ? `The tool said: ${textOf(content)}`
    : `You said: ${textOf(lastOf(messages, 'user')?.['content'])}`;
  const format = (body['output_config'] as Json | undefined)?.['format'] as Json | undefined;
  return format?.['type'] === 'json_schema' ? JSON.stringify(fill(format['schema'], text)) : text;
}

/** A tool is used where one is demanded, or where the last user message names it. */
function toolUses(body: Json): Json[] {
  const tools = body['tools'];
  const choice = body['tool_choice'] as Json | undefined;
  if (!Array.isArray(tools) || tools.length === 0 || choice?.['type'] === 'none') return [];
  const messages = body['messages'] as readonly Json[];
  const last = messages[messages.length - 1] as Json;
  const content = last['content'];
  const answersTool =
    Array.isArray(content) && content.some((block) => (block as Json)['type'] === 'tool_result');
  const text = answersTool ? '' : textOf(content);
  const named = choice?.['type'] === 'tool' ? choice['name'] : undefined;
  let wanted = (tools as Json[]).filter((tool) =>
    named === undefined ? text.includes(String(tool['name'])) : tool['name'] === named,
  );
  if (wanted.length === 0 && choice?.['type'] === 'any') wanted = tools.slice(0, 1);
  if (choice?.['disable_parallel_tool_use'] === true) wanted = wanted.slice(0, 1);
  return wanted.map((tool) => ({
    type: 'tool_use',
    id: newId('toolu_01', 22),
    name: tool['name'],
    input: fill(tool['input_schema'] ?? {}, text),
  }));
}
