import { GatewayError } from '../../../common/core/errors.js';
import type { JsonObject } from '../../../common/core/exchange.js';
import { noUsage, type Usage } from '../../../common/core/usage.js';
import { getHeader } from '../../../common/http/headers.js';
import { stringifyJson } from '../../../common/json/json.js';
import { uuidv7 } from '../../../common/text/id.js';
import type { CanonicalReply, ConversionContext, WireError } from '../provider.js';
import { canonicalUsage } from './anthropic-reply.js';
import { jsonTool } from './anthropic-request.js';
import { asArray, asObject, asString, count, hasCounts } from './json-shape.js';
import { readProviderError } from './provider-error.js';
import { stoppedBy } from './stopped-by.js';

const finishReasons: Readonly<Record<string, string>> = {
  end_turn: 'stop',
  stop_sequence: 'stop',
  malformed_model_output: 'stop',
  malformed_tool_use: 'stop',
  max_tokens: 'length',
  model_context_window_exceeded: 'length',
  tool_use: 'tool_calls',
  guardrail_intervened: 'content_filter',
  content_filtered: 'content_filter',
  // Titan's own words (userguide/model-parameters-titan-text.html).
  FINISHED: 'stop',
  STOP_CRITERIA_MET: 'stop',
  LENGTH: 'length',
  CONTENT_FILTERED: 'content_filter',
};

/**
 * `jsonOnly`: the one tool called was the answer itself. A reason that is new to us is called `stop`; with loose
 * compliance the provider's own word is given.
 */
export function finishReason(stopReason: unknown, jsonOnly: boolean, context: ConversionContext): string {
  if (jsonOnly && stopReason === 'tool_use') return 'stop';
  if (typeof stopReason !== 'string') return 'stop';
  if (!context.strict && context.canonicalReasons !== true) return stopReason;
  return Object.hasOwn(finishReasons, stopReason) ? (finishReasons[stopReason] as string) : 'stop';
}

const totals = ['inputTokens', 'cacheReadInputTokens', 'cacheWriteInputTokens', 'outputTokens'];

/**
 * The `usage` of Converse (API_runtime_TokenUsage.html). Cache reads and writes are counted beside `inputTokens`; the
 * whole input is their sum. Reasoning is part of the output and not counted apart.
 */
export function bedrockUsage(body: JsonObject): Usage | null {
  const raw = asObject(body['usage']);
  if (raw === null) return null;
  const usage = noUsage();
  usage.cached = count(raw['cacheReadInputTokens']);
  usage.cacheWrite = count(raw['cacheWriteInputTokens']);
  usage.input = count(raw['inputTokens']) + usage.cached + usage.cacheWrite;
  usage.output = count(raw['outputTokens']);
  if (hasCounts(raw, totals)) usage.source = 'provider';
  return usage;
}

/** Fields beside the message that only Bedrock has, by the names under which loose compliance gives them. */
const ownFields: Readonly<Record<string, string>> = {
  trace: 'trace',
  metrics: 'metrics',
  performanceConfig: 'performance_config',
  additionalModelResponseFields: 'additional_model_response_fields',
};

export function ownFieldsOf(body: JsonObject, context: ConversionContext): JsonObject {
  const out: JsonObject = {};
  const tier = asString(asObject(body['serviceTier'])?.['type']);
  if (tier !== null) out['service_tier'] = tier;
  if (context.strict) return out;
  for (const key in ownFields) if (body[key] !== undefined) out[ownFields[key] as string] = body[key];
  return out;
}

/** Bedrock's id of an answer: its body has none. */
export function replyId({ headers }: ConversionContext): string {
  return getHeader(headers ?? [], 'x-amzn-requestid') ?? uuidv7();
}

