import { jsonAnswer, type SimulatedAnswer, streamAnswer } from './answer.js';
import type { Behaviour } from './behaviour.js';
import { countMessages, countTokens, cutToTokens, fill, type Json, newId, split, textOf } from './text.js';

/** OpenAI's side of the simulated provider, after platform.openai.com/docs/api-reference. */

export function openAiHeaders(): string[] {
  return ['x-request-id', newId('req_', 32), 'openai-version', '2020-10-01', 'openai-processing-ms', '1'];
}

export function openAiError(status: number, message: string, extra: Json = {}): SimulatedAnswer {
  const error = { message, type: errorType(status), param: null, code: null, ...extra };
  return jsonAnswer(status, { error }, openAiHeaders());
}

function errorType(status: number): string {
  if (status === 429) return 'requests';
  return status >= 500 ? 'server_error' : 'invalid_request_error';
}

const errorFrame = `data: ${JSON.stringify({
  error: {
    message: 'The server had an error while processing your request. Sorry about that!',
    type: 'server_error',
    param: null,
    code: null,
  },
})}\n\n`;

/** null: the key is there and good. */
export function checkOpenAiKey(authorization: string | undefined): SimulatedAnswer | null {
  const key = authorization?.replace(/^Bearer\s+/i, '') ?? '';
  if (key === '') {
    return openAiError(
      401,
      "You didn't provide an API key. You need to provide your API key in an Authorization header using Bearer auth (i.e. Authorization: Bearer YOUR_KEY).",
    );
  }
  if (key.startsWith('sk-invalid')) {
    return openAiError(401, 'Incorrect API key provided: sk-inval***.', { code: 'invalid_api_key' });
  }
  return null;
}

interface ToolCall {
  readonly id: string;
  readonly type: 'function';
  readonly function: { readonly name: string; readonly arguments: string };
}

export function chatCompletion(body: Json, behaviour: Behaviour): SimulatedAnswer {
  const messages = body['messages'];
  if (typeof body['model'] !== 'string') return openAiError(400, 'you must provide a model parameter');
  if (!Array.isArray(messages) || messages.length === 0) {
    return openAiError(400, "Missing required parameter: 'messages'.", {
      param: 'messages',
      code: 'missing_required_parameter',
    });
  }
  const input = countMessages(messages);
  const calls = toolCalls(body, messages);
  const full = calls.length > 0 ? '' : answerText(body, messages);
  const limit = body['max_completion_tokens'] ?? body['max_tokens'];
  const { text, cut } = typeof limit === 'number' ? cutToTokens(full, limit) : { text: full, cut: false };
  const n = typeof body['n'] === 'number' ? Math.min(128, body['n']) : 1;
  const said = countTokens(text) + calls.reduce((sum, call) => sum + countTokens(call.function.arguments), 0);
  const finish = calls.length > 0 ? 'tool_calls' : cut ? 'length' : 'stop';
  const head = {
    id: newId('chatcmpl-', 29),
    created: Math.floor(Date.now() / 1000),
    model: body['model'],
    system_fingerprint: 'fp_simulated',
  };
  const usage = usageOf(input, said * n);
  if (body['stream'] === true) {
    return streamAnswer(
      chatFrames(head, text, calls, finish, usage, n, body, behaviour.chunks),
      errorFrame,
      openAiHeaders(),
    );
  }
  const message = {
    role: 'assistant',
    content: calls.length > 0 ? null : text,
    refusal: null,
    ...(calls.length > 0 ? { tool_calls: calls } : {}),
  };
  const choices = [];
  for (let index = 0; index < n; index++)
    choices.push({ index, message, logprobs: null, finish_reason: finish });
  return jsonAnswer(200, { ...head, object: 'chat.completion', choices, usage }, openAiHeaders());
}

function usageOf(input: number, output: number): Json {
  return {
    prompt_tokens: input,
    completion_tokens: output,
    total_tokens: input + output,
    prompt_tokens_details: { cached_tokens: 0, audio_tokens: 0 },
    completion_tokens_details: {
      reasoning_tokens: 0,
      audio_tokens: 0,
      accepted_prediction_tokens: 0,
      rejected_prediction_tokens: 0,
    },
  };
}

