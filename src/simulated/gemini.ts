import type { IncomingMessage } from 'node:http';
import { jsonAnswer, type SimulatedAnswer } from './answer.js';
import { countTokensAnswer, message } from './anthropic.js';
import type { Behaviour } from './behaviour.js';
import { checkGenerate } from './gemini-check.js';
import { chatCompletion, vectorOf } from './openai.js';
import { countTokens, cutToTokens, fill, type Json, newId, split } from './text.js';

/**
 * Google's side of the simulated provider: the Gemini API, after ai.google.dev/api, and Vertex AI, whose paths end the
 * same. A prompt with [blocked] is blocked; the answer to one with [unsafe] is cut off.
 */

const modelPath =
  /^\/v1(?:beta\d?)?\/(?:projects\/[^/]+\/locations\/[^/]+\/)?(?:publishers\/(google|anthropic)\/)?models\/([^/:]+):(\w+)$/;
const openPath = /^\/v1\/projects\/[^/]+\/locations\/[^/]+\/endpoints\/[^/]+\/chat\/completions$/;

export function isGeminiPath(path: string): boolean {
  return modelPath.test(path) || openPath.test(path);
}

/** The model, taken from the path. */
export function geminiModel(path: string): string {
  return decodeURIComponent(modelPath.exec(path)?.[2] ?? '');
}

const statuses: Readonly<Record<number, string>> = {
  400: 'INVALID_ARGUMENT',
  401: 'UNAUTHENTICATED',
  403: 'PERMISSION_DENIED',
  404: 'NOT_FOUND',
  429: 'RESOURCE_EXHAUSTED',
  499: 'CANCELLED',
  503: 'UNAVAILABLE',
  504: 'DEADLINE_EXCEEDED',
};

export function geminiError(code: number, text: string): SimulatedAnswer {
  const status = statuses[code] ?? (code < 500 ? 'FAILED_PRECONDITION' : 'INTERNAL');
  return jsonAnswer(code, { error: { code, message: text, status } }, headers());
}

const headers = (): string[] => ['server', 'scaffolding on HTTPServer2', 'x-content-type-options', 'nosniff'];

export function geminiAnswer(
  request: IncomingMessage,
  path: string,
  bytes: Buffer,
  behaviour: Behaviour,
): SimulatedAnswer {
  const query = new URLSearchParams((request.url ?? '').slice(path.length));
  const refusal = checkKey(request, query);
  if (refusal !== null) return refusal;
  if (behaviour.fault !== null && /^\d+$/.test(behaviour.fault)) return failed(behaviour);
  let body: Json;
  try {
    body = JSON.parse(bytes.toString('utf8')) as Json;
  } catch {
    return geminiError(400, 'Invalid JSON payload received. Unexpected end of string.');
  }
  if (openPath.test(path)) return chatCompletion(body, behaviour);
  const [, publisher, , operation] = modelPath.exec(path) ?? [];
  const model = geminiModel(path);
  if (publisher === 'anthropic') return claude(body, model, behaviour);
  switch (operation) {
    case 'generateContent':
    case 'streamGenerateContent':
      return generate(
        body,
        model,
        operation === 'generateContent' ? 'whole' : (query.get('alt') ?? 'json'),
        behaviour,
      );
    case 'countTokens':
      return counted(body, publisher !== undefined);
    case 'embedContent':
      return jsonAnswer(200, { embedding: embedded(body) }, headers());
    case 'batchEmbedContents':
      return jsonAnswer(200, { embeddings: ((body['requests'] ?? []) as Json[]).map(embedded) }, headers());
    case 'predict':
      return predict(body);
    default:
      return geminiError(
        404,
        `models/${model} is not found for API version v1beta, or is not supported for ${operation}.`,
      );
  }
}

/** An API key in the header or the query, or an OAuth token. */
function checkKey(request: IncomingMessage, query: URLSearchParams): SimulatedAnswer | null {
  const bearer = request.headers.authorization?.replace(/^Bearer\s+/i, '');
  const key = (request.headers['x-goog-api-key'] as string | undefined) ?? query.get('key') ?? bearer ?? '';
  if (key === '') {
    return geminiError(
      403,
      "Method doesn't allow unregistered callers (callers without established identity). Please use API Key or other form of API consumer identity to call this API.",
    );
  }
  if (!key.startsWith('sk-invalid')) return null;
  return key === bearer
    ? geminiError(401, 'Request had invalid authentication credentials. Expected OAuth 2 access token.')
    : geminiError(400, 'API key not valid. Please pass a valid API key.');
}

