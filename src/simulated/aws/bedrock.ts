import { createHash } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import { type Frame, jsonAnswer, type SimulatedAnswer } from '../answer.js';
import type { Behaviour } from '../behaviour.js';
import { countTokens, cutToTokens, fill, type Json, newId, split } from '../text.js';
import { refuseAws, roleKeys } from './aws-auth.js';
import { awsEvent } from './aws-event-stream.js';

/** Amazon Bedrock's side of the simulated provider, after docs.aws.amazon.com/bedrock/latest/APIReference. */

const paths = /^\/model\/([^/]+)\/(converse|converse-stream|invoke|count-tokens)$/;

export function isBedrockPath(path: string): boolean {
  return paths.test(path) || path === '/sts/';
}

/** The model's id, taken from the path. */
export function bedrockModel(path: string): string {
  return decodeURIComponent(paths.exec(path)?.[1] ?? '');
}

const exceptions: Readonly<Record<number, string>> = {
  400: 'ValidationException',
  401: 'UnrecognizedClientException',
  403: 'AccessDeniedException',
  404: 'ResourceNotFoundException',
  408: 'ModelTimeoutException',
  424: 'ModelErrorException',
  429: 'ThrottlingException',
  503: 'ServiceUnavailableException',
};

export function bedrockError(status: number, message: string, exception?: string): SimulatedAnswer {
  const name = exception ?? exceptions[status] ?? 'InternalServerException';
  return jsonAnswer(status, { message }, [
    ...headers(),
    'x-amzn-errortype',
    `${name}:http://internal.amazon.com/`,
  ]);
}

function headers(): string[] {
  return ['x-amzn-requestid', newId('', 32).toLowerCase()];
}

export function bedrockAnswer(
  request: IncomingMessage,
  path: string,
  bytes: Buffer,
  behaviour: Behaviour,
): SimulatedAnswer {
  if (path === '/sts/') return sts(request, bytes);
  const refusal = refuseAws(request, bytes, 'bedrock');
  if (refusal !== null) return bedrockError(403, refusal.message, refusal.exception);
  if (behaviour.fault !== null && /^\d+$/.test(behaviour.fault)) return failed(behaviour);
  const model = bedrockModel(path);
  const operation = path.slice(path.lastIndexOf('/') + 1);
  let body: Json;
  try {
    body = JSON.parse(bytes.toString('utf8')) as Json;
  } catch {
    return bedrockError(400, 'Unexpected character: was expecting a JSON object', 'SerializationException');
  }
  if (operation === 'invoke') return embedding(model, body);
  if (operation === 'count-tokens') return countedTokens(model, body);
  return converse(model, body, operation === 'converse-stream', behaviour);
}

function failed(behaviour: Behaviour): SimulatedAnswer {
  const status = Number(behaviour.fault);
  const text = status === 429 ? 'Too many requests, please wait before trying again.' : 'Simulated failure.';
  const answer = bedrockError(status, text);
  return behaviour.value === null
    ? answer
    : { ...answer, headers: [...answer.headers, 'retry-after', behaviour.value] };
}

/** What the real API refuses and a gateway might get wrong. */
function problemOf(body: Json): string | null {
  for (const name of ['model', 'stream', 'max_tokens', 'temperature', 'tools', 'stop', 'response_format']) {
    if (body[name] !== undefined) return `extraneous key [${name}] is not permitted`;
  }
  const messages = body['messages'];
  if (!Array.isArray(messages) || messages.length === 0)
    return 'A conversation must have at least one message.';
  const seen = new Set<unknown>();
  let uses = false;
  for (const [i, { role, content }] of (messages as Json[]).entries()) {
    if (role !== (i % 2 === 0 ? 'user' : 'assistant')) {
      return 'A conversation must alternate between user and assistant roles, and start with a user message.';
    }
    if (!Array.isArray(content) || content.length === 0) return `messages.${i}.content is empty.`;
    for (const block of content as Json[]) {
      if (Object.keys(block).length !== 1) return `messages.${i}.content: a block is a union of one member.`;
      if (typeof block['text'] === 'string' && block['text'].trim() === '')
        return 'The text field in the ContentBlock object is blank.';
      const document = block['document'] as Json | undefined;
      if (document !== undefined) {
        if (!/^[A-Za-z0-9 ()[\]-]+$/.test(String(document['name'])) || / {2}/.test(String(document['name'])))
          return 'The document file name can only contain alphanumeric characters, whitespace characters, hyphens, parentheses, and square brackets.';
        if (seen.has(document['name'])) return 'Messages contain duplicate document names.';
        seen.add(document['name']);
      }
      uses ||= 'toolUse' in block || 'toolResult' in block;
    }
  }
  if (uses && body['toolConfig'] === undefined)
    return 'The toolConfig field must be defined when using toolUse and toolResult content blocks.';
  const inference = (body['inferenceConfig'] ?? {}) as Json;
  if (Number(inference['temperature'] ?? 0) > 1) return 'temperature must be less than or equal to 1';
  return null;
}