function chatFrames(
  head: Json,
  text: string,
  calls: readonly ToolCall[],
  finish: string,
  usage: Json,
  n: number,
  body: Json,
  chunks: number | null,
): string[] {
  const wantsUsage = (body['stream_options'] as Json | null | undefined)?.['include_usage'] === true;
  // Written by hand around the piece: under load this is most of the work.
  const start = JSON.stringify({ ...head, object: 'chat.completion.chunk' }).slice(0, -1);
  const frame = (index: number, delta: string, reason: string): string =>
    `data: ${start},"choices":[{"index":${index},"delta":${delta},"logprobs":null,"finish_reason":${reason}}]${wantsUsage ? ',"usage":null' : ''}}\n\n`;
  const frames: string[] = [];
  for (let index = 0; index < n; index++) {
    frames.push(frame(index, '{"role":"assistant","content":"","refusal":null}', 'null'));
    if (calls.length === 0) {
      for (const piece of split(text, chunks))
        frames.push(frame(index, `{"content":${JSON.stringify(piece)}}`, 'null'));
    }
    calls.forEach((call, at) => {
      const begun = {
        index: at,
        id: call.id,
        type: call.type,
        function: { name: call.function.name, arguments: '' },
      };
      frames.push(frame(index, `{"tool_calls":[${JSON.stringify(begun)}]}`, 'null'));
      for (const piece of split(call.function.arguments, chunks ?? 3)) {
        if (piece === '') continue;
        const more = { index: at, function: { arguments: piece } };
        frames.push(frame(index, `{"tool_calls":[${JSON.stringify(more)}]}`, 'null'));
      }
    });
    frames.push(frame(index, '{}', JSON.stringify(finish)));
  }
  if (wantsUsage) frames.push(`data: ${start},"choices":[],"usage":${JSON.stringify(usage)}}\n\n`);
  frames.push('data: [DONE]\n\n');
  return frames;
}

function answerText(body: Json, messages: readonly unknown[]): string {
  const last = messages[messages.length - 1] as Json | null;
  const text =
    last?.['role'] === 'tool'
      ? `The tool said: ${textOf(last['content'])}`
      : `You said: ${textOf(lastOf(messages, 'user')?.['content'])}`;
  const format = body['response_format'] as Json | null | undefined;
  if (format?.['type'] === 'json_object') return JSON.stringify({ answer: text });
  if (format?.['type'] === 'json_schema') {
    return JSON.stringify(fill((format['json_schema'] as Json | undefined)?.['schema'], text));
  }
  return text;
}

export function lastOf(messages: readonly unknown[], role: string): Json | null {
  for (let i = messages.length - 1; i >= 0; i--) {
    const message = messages[i] as Json | null;
    if (message?.['role'] === role) return message;
  }
  return null;
}

/** A tool is called where one is demanded, or where the last user message names it. */
function toolCalls(body: Json, messages: readonly unknown[]): ToolCall[] {
  const tools = body['tools'];
  const choice = body['tool_choice'];
  if (!Array.isArray(tools) || tools.length === 0 || choice === 'none') return [];
  const functions = tools
    .map((tool) => (tool as Json)['function'] as Json | undefined)
    .filter((fn) => fn !== undefined);
  const last = messages[messages.length - 1] as Json | null;
  const text = last?.['role'] === 'user' ? textOf(last['content']) : '';
  const named = ((choice as Json | null)?.['function'] as Json | undefined)?.['name'];
  let wanted = functions.filter((fn) =>
    named === undefined ? text.includes(String(fn['name'])) : fn['name'] === named,
  );
  if (wanted.length === 0 && choice === 'required') wanted = functions.slice(0, 1);
  if (body['parallel_tool_calls'] === false) wanted = wanted.slice(0, 1);
  return wanted.map((fn) => ({
    id: newId('call_'),
    type: 'function',
    function: { name: String(fn['name']), arguments: JSON.stringify(fill(fn['parameters'] ?? {}, text)) },
  }));
}

export function completion(body: Json, behaviour: Behaviour): SimulatedAnswer {
  if (typeof body['model'] !== 'string') return openAiError(400, 'you must provide a model parameter');
  const prompts = promptTexts(body['prompt']);
  const n = typeof body['n'] === 'number' ? body['n'] : 1;
  const limit = typeof body['max_tokens'] === 'number' ? body['max_tokens'] : 16;
  let input = 0;
  let output = 0;
  const texts: { text: string; finish: string }[] = [];
  for (const prompt of prompts) {
    input += countTokens(prompt);
    for (let i = 0; i < n; i++) {
      const { text, cut } = cutToTokens(` You said: ${prompt}`, limit);
      output += countTokens(text);
      texts.push({ text: body['echo'] === true ? prompt + text : text, finish: cut ? 'length' : 'stop' });
    }
  }
  const usage = { prompt_tokens: input, completion_tokens: output, total_tokens: input + output };
  const head = {
    id: newId('cmpl-', 29),
    object: 'text_completion',
    created: Math.floor(Date.now() / 1000),
    model: body['model'],
  };
  if (body['stream'] !== true) {
    const choices = texts.map(({ text, finish }, index) => ({
      text,
      index,
      logprobs: null,
      finish_reason: finish,
    }));
    return jsonAnswer(200, { ...head, choices, usage }, openAiHeaders());
  }
  const wantsUsage = (body['stream_options'] as Json | null | undefined)?.['include_usage'] === true;
  const frames: string[] = [];
  const frame = (choices: unknown[], counted: unknown): void => {
    frames.push(
      `data: ${JSON.stringify({ ...head, choices, ...(wantsUsage ? { usage: counted } : {}) })}\n\n`,
    );
  };
  texts.forEach(({ text, finish }, index) => {
    for (const piece of split(text, behaviour.chunks))
      frame([{ text: piece, index, logprobs: null, finish_reason: null }], null);
    frame([{ text: '', index, logprobs: null, finish_reason: finish }], null);
  });
  if (wantsUsage) frame([], usage);
  frames.push('data: [DONE]\n\n');
  return streamAnswer(frames, errorFrame, openAiHeaders());
}