function failed({ fault, value }: Behaviour): SimulatedAnswer {
  const status = Number(fault);
  const text =
    status === 429
      ? 'Resource has been exhausted (e.g. check quota).'
      : status === 503
        ? 'The model is overloaded. Please try again later.'
        : `Simulated refusal with status ${status}.`;
  const answer = geminiError(status, text);
  return value === null ? answer : { ...answer, headers: [...answer.headers, 'retry-after', value] };
}

/** Claude on Vertex AI: the model in the path, the version in the body. */
function claude(
  { anthropic_version: version, ...body }: Json,
  model: string,
  behaviour: Behaviour,
): SimulatedAnswer {
  // Not a model: its body names the one to count for.
  if (model === 'count-tokens') return countTokensAnswer(body, '2023-06-01');
  if (version !== 'vertex-2023-10-16') return geminiError(400, 'anthropic_version: Field required');
  if (body['model'] !== undefined) return geminiError(400, 'model: Extra inputs are not permitted');
  return message({ ...body, model }, '2023-06-01', behaviour);
}

const textIn = (content: Json | undefined): string =>
  ((content?.['parts'] ?? []) as Json[]).map((part) => (part['text'] as string | undefined) ?? '').join('');

function countInput(body: Json): number {
  let tokens = countTokens(textIn(body['systemInstruction'] as Json | undefined));
  for (const content of (body['contents'] ?? []) as Json[])
    tokens += 1 + countTokens(JSON.stringify(content['parts']));
  if (body['tools'] !== undefined) tokens += countTokens(JSON.stringify(body['tools']));
  return tokens;
}

