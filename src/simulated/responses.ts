import { jsonAnswer, type SimulatedAnswer, streamAnswer } from './answer.js';
import type { Behaviour } from './behaviour.js';
import { chatCompletion, openAiError, openAiHeaders } from './openai.js';
import { type Json, newId, split } from './text.js';

/** The simulated provider's Responses API (platform.openai.com/docs/api-reference/responses), with the texts of its chat. */

const errorFrame = `event: error\ndata: ${JSON.stringify({
  type: 'error',
  sequence_number: 4,
  error: { type: 'server_error', code: 'server_error', message: 'The server had an error.', param: null },
})}\n\n`;

export function response(body: Json, behaviour: Behaviour): SimulatedAnswer {
  const chat = chatCompletion({ ...chatBody(body), stream: false }, behaviour);
  const said = JSON.parse(String(chat.body)) as Json;
  if (chat.status !== 200) return openAiError(chat.status, String((said['error'] as Json)['message']));
  const choice = (said['choices'] as Json[])[0] as Json;
  const message = choice['message'] as Json;
  const usage = said['usage'] as Record<string, number>;
  const cut = choice['finish_reason'] === 'length';
  const whole = {
    id: newId('resp_', 48),
    object: 'response',
    created_at: said['created'],
    status: cut ? 'incomplete' : 'completed',
    background: false,
    error: null,
    incomplete_details: cut ? { reason: 'max_output_tokens' } : null,
    instructions: body['instructions'] ?? null,
    max_output_tokens: body['max_output_tokens'] ?? null,
    model: said['model'],
    output: output(message),
    parallel_tool_calls: body['parallel_tool_calls'] ?? true,
    previous_response_id: body['previous_response_id'] ?? null,
    reasoning: { effort: null, summary: null },
    store: body['store'] ?? true,
    temperature: body['temperature'] ?? 1,
    text: body['text'] ?? { format: { type: 'text' }, verbosity: 'medium' },
    tool_choice: body['tool_choice'] ?? 'auto',
    tools: body['tools'] ?? [],
    top_p: body['top_p'] ?? 1,
    truncation: body['truncation'] ?? 'disabled',
    usage: {
      input_tokens: usage['prompt_tokens'],
      input_tokens_details: { cached_tokens: 0 },
      output_tokens: usage['completion_tokens'],
      output_tokens_details: { reasoning_tokens: 0 },
      total_tokens: usage['total_tokens'],
    },
    user: body['user'] ?? null,
    metadata: body['metadata'] ?? {},
  };
  if (body['stream'] !== true) return jsonAnswer(200, whole, openAiHeaders());
  return streamAnswer(frames(whole, behaviour.chunks), errorFrame, openAiHeaders());
}

function chatBody(body: Json): Json {
  const { input, instructions } = body;
  const items = typeof input === 'string' ? [{ role: 'user', content: input }] : (input as Json[]);
  const messages = items.map((item) => {
    if (item['type'] === 'function_call_output') return { role: 'tool', content: item['output'] };
    if (item['type'] === 'function_call') return { role: 'assistant', content: '' };
    return { role: item['role'], content: item['content'] };
  });
  if (typeof instructions === 'string') messages.unshift({ role: 'system', content: instructions });
  const tools = ((body['tools'] ?? []) as Json[]).map((tool) => ({ type: 'function', function: tool }));
  const choice = body['tool_choice'] as Json | string | undefined;
  const format = (body['text'] as Json | undefined)?.['format'] as Json | undefined;
  return {
    model: body['model'],
    messages,
    tools,
    tool_choice: typeof choice === 'object' ? { type: 'function', function: choice } : choice,
    parallel_tool_calls: body['parallel_tool_calls'],
    max_completion_tokens: body['max_output_tokens'],
    ...(format === undefined ? {} : { response_format: { type: format['type'], json_schema: format } }),
  };
}

function output(message: Json): Json[] {
  const calls = (message['tool_calls'] ?? []) as {
    id: string;
    function: { name: string; arguments: string };
  }[];
  if (calls.length === 0) {
    const part = { type: 'output_text', annotations: [], logprobs: [], text: message['content'] };
    return [
      { id: newId('msg_', 48), type: 'message', status: 'completed', content: [part], role: 'assistant' },
    ];
  }
  return calls.map((call) => ({
    id: newId('fc_', 48),
    type: 'function_call',
    status: 'completed',
    arguments: call.function.arguments,
    call_id: call.id,
    name: call.function.name,
  }));
}

function frames(whole: Json, chunks: number | null): string[] {
  const out: string[] = [];
  const frame = (type: string, fields: Json): void => {
    const data = JSON.stringify({ type, sequence_number: out.length, ...fields });
    out.push(`event: ${type}\ndata: ${data}\n\n`);
  };
  const begun = { ...whole, status: 'in_progress', output: [], usage: null, incomplete_details: null };
  frame('response.created', { response: begun });
  frame('response.in_progress', { response: begun });
  (whole['output'] as Json[]).forEach((item, index) => {
    const at = { output_index: index, item_id: item['id'] };
    if (item['type'] === 'message') {
      const part = (item['content'] as Json[])[0] as Json;
      const text = String(part['text']);
      const piece = { ...at, content_index: 0 };
      frame('response.output_item.added', {
        output_index: index,
        item: { ...item, status: 'in_progress', content: [] },
      });
      frame('response.content_part.added', { ...piece, part: { ...part, text: '' } });
      for (const delta of split(text, chunks)) {
        frame('response.output_text.delta', { ...piece, delta, logprobs: [], obfuscation: 'x' });
      }
      frame('response.output_text.done', { ...piece, text, logprobs: [] });
      frame('response.content_part.done', { ...piece, part });
    } else {
      frame('response.output_item.added', {
        output_index: index,
        item: { ...item, status: 'in_progress', arguments: '' },
      });
      for (const delta of split(String(item['arguments']), chunks ?? 3)) {
        frame('response.function_call_arguments.delta', { ...at, delta });
      }
      frame('response.function_call_arguments.done', { ...at, arguments: item['arguments'] });
    }
    frame('response.output_item.done', { output_index: index, item });
  });
  frame(`response.${String(whole['status'])}`, { response: whole });
  return out;
}