/** A string, strings, tokens or lists of tokens; tokens are shown as numbers. */
function promptTexts(prompt: unknown): string[] {
  if (typeof prompt === 'string') return [prompt];
  if (!Array.isArray(prompt) || prompt.length === 0) return ['<|endoftext|>'];
  if (typeof prompt[0] === 'number') return [prompt.join(' ')];
  return prompt.map((item) => (Array.isArray(item) ? item.join(' ') : String(item)));
}

export function embedding(body: Json): SimulatedAnswer {
  const input = body['input'];
  if (
    input === undefined ||
    input === '' ||
    (Array.isArray(input) && (input.length === 0 || input.length > 2048))
  ) {
    return openAiError(
      400,
      "'$.input' is invalid. Please check the API reference: https://platform.openai.com/docs/api-reference.",
    );
  }
  const texts = promptTexts(input);
  const model = String(body['model']);
  const size =
    typeof body['dimensions'] === 'number' ? body['dimensions'] : model.includes('3-large') ? 3072 : 1536;
  const base64 = body['encoding_format'] === 'base64';
  let tokens = 0;
  const data = texts.map((text, index) => {
    tokens += countTokens(text);
    const vector = model.startsWith('sim-words') ? vectorOfWords(text, size) : vectorOf(text, size);
    const bytes = Buffer.from(vector.buffer, vector.byteOffset, vector.byteLength);
    return { object: 'embedding', index, embedding: base64 ? bytes.toString('base64') : Array.from(vector) };
  });
  const usage = { prompt_tokens: tokens, total_tokens: tokens };
  return jsonAnswer(200, { object: 'list', data, model, usage }, openAiHeaders());
}

/** Words without meaning for a question's subject. */
const smallWords = new Set(
  'a an and are can could do does for how i in is it me my of on or please tell the to was what with would you'.split(
    ' ',
  ),
);

/** A unit vector of the words that a text has, whatever their order: texts that share most of them are near. */
export function vectorOfWords(text: string, size: number): Float32Array {
  const sum = new Float32Array(size);
  for (const word of text.toLowerCase().match(/[\p{L}\p{N}]+/gu) ?? []) {
    if (smallWords.has(word)) continue;
    vectorOf(word, size).forEach((value, i) => {
      sum[i]! += value;
    });
  }
  const length = Math.hypot(...sum);
  return length === 0 ? vectorOf(text, size) : sum.map((value) => value / length);
}

/** A unit vector that depends on the text alone. */
export function vectorOf(text: string, size: number): Float32Array {
  let seed = 2166136261;
  for (let i = 0; i < text.length; i++) seed = Math.imul(seed ^ text.charCodeAt(i), 16777619);
  const vector = new Float32Array(size);
  let sum = 0;
  for (let i = 0; i < size; i++) {
    seed = (Math.imul(seed, 1664525) + 1013904223) | 0;
    const value = seed / 2147483648;
    vector[i] = value;
    sum += value * value;
  }
  const length = Math.sqrt(sum) || 1;
  for (let i = 0; i < size; i++) vector[i] = (vector[i] as number) / length;
  return vector;
}

const categories = [
  'hate',
  'hate/threatening',
  'harassment',
  'harassment/threatening',
  'self-harm',
  'self-harm/intent',
  'self-harm/instructions',
  'sexual',
  'sexual/minors',
  'violence',
  'violence/graphic',
];

/** Flags a text that names a category, under that category. */
export function moderation(body: Json): SimulatedAnswer {
  const inputs = promptTexts(body['input']);
  const results = inputs.map((text) => {
    const flags: Record<string, boolean> = {};
    const scores: Record<string, number> = {};
    for (const category of categories) {
      flags[category] = text.includes(category);
      scores[category] = flags[category] ? 0.98 : 0.0001;
    }
    return { flagged: Object.values(flags).includes(true), categories: flags, category_scores: scores };
  });
  const model = body['model'] ?? 'text-moderation-latest';
  return jsonAnswer(200, { id: newId('modr-', 29), model, results }, openAiHeaders());
}

const modelIds = [
  'gpt-4o',
  'gpt-4o-mini',
  'gpt-3.5-turbo-instruct',
  'text-embedding-3-small',
  'text-embedding-3-large',
  'text-moderation-latest',
];

export function models(id: string | null): SimulatedAnswer {
  const model = (name: string): Json => ({
    id: name,
    object: 'model',
    created: 1715367049,
    owned_by: 'simulated',
  });
  if (id !== null) return jsonAnswer(200, model(id), openAiHeaders());
  return jsonAnswer(200, { object: 'list', data: modelIds.map(model) }, openAiHeaders());
}