/** An answer of Converse → `chat.completion`. */
export function fromConverse(body: JsonObject, context: ConversionContext): CanonicalReply {
  const content = asArray(asObject(asObject(body['output'])?.['message'])?.['content']);
  if (content === null) {
    throw new GatewayError(
      'upstream_invalid_response',
      `${context.provider} answered with something that is not a message.`,
    );
  }
  let text: string | null = null;
  const toolCalls: JsonObject[] = [];
  const blocks: JsonObject[] = [];
  let answeredByTool = false;
  for (const value of content) {
    const block = asObject(value);
    if (block === null) continue;
    const toolUse = asObject(block['toolUse']);
    const said = textOf(block);
    if (said !== null) text = (text ?? '') + said;
    if (toolUse === null) blocks.push(contentBlock(block));
    else if (toolUse['name'] === jsonTool) {
      answeredByTool = true;
      text = (text ?? '') + stringifyJson(toolUse['input'] ?? {});
    } else {
      toolCalls.push({
        id: toolUse['toolUseId'],
        type: 'function',
        function: { name: toolUse['name'], arguments: stringifyJson(toolUse['input'] ?? {}) },
      });
    }
  }
  const message: JsonObject = { role: 'assistant', content: text ?? (toolCalls.length > 0 ? null : '') };
  if (toolCalls.length > 0) message['tool_calls'] = toolCalls;
  if (!context.strict && blocks.length > 0) message['content_blocks'] = blocks;
  const usage = bedrockUsage(body);
  const jsonOnly = answeredByTool && toolCalls.length === 0;
  return {
    id: replyId(context),
    object: 'chat.completion',
    created: Math.floor(Date.now() / 1000),
    model: context.model ?? null,
    provider: context.provider,
    choices: [
      {
        index: 0,
        message,
        logprobs: null,
        finish_reason: finishReason(body['stopReason'], jsonOnly, context),
        ...stoppedBy(body['stopReason'] === 'stop_sequence', context),
      },
    ],
    ...ownFieldsOf(body, context),
    ...(usage === null ? {} : { usage: canonicalUsage(usage, context.strict) }),
  };
}

/** The readable part of a block: text, also where it comes with citations. */
function textOf(block: JsonObject): string | null {
  const own = asString(block['text']);
  if (own !== null) return own;
  const cited = asArray(asObject(block['citationsContent'])?.['content']);
  return cited === null ? null : cited.map((part) => asString(asObject(part)?.['text']) ?? '').join('');
}

/** A block as `content_blocks` has it: text and thinking in the one spelling that all formats share, others as they came. */
function contentBlock(block: JsonObject): JsonObject {
  const text = asString(block['text']);
  if (text !== null) return { type: 'text', text };
  const reasoning = asObject(block['reasoningContent']);
  if (reasoning === null) return block;
  const spoken = asObject(reasoning['reasoningText']);
  if (spoken === null) return { type: 'redacted_thinking', data: reasoning['redactedContent'] };
  const thinking = { type: 'thinking', thinking: spoken['text'] };
  return spoken['signature'] === undefined ? thinking : { ...thinking, signature: spoken['signature'] };
}

/** OpenAI's words for the exceptions of Bedrock (userguide/troubleshooting-api-error-codes.html). */
const errorTypes: Readonly<Record<string, string>> = {
  AccessDeniedException: 'permission_error',
  ExpiredTokenException: 'authentication_error',
  InvalidSignatureException: 'authentication_error',
  MissingAuthenticationTokenException: 'authentication_error',
  UnrecognizedClientException: 'authentication_error',
  ResourceNotFoundException: 'not_found_error',
  ThrottlingException: 'rate_limit_error',
  TooManyRequestsException: 'rate_limit_error',
  ServiceQuotaExceededException: 'rate_limit_error',
  ValidationException: 'invalid_request_error',
  ModelTimeoutException: 'timeout_error',
  ServiceUnavailableException: 'overloaded_error',
  ModelNotReadyException: 'overloaded_error',
  InternalServerException: 'api_error',
  ModelErrorException: 'api_error',
  ModelStreamErrorException: 'api_error',
};

/** `{message}` with the exception's name in `x-amzn-errortype` or `__type`; the name becomes the code. */
export function bedrockError(status: number, body: JsonObject | null, context: ConversionContext): WireError {
  // The name may come as `aws.auth#Name` and as `Name:http://…`.
  const given = getHeader(context.headers ?? [], 'x-amzn-errortype') ?? asString(body?.['__type']) ?? '';
  const name = /(?:^|#)([A-Za-z]+)(?:$|[:,])/.exec(given)?.[1] ?? null;
  const message = asString(body?.['message']) ?? asString(body?.['Message']);
  const error = readProviderError(status, message === null ? body : { message }, context);
  if (name === null) return error;
  return { ...error, type: errorTypes[name] ?? error.type, code: name };
}
