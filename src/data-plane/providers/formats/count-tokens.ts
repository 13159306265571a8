import type { Format } from '../../../common/core/endpoint.js';
import type { JsonObject } from '../../../common/core/exchange.js';
import type { InnerJson } from '../inner-json.js';
import type { CanonicalRequest, ChatFormat, CountFormat, WireRequest } from '../provider.js';
import { anthropicMessages } from './anthropic-messages.js';
import { bedrockConverse } from './bedrock-converse.js';
import { geminiGenerateContent } from './gemini-generate-content.js';
import { asObject } from './json-shape.js';

/** What of a request a provider counts, and where its answer has the number. */
interface Counting {
  readonly name: Format;
  /** The format whose requests it counts. */
  readonly of: ChatFormat;
  readonly body: (whole: JsonObject, request: CanonicalRequest) => JsonObject;
  readonly field: string;
}

const countings: readonly Counting[] = [
  {
    // platform.claude.com/docs/en/api/messages-count-tokens
    name: 'anthropic-count-tokens',
    of: anthropicMessages,
    body: (whole) =>
      only(whole, ['model', 'system', 'messages', 'tools', 'tool_choice', 'thinking', 'output_config']),
    field: 'input_tokens',
  },
  {
    // docs.aws.amazon.com/bedrock/latest/APIReference/API_runtime_CountTokens.html
    name: 'bedrock-count-tokens',
    of: bedrockConverse,
    body: (whole) => ({
      input: { converse: only(whole, ['messages', 'system', 'toolConfig', 'additionalModelRequestFields']) },
    }),
    field: 'inputTokens',
  },
  {
    // cloud.google.com/vertex-ai/generative-ai/docs/model-reference/count-tokens
    name: 'vertex-count-tokens',
    of: geminiGenerateContent,
    body: (whole) => ({ ...only(whole, ['contents', 'systemInstruction', 'tools']), ...schemaOf(whole) }),
    field: 'totalTokens',
  },
  {
    // ai.google.dev/api/tokens: only within generateContentRequest more than the contents is counted.
    name: 'gemini-count-tokens',
    of: geminiGenerateContent,
    body: (whole, { model }) => ({
      generateContentRequest: {
        model: String(model).includes('/') ? model : `models/${model}`,
        ...only(whole, ['contents', 'systemInstruction', 'tools', 'toolConfig', 'cachedContent']),
        ...schemaOf(whole),
      },
    }),
    field: 'totalTokens',
  },
];

/** Calls that only count input tokens, by name. A provider that has two of them is sent the first of these. */
export const countFormats: ReadonlyMap<Format, CountFormat> = new Map(
  countings.map((counting) => [counting.name, countFormat(counting)]),
);

function countFormat({ name, of, body, field }: Counting): CountFormat {
  return {
    name,
    toWire(request: CanonicalRequest, inner: InnerJson): WireRequest {
      const { body: whole, dropped } = of.toWire(request, inner);
      return { body: body(whole, request), dropped };
    },
    count(answer) {
      const tokens = answer[field];
      return typeof tokens === 'number' && Number.isSafeInteger(tokens) && tokens >= 0 ? tokens : null;
    },
    errorFromWire: of.errorFromWire,
  };
}

function only(whole: JsonObject, names: readonly string[]): JsonObject {
  const out: JsonObject = {};
  for (const name of names) if (whole[name] !== undefined) out[name] = whole[name];
  return out;
}

/** Of the settings of an answer, a schema alone is part of what the model reads. */
function schemaOf(whole: JsonObject): JsonObject {
  const config = asObject(whole['generationConfig']) ?? {};
  const schema = only(config, ['responseSchema', 'responseJsonSchema']);
  if (Object.keys(schema).length === 0) return {};
  return { generationConfig: { ...only(config, ['responseMimeType']), ...schema } };
}

/**
 * Does this error of a counting call mean that the provider cannot count for this model, region or credential? Not every model of
 * Bedrock has counts, Vertex AI has them in some regions, and a policy of AWS may allow calls but no counts.
 */
export function cannotCount(status: number, message: string): boolean {
  if (status === 404 || status === 405 || status === 501) return true;
  if (status === 400)
    return /support counting tokens|not supported for countTokens|not servable/i.test(message);
  return status === 403 && /CountTokens/.test(message);
}
