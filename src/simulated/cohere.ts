import type { IncomingMessage } from 'node:http';
import { jsonAnswer, type SimulatedAnswer, streamAnswer } from './answer.js';
import type { Behaviour } from './behaviour.js';
import { lastOf, vectorOf } from './openai.js';
import { countMessages, countTokens, cutToTokens, fill, type Json, newId, split, textOf } from './text.js';

/** Cohere's side of the simulated provider, version 2, after docs.cohere.com/reference, with other providers whose rerank has its form. */

export function isCoherePath(path: string): boolean {
  return path === '/v2/chat' || path === '/v2/embed' || path === '/v2/rerank' || path === '/v1/rerank';
}

const headers = (): string[] => ['x-debug-trace-id', newId('', 32), 'x-api-warning', ''];

export function cohereError(status: number, message: string): SimulatedAnswer {
  return jsonAnswer(status, { id: newId('', 36), message }, headers());
}

const errorFrame = frameOf({
  type: 'message-end',
  delta: { finish_reason: 'ERROR', error: 'internal server error' },
});

export function cohereAnswer(
  request: IncomingMessage,
  path: string,
  bytes: Buffer,
  behaviour: Behaviour,
): SimulatedAnswer {
  const key = request.headers.authorization?.replace(/^Bearer\s+/i, '') ?? '';
  if (key === '') return cohereError(401, 'no api key supplied');
  if (key.startsWith('sk-invalid')) return cohereError(401, 'invalid api token');
  if (behaviour.fault !== null && /^\d+$/.test(behaviour.fault)) return failed(behaviour);
  let body: Json;
  try {
    body = JSON.parse(bytes.toString('utf8')) as Json;
  } catch {
    return cohereError(400, 'failed to parse request body');
  }
  switch (path) {
    case '/v2/chat':
      return chat(body, behaviour);
    case '/v2/embed':
      return embed(body);
    default:
      return rerank(body, path);
  }
}

function failed({ fault, value }: Behaviour): SimulatedAnswer {
  const status = Number(fault);
  const answer = cohereError(
    status,
    status === 429
      ? 'You are using a Trial key, which is limited to 10 API calls / minute.'
      : `Simulated refusal with status ${status}.`,
  );
  return value === null ? answer : { ...answer, headers: [...answer.headers, 'retry-after', value] };
}

const chatFields = new Set([
  ...['model', 'messages', 'stream', 'tools', 'tool_choice', 'strict_tools', 'documents', 'citation_options'],
  ...['response_format', 'safety_mode', 'max_tokens', 'stop_sequences', 'temperature', 'seed', 'thinking'],
  ...['frequency_penalty', 'presence_penalty', 'k', 'p', 'logprobs', 'priority'],
]);

/** What the real API refuses and a gateway might get wrong. */
function checkChat(body: Json): string | null {
  for (const name in body) if (!chatFields.has(name)) return `invalid request: unknown field ${name}`;
  if (typeof body['model'] !== 'string') return 'invalid request: model is required';
  const { messages } = body;
  if (!Array.isArray(messages) || messages.length === 0)
    return 'invalid request: messages must be at least 1 token long';
  const p = body['p'];
  if (typeof p === 'number' && (p < 0.01 || p > 0.99))
    return 'invalid request: p must be between 0.01 and 0.99';
  const choice = body['tool_choice'];
  if (choice !== undefined && choice !== 'REQUIRED' && choice !== 'NONE')
    return 'invalid request: tool_choice must be REQUIRED or NONE';
  const called = new Set<unknown>();
  for (const [i, message] of (messages as Json[]).entries()) {
    if (!['system', 'user', 'assistant', 'tool'].includes(String(message['role'])))
      return `invalid request: messages[${i}].role is unknown`;
    for (const call of (message['tool_calls'] ?? []) as Json[]) called.add(call['id']);
    if (message['role'] === 'tool' && !called.has(message['tool_call_id']))
      return `invalid request: messages[${i}].tool_call_id names no call`;
  }
  return null;
}

interface Call {
  readonly id: string;
  readonly type: 'function';
  readonly function: { readonly name: string; readonly arguments: string };
}

function chat(body: Json, behaviour: Behaviour): SimulatedAnswer {
  const problem = checkChat(body);
  if (problem !== null) return cohereError(400, problem);
  const messages = body['messages'] as readonly Json[];
  const calls = toolCalls(body, messages);
  const limit = body['max_tokens'];
  const full = calls.length > 0 ? '' : answerText(body, messages);
  const { text, cut } = typeof limit === 'number' ? cutToTokens(full, limit) : { text: full, cut: false };
  const output =
    countTokens(text) + calls.reduce((sum, call) => sum + countTokens(call.function.arguments), 0);
  const counts = { input_tokens: countMessages(messages), output_tokens: output };
  const usage = { billed_units: counts, tokens: counts };
  const finish = calls.length > 0 ? 'TOOL_CALL' : cut ? 'MAX_TOKENS' : 'COMPLETE';
  const plan = calls.length > 0 ? 'I will use a tool.' : null;
  const id = newId('', 36);
  if (body['stream'] === true)
    return streamAnswer(
      chatFrames(id, text, plan, calls, finish, usage, behaviour.chunks),
      errorFrame,
      headers(),
    );
  const message = {
    role: 'assistant',
    ...(plan === null ? { content: [{ type: 'text', text }] } : { tool_plan: plan, tool_calls: calls }),
  };
  return jsonAnswer(200, { id, message, finish_reason: finish, usage }, headers());
}

function frameOf(event: Json): string {
  return `event: ${String(event['type'])}\ndata: ${JSON.stringify(event)}\n\n`;
}