/** Google's own API counts a whole request only in `generateContentRequest`; Vertex AI has its members in the body. */
function counted(body: Json, onVertex: boolean): SimulatedAnswer {
  const whole = body['generateContentRequest'] as Json | undefined;
  const request = whole ?? body;
  const allowed = onVertex
    ? ['contents', 'systemInstruction', 'tools', 'generationConfig']
    : ['contents', 'generateContentRequest'];
  const extra = Object.keys(body).find((name) => !allowed.includes(name));
  if (extra !== undefined)
    return geminiError(400, `Invalid JSON payload received. Unknown name "${extra}": Cannot find field.`);
  if (whole !== undefined && !/^models\//.test(String(whole['model'])))
    return geminiError(400, '* CountTokensRequest.generate_content_request.model: model is required');
  const totalTokens = countInput(request);
  return jsonAnswer(
    200,
    { totalTokens, promptTokensDetails: [{ modality: 'TEXT', tokenCount: totalTokens }] },
    headers(),
  );
}

const signatures = { call: 'c2ltdWxhdGVkIHNpZ25hdHVyZQ==', text: 'c2lnbmVkIHRleHQ=' };

const thoughts = 'The user said something. I shall say it back.';

function generate(body: Json, model: string, how: string, behaviour: Behaviour): SimulatedAnswer {
  const problem = checkGenerate(body, model);
  if (problem !== null) return geminiError(400, problem);
  const contents = body['contents'] as Json[];
  const config = (body['generationConfig'] ?? {}) as Json;
  const last = contents[contents.length - 1] as Json;
  const head = { modelVersion: model, responseId: newId('', 22) };
  const prompt = countInput(body);
  if (textIn(last).includes('[blocked]')) {
    const promptFeedback = { blockReason: 'PROHIBITED_CONTENT' };
    const usageMetadata = { promptTokenCount: prompt, totalTokenCount: prompt };
    return given([{ promptFeedback, usageMetadata, ...head }], how);
  }
  const calls = functionCalls(body, last);
  const limit = (config['maxOutputTokens'] as number | undefined) ?? 8192;
  const { text, cut } =
    calls.length > 0 ? { text: '', cut: false } : cutToTokens(answerText(config, contents, last), limit);
  const thinking = config['thinkingConfig'] as Json | undefined;
  const thinks = thinking !== undefined && thinking['thinkingBudget'] !== 0;
  const shown = thinks && thinking['includeThoughts'] === true;
  const finishReason = textIn(last).includes('[unsafe]') ? 'SAFETY' : cut ? 'MAX_TOKENS' : 'STOP';
  const candidatesTokenCount =
    countTokens(text) + calls.reduce((sum, call) => sum + countTokens(JSON.stringify(call)), 0);
  const thoughtsTokenCount = thinks ? countTokens(thoughts) : 0;
  const usageMetadata = {
    promptTokenCount: prompt,
    candidatesTokenCount,
    totalTokenCount: prompt + candidatesTokenCount + thoughtsTokenCount,
    promptTokensDetails: [{ modality: 'TEXT', tokenCount: prompt }],
    ...(thinks ? { thoughtsTokenCount } : {}),
  };
  const whole = how === 'whole';
  const pieces = (full: string): string[] => (whole ? [full] : split(full, behaviour.chunks));
  const parts: Json[] = shown ? pieces(thoughts).map((piece) => ({ text: piece, thought: true })) : [];
  if (text !== '') parts.push(...pieces(text).map((piece) => ({ text: piece })));
  // Since 3 the last part of a text is signed; a stream may bring the signature in an empty part.
  if (text !== '' && /gemini-3/.test(model)) {
    if (whole) Object.assign(parts.at(-1)!, { thoughtSignature: signatures.text });
    else parts.push({ text: '', thoughtSignature: signatures.text });
  }
  parts.push(...calls);
  const frame = (content: Json[], ends: boolean): Json => ({
    candidates: [{ content: { parts: content, role: 'model' }, ...(ends ? { finishReason } : {}), index: 0 }],
    usageMetadata: ends ? usageMetadata : { promptTokenCount: prompt, totalTokenCount: prompt },
    ...head,
  });
  if (whole) return given([frame(parts, true)], how);
  return given(
    parts.map((part, i) => frame([part], i === parts.length - 1)),
    how,
  );
}

/** Whole; as events (`alt=sse`); or, where nothing is asked for, as one array that grows. */
function given(frames: readonly Json[], how: string): SimulatedAnswer {
  if (how === 'whole') return jsonAnswer(200, frames[0], headers());
  const error = {
    error: { code: 503, message: 'The model is overloaded. Please try again later.', status: 'UNAVAILABLE' },
  };
  if (how === 'sse') {
    const event = (frame: unknown): string => `data: ${JSON.stringify(frame)}\r\n\r\n`;
    return {
      status: 200,
      headers: headers(),
      contentType: 'text/event-stream',
      body: frames.map(event),
      errorFrame: event(error),
    };
  }
  const item = (frame: unknown, i: number): string =>
    `${i === 0 ? '[' : ',\r\n'}${JSON.stringify(frame, null, 2)}\n`;
  return {
    status: 200,
    headers: headers(),
    contentType: 'application/json; charset=UTF-8',
    body: [...frames.map(item), ']'],
    errorFrame: `${item(error, 1)}]`,
  };
}

function answerText(config: Json, contents: readonly Json[], last: Json): string {
  const results = ((last['parts'] ?? []) as Json[]).flatMap((part) => {
    const found = part['functionResponse'] as Json | undefined;
    return found === undefined ? [] : [found['response'] as Json];
  });
  const said = contents.findLast((content) => content['role'] !== 'model');
  const text =
    results.length > 0
      ? `The tool said: ${results.map((result) => String(result['output'] ?? JSON.stringify(result))).join('')}`
      : `You said: ${textIn(said)}`;
  if (config['responseMimeType'] !== 'application/json') return text;
  const schema = config['responseJsonSchema'] ?? config['responseSchema'];
  return JSON.stringify(schema === undefined ? { text } : fill(schema, text));
}

/** A function is called where one is demanded, or where the last user content names it. */
function functionCalls(body: Json, last: Json): Json[] {
  const declared = ((body['tools'] ?? []) as Json[]).flatMap(
    (tool) => (tool['functionDeclarations'] ?? []) as Json[],
  );
  const choice = (body['toolConfig'] as Json | undefined)?.['functionCallingConfig'] as Json | undefined;
  if (declared.length === 0 || choice?.['mode'] === 'NONE') return [];
  const text = textIn(last);
  const allowed = choice?.['allowedFunctionNames'] as string[] | undefined;
  let wanted = declared.filter((fn) =>
    allowed === undefined ? text.includes(String(fn['name'])) : allowed.includes(String(fn['name'])),
  );
  if (wanted.length === 0 && choice?.['mode'] === 'ANY') wanted = declared.slice(0, 1);
  return wanted.map((fn, i) => ({
    functionCall: {
      name: fn['name'],
      args: fill(fn['parametersJsonSchema'] ?? fn['parameters'] ?? {}, text),
    },
    ...(i === 0 ? { thoughtSignature: signatures.call } : {}),
  }));
}

function embedded(request: Json): Json {
  // Vertex AI has the settings apart.
  const config = (request['embedContentConfig'] ?? request) as Json;
  const size = (config['outputDimensionality'] as number | undefined) ?? 768;
  return { values: Array.from(vectorOf(textIn(request['content'] as Json | undefined), size)) };
}

function predict(body: Json): SimulatedAnswer {
  const size =
    ((body['parameters'] as Json | undefined)?.['outputDimensionality'] as number | undefined) ?? 768;
  const predictions = ((body['instances'] ?? []) as Json[]).map((instance) => {
    const text = String(instance['content']);
    const statistics = { token_count: countTokens(text), truncated: false };
    return { embeddings: { values: Array.from(vectorOf(text, size)), statistics } };
  });
  return jsonAnswer(200, { predictions, metadata: { billableCharacterCount: 0 } }, headers());
}