/** Only ids of Claude's models have counts: inference profiles have not. */
function countedTokens(model: string, body: Json): SimulatedAnswer {
  if (!model.startsWith('anthropic.claude'))
    return bedrockError(400, "The provided model doesn't support counting tokens.");
  const input = (body['input'] ?? {}) as Json;
  const given = input['converse'] as Json | undefined;
  if (Object.keys(body).length !== 1 || Object.keys(input).length !== 1 || given === undefined)
    return bedrockError(400, 'input must be a union of one member: invokeModel or converse.');
  const extra = Object.keys(given).find((name) => !countedMembers.has(name));
  const problem = extra === undefined ? problemOf(given) : `extraneous key [${extra}] is not permitted`;
  if (problem !== null) return bedrockError(400, problem);
  return jsonAnswer(200, { inputTokens: countTokens(JSON.stringify(given)) }, headers());
}

const countedMembers = new Set(['messages', 'system', 'toolConfig', 'additionalModelRequestFields']);

function converse(model: string, body: Json, streams: boolean, behaviour: Behaviour): SimulatedAnswer {
  const problem = problemOf(body);
  if (problem !== null) return bedrockError(400, problem);
  const calls = toolUses(body);
  const limit = (body['inferenceConfig'] as Json | undefined)?.['maxTokens'];
  const said = calls.length > 0 ? '' : answerText(body);
  const { text, cut } = typeof limit === 'number' ? cutToTokens(said, limit) : { text: said, cut: false };
  const content: Json[] = [];
  const extra = (body['additionalModelRequestFields'] ?? {}) as Json;
  if (extra['thinking'] !== undefined || extra['reasoningConfig'] !== undefined) {
    const thinking = 'The user said something. I shall say it back.';
    content.push({ reasoningContent: { reasoningText: { text: thinking, signature: 'c2ltdWxhdGVk' } } });
  }
  if (text !== '') content.push({ text });
  content.push(...calls);
  const usage = usageOf(model, body, content);
  const intervened = body['guardrailConfig'] !== undefined && /forbidden/.test(said);
  const stopReason = intervened
    ? 'guardrail_intervened'
    : calls.length > 0
      ? 'tool_use'
      : cut
        ? 'max_tokens'
        : 'end_turn';
  const metrics = { latencyMs: 12 };
  if (!streams) {
    const output = { message: { role: 'assistant', content } };
    return jsonAnswer(200, { output, stopReason, usage, metrics }, headers());
  }
  return {
    status: 200,
    headers: headers(),
    contentType: 'application/vnd.amazon.eventstream',
    body: [
      awsEvent('messageStart', { role: 'assistant', p: 'abcdefgh' }),
      ...content.flatMap((block, index) => blockFrames(block, index, behaviour.chunks)),
      awsEvent('messageStop', { stopReason }),
      awsEvent('metadata', { usage, metrics }),
    ],
    errorFrame: awsEvent('throttlingException', {
      message: 'Too many tokens, please wait before trying again.',
    }),
  };
}

/** Only tool blocks have a start; `p` is meaningless padding, against guesses by length. */
function blockFrames(block: Json, contentBlockIndex: number, chunks: number | null): Frame[] {
  const delta = (value: Json): Buffer =>
    awsEvent('contentBlockDelta', { contentBlockIndex, delta: value, p: 'abc' });
  const stop = awsEvent('contentBlockStop', { contentBlockIndex, p: 'abcdef' });
  const toolUse = block['toolUse'] as Json | undefined;
  if (toolUse !== undefined) {
    const { toolUseId, name, input } = toolUse;
    const json = JSON.stringify(input);
    const pieces = json === '{}' ? [] : split(json, chunks ?? 3);
    return [
      awsEvent('contentBlockStart', { contentBlockIndex, start: { toolUse: { toolUseId, name } } }),
      ...pieces.map((piece) => delta({ toolUse: { input: piece } })),
      stop,
    ];
  }
  const reasoning = (block['reasoningContent'] as Json | undefined)?.['reasoningText'] as Json | undefined;
  if (reasoning === undefined)
    return [...split(String(block['text']), chunks).map((text) => delta({ text })), stop];
  return [
    ...split(String(reasoning['text']), chunks).map((text) => delta({ reasoningContent: { text } })),
    delta({ reasoningContent: { signature: reasoning['signature'] } }),
    stop,
  ];
}

/** The text of blocks, results of tools included. */
function textOf(content: unknown): string {
  return ((content ?? []) as Json[])
    .map((block) => {
      const result = block['toolResult'] as Json | undefined;
      return result === undefined ? String(block['text'] ?? '') : textOf(result['content']);
    })
    .join('');
}

function lastOf(body: Json): Json[] {
  const messages = body['messages'] as Json[];
  return messages[messages.length - 1]?.['content'] as Json[];
}

function answerText(body: Json): string {
  const last = lastOf(body);
  const answersTool = last.some((block) => 'toolResult' in block);
  const images = last.filter((block) => 'image' in block).length;
  const said = answersTool ? `The tool said: ${textOf(last)}` : `You said: ${textOf(last)}`;
  const text = images === 0 ? said : `${said} (with ${images} image)`;
  const format = (body['outputConfig'] as Json | undefined)?.['textFormat'] as Json | undefined;
  if (format === undefined) return text;
  const schema = ((format['structure'] as Json)['jsonSchema'] as Json)['schema'];
  return JSON.stringify(fill(JSON.parse(schema as string), text));
}