function chatFrames(
  id: string,
  text: string,
  plan: string | null,
  calls: readonly Call[],
  finish: string,
  usage: Json,
  chunks: number | null,
): string[] {
  const frames: string[] = [];
  const say = (type: string, message: Json | null, rest: Json = {}): void => {
    frames.push(frameOf({ type, ...rest, ...(message === null ? {} : { delta: { message } }) }));
  };
  say(
    'message-start',
    { role: 'assistant', content: [], tool_plan: '', tool_calls: [], citations: [] },
    { id },
  );
  if (plan === null) {
    say('content-start', { content: { type: 'text', text: '' } }, { index: 0 });
    for (const piece of split(text, chunks)) say('content-delta', { content: { text: piece } }, { index: 0 });
    say('content-end', null, { index: 0 });
  } else for (const piece of split(plan, chunks)) say('tool-plan-delta', { tool_plan: piece });
  calls.forEach((call, index) => {
    say(
      'tool-call-start',
      { tool_calls: { ...call, function: { name: call.function.name, arguments: '' } } },
      { index },
    );
    for (const piece of split(call.function.arguments, chunks ?? 3))
      say('tool-call-delta', { tool_calls: { function: { arguments: piece } } }, { index });
    say('tool-call-end', null, { index });
  });
  frames.push(frameOf({ type: 'message-end', delta: { finish_reason: finish, usage } }), 'data: [DONE]\n\n');
  return frames;
}

function answerText(body: Json, messages: readonly Json[]): string {
  const last = messages[messages.length - 1] as Json;
  const text =
    last['role'] === 'tool'
      ? `The tool said: ${textOf(last['content'])}`
      : `You said: ${textOf(lastOf(messages, 'user')?.['content'])}`;
  const format = body['response_format'] as Json | undefined;
  if (format?.['type'] !== 'json_object') return text;
  return JSON.stringify(
    format['json_schema'] === undefined ? { answer: text } : fill(format['json_schema'], text),
  );
}

/** A tool is called where one is demanded, or where the last user message names it. */
function toolCalls(body: Json, messages: readonly Json[]): Call[] {
  const tools = (body['tools'] ?? []) as Json[];
  if (tools.length === 0 || body['tool_choice'] === 'NONE') return [];
  const last = messages[messages.length - 1] as Json;
  const text = last['role'] === 'user' ? textOf(last['content']) : '';
  const functions = tools.map((tool) => tool['function'] as Json);
  let wanted = functions.filter((fn) => text.includes(String(fn['name'])));
  if (wanted.length === 0 && body['tool_choice'] === 'REQUIRED') wanted = functions.slice(0, 1);
  return wanted.map((fn) => ({
    id: newId(`${String(fn['name'])}_`, 12),
    type: 'function',
    function: { name: String(fn['name']), arguments: JSON.stringify(fill(fn['parameters'] ?? {}, text)) },
  }));
}

function embed(body: Json): SimulatedAnswer {
  const { texts } = body;
  if (!Array.isArray(texts) || texts.length === 0 || texts.length > 96)
    return cohereError(400, 'invalid request: at most 96 texts, at least one');
  if (body['input_type'] === undefined) return cohereError(400, 'invalid request: input_type is required');
  const size = typeof body['output_dimension'] === 'number' ? body['output_dimension'] : 1536;
  const tokens = (texts as string[]).reduce((sum, text) => sum + countTokens(text), 0);
  const float = (texts as string[]).map((text) => Array.from(vectorOf(text, size)));
  return jsonAnswer(
    200,
    {
      id: newId('', 36),
      embeddings: { float },
      texts,
      meta: { api_version: { version: '2' }, billed_units: { input_tokens: tokens } },
      response_type: 'embeddings_by_type',
    },
    headers(),
  );
}

/** The more words of the query a document has, the better. Voyage's models begin with `rerank-2`, Jina's with `jina-`. */
function rerank(body: Json, path: string): SimulatedAnswer {
  const documents = body['documents'];
  if (!Array.isArray(documents)) return cohereError(400, 'invalid request: documents are required');
  const model = String(body['model']);
  const texts = documents.map((document: unknown) => (typeof document === 'string' ? document : null));
  const textsOnly = path === '/v2/rerank' || model.startsWith('rerank-2');
  if (textsOnly && texts.includes(null))
    return cohereError(400, 'invalid request: documents must be strings');
  const words = String(body['query']).toLowerCase().split(/\W+/);
  const ranked = documents.map((document: unknown, index) => {
    const text = typeof document === 'string' ? document : String((document as Json)['text']);
    const hits = words.filter((word) => text.toLowerCase().includes(word)).length;
    return { index, relevance_score: hits / words.length, text };
  });
  ranked.sort((a, b) => b.relevance_score - a.relevance_score);
  const top = ranked.slice(0, (body['top_n'] ?? body['top_k'] ?? ranked.length) as number);
  const withText = body['return_documents'] === true && path !== '/v2/rerank';
  const voyage = model.startsWith('rerank-2') && path === '/v1/rerank';
  const results = top.map(({ text, ...result }) => ({
    ...result,
    ...(withText ? { document: voyage ? text : { text } } : {}),
  }));
  const total = countTokens(JSON.stringify(documents));
  if (path === '/v2/rerank')
    return jsonAnswer(
      200,
      { id: newId('', 36), results, meta: { billed_units: { search_units: 1 } } },
      headers(),
    );
  if (voyage)
    return jsonAnswer(
      200,
      { object: 'list', data: results, model, usage: { total_tokens: total } },
      headers(),
    );
  return jsonAnswer(200, { model, object: 'list', usage: { total_tokens: total }, results }, headers());
}