/** A tool is used where one is demanded, or where the last user message names it. */
function toolUses(body: Json): Json[] {
  const config = body['toolConfig'] as Json | undefined;
  const specs: Json[] = [];
  for (const { toolSpec } of (config?.['tools'] ?? []) as Json[]) if (toolSpec) specs.push(toolSpec as Json);
  const choice = (config?.['toolChoice'] ?? {}) as Json;
  const last = lastOf(body);
  const text = last.some((block) => 'toolResult' in block) ? '' : textOf(last);
  const named = (choice['tool'] as Json | undefined)?.['name'];
  let wanted = specs.filter(({ name }) =>
    named === undefined ? text.includes(String(name)) : name === named,
  );
  if (wanted.length === 0 && choice['any'] !== undefined) wanted = specs.slice(0, 1);
  return wanted.map(({ name, inputSchema }) => ({
    toolUse: {
      toolUseId: newId('tooluse_', 22),
      name,
      input: fill((inputSchema as Json)['json'], text),
    },
  }));
}

/** Content before a cache point counts as read from the cache. */
function usageOf(model: string, body: Json, content: readonly Json[]): Json {
  let total = 0;
  let cached = 0;
  const system = (body['system'] ?? []) as Json[];
  const all = [...system, ...(body['messages'] as Json[]).flatMap((message) => message['content'] as Json[])];
  for (const block of all) {
    if (block['cachePoint'] !== undefined) cached = total;
    else total += countTokens(textOf([block]));
  }
  const outputTokens = content.reduce((sum, block) => sum + countTokens(JSON.stringify(block)), 0);
  const inputTokens = total - cached;
  const cache = /claude|nova/.test(model) ? { cacheReadInputTokens: cached, cacheWriteInputTokens: 0 } : {};
  return { inputTokens, outputTokens, totalTokens: total + outputTokens, ...cache };
}

/** Eight numbers that depend on the text alone. */
function vector(text: string): number[] {
  const hash = createHash('sha256').update(text).digest();
  return Array.from({ length: 8 }, (_, i) => hash.readInt16BE(i * 2) / 32_768);
}

function embedding(model: string, body: Json): SimulatedAnswer {
  if (/^(?:[a-z]{2}\.|global\.)?amazon\.titan-embed/.test(model)) {
    if (typeof body['inputText'] !== 'string')
      return bedrockError(400, '#: required key [inputText] not found');
    const values = vector(body['inputText']);
    const answer = {
      embedding: values,
      embeddingsByType: { float: values },
      inputTextTokenCount: countTokens(body['inputText']),
    };
    return jsonAnswer(200, answer, headers());
  }
  const { texts, input_type: type } = body;
  if (!Array.isArray(texts) || typeof type !== 'string')
    return bedrockError(400, '#: required key [input_type] not found');
  const float = texts.map((text) => vector(String(text)));
  const tokens = texts.reduce((sum: number, text) => sum + countTokens(String(text)), 0);
  const answer = { id: newId('', 8), response_type: 'embeddings_by_type', embeddings: { float }, texts };
  return jsonAnswer(200, answer, [...headers(), 'x-amzn-bedrock-input-token-count', String(tokens)]);
}

/** The token service: lends the keys of a role, of external id `sim` where the role's name ends in `-guarded`. */
function sts(request: IncomingMessage, bytes: Buffer): SimulatedAnswer {
  const form = new URLSearchParams(bytes.toString('utf8'));
  // A token of a service account replaces a signature.
  const refusal = form.get('WebIdentityToken') === 'simulated-jwt' ? null : refuseAws(request, bytes, 'sts');
  const role = form.get('RoleArn') ?? '';
  const denied = role.endsWith('-guarded') && form.get('ExternalId') !== 'sim';
  if (refusal !== null || denied) {
    const code = refusal?.exception ?? 'AccessDenied';
    const message =
      refusal?.message ?? `User is not authorized to perform: sts:AssumeRole on resource: ${role}`;
    return xml(
      403,
      `<ErrorResponse><Error><Type>Sender</Type><Code>${code}</Code><Message>${message}</Message></Error></ErrorResponse>`,
    );
  }
  const { accessKeyId, secretAccessKey, sessionToken } = roleKeys;
  const until = new Date(Date.now() + 3_600_000).toISOString();
  return xml(
    200,
    `<AssumeRoleResponse xmlns="https://sts.amazonaws.com/doc/2011-06-15/"><AssumeRoleResult><Credentials><AccessKeyId>${accessKeyId}</AccessKeyId><SecretAccessKey>${secretAccessKey}</SecretAccessKey><SessionToken>${sessionToken}</SessionToken><Expiration>${until}</Expiration></Credentials></AssumeRoleResult></AssumeRoleResponse>`,
  );
}

const xml = (status: number, body: string): SimulatedAnswer => ({
  status,
  headers: headers(),
  contentType: 'text/xml',
  body,
  errorFrame: null,
});
