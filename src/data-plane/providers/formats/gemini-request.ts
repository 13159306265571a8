import type { JsonObject } from '../../../common/core/exchange.js';
import type { InnerJson } from '../inner-json.js';
import type { CanonicalRequest, WireRequest } from '../provider.js';
import { invalid, unsupported } from './anthropic-content.js';
import { toConversation } from './gemini-content.js';
import { type GeminiTraits, geminiTraits } from './gemini-models.js';
import { toOpenApiSchema } from './gemini-schema.js';
import { addThinking } from './gemini-thinking.js';
import { toTools } from './gemini-tools.js';
import { asArray, asObject, asString, shortJson } from './json-shape.js';

/** Read below, or elsewhere, one by one. `model` and `stream` are in the address. */
const mapped = new Set([
  'model',
  'stream',
  'stream_options',
  'messages',
  'max_tokens',
  'max_completion_tokens',
  'stop',
  'tools',
  'functions',
  'tool_choice',
  'function_call',
  'parallel_tool_calls',
  'response_format',
  'reasoning_effort',
  'thinking',
  'thinking_config',
  'show_thinking',
  'logprobs',
  'top_logprobs',
  'modalities',
  'audio',
  'service_tier',
  'generation_config',
  'generationConfig',
]);

/** Members of `generationConfig` by the name the client gives them. */
const settings: Readonly<Record<string, string>> = {
  temperature: 'temperature',
  top_p: 'topP',
  top_k: 'topK',
  seed: 'seed',
  n: 'candidateCount',
  presence_penalty: 'presencePenalty',
  frequency_penalty: 'frequencyPenalty',
  image_config: 'imageConfig',
  media_resolution: 'mediaResolution',
  speech_config: 'speechConfig',
  audio_timestamp: 'audioTimestamp',
  routing_config: 'routingConfig',
};

/** Gemini's own members of the request, under either spelling. */
const passed: Readonly<Record<string, string>> = {
  safety_settings: 'safetySettings',
  safetySettings: 'safetySettings',
  cached_content: 'cachedContent',
  cachedContent: 'cachedContent',
  labels: 'labels',
  model_armor_config: 'modelArmorConfig',
};

/** Values that ask for nothing, so that leaving them out loses nothing. */
const neutral: Readonly<Record<string, unknown>> = { store: false };

/** An OpenAI chat request → the body of `models/{model}:generateContent`. */
export function toGenerateContent(request: CanonicalRequest, inner: InnerJson): WireRequest {
  const dropped: string[] = [];
  const traits = geminiTraits(asString(request['model']) ?? '');
  const messages = asArray(request['messages']);
  if (messages === null) throw invalid('messages', 'must be a list of messages.');
  const { system, contents } = toConversation(messages, traits, dropped, inner);
  if (contents.length === 0) {
    throw invalid(
      'messages',
      'must hold at least one user or assistant message with content: this provider needs one beside the system message.',
    );
  }
  const body: JsonObject = {};
  if (system.length > 0) body['systemInstruction'] = { parts: system };
  body['contents'] = contents;
  const config: JsonObject = {
    ...(asObject(request['generation_config'] ?? request['generationConfig']) ?? {}),
  };
  for (const key in request) {
    const value = request[key];
    if (mapped.has(key) || value === null || value === undefined) continue;
    const setting = settings[key];
    const name = passed[key];
    if (Object.hasOwn(settings, key)) config[setting as string] = value;
    else if (Object.hasOwn(passed, key)) body[name as string] = value;
    else if (!(Object.hasOwn(neutral, key) && neutral[key] === value)) dropped.push(key);
  }
  Object.assign(body, toTools(request, traits, dropped));
  const limit = request['max_completion_tokens'] ?? request['max_tokens'];
  if (limit !== undefined && limit !== null) config['maxOutputTokens'] = limit;
  addStop(request, config);
  addLogprobs(request, config, dropped);
  addResponseFormat(request, config, traits, dropped);
  addModalities(request, config, dropped);
  addThinking(request, config, traits, dropped);
  addServiceTier(request, body, dropped);
  if (Object.keys(config).length > 0) body['generationConfig'] = config;
  return { body, dropped };
}

/** ai.google.dev/api/generate-content#generationconfig. */
const mostStops = 5;

function addStop(request: CanonicalRequest, config: JsonObject): void {
  const { stop } = request;
  if (stop === undefined || stop === null) return;
  const list = typeof stop === 'string' ? [stop] : asArray(stop);
  if (list === null || list.some((item) => typeof item !== 'string'))
    throw invalid('stop', 'must be a string or a list of strings.');
  if (list.length > mostStops) throw unsupported('stop', `this provider takes at most ${mostStops}.`);
  if (list.length > 0) config['stopSequences'] = list;
}

function addLogprobs(request: CanonicalRequest, config: JsonObject, dropped: string[]): void {
  const top = request['top_logprobs'];
  const some = typeof top === 'number' && top > 0;
  if (request['logprobs'] === true) {
    config['responseLogprobs'] = true;
    if (some) config['logprobs'] = top;
  } else if (some) dropped.push('top_logprobs');
}

function addResponseFormat(
  request: CanonicalRequest,
  config: JsonObject,
  traits: GeminiTraits,
  dropped: string[],
): void {
  const format = asObject(request['response_format']);
  if (format === null || format['type'] === 'text') return;
  if (format['type'] !== 'json_object' && format['type'] !== 'json_schema') {
    throw unsupported(
      'response_format.type',
      `${shortJson(format['type'])} cannot be asked of this provider.`,
    );
  }
  config['responseMimeType'] = 'application/json';
  if (format['type'] === 'json_object') return;
  const path = 'response_format.json_schema.schema';
  const schema = asObject(asObject(format['json_schema'])?.['schema']);
  if (schema === null) throw invalid(path, 'must be a JSON schema.');
  if (traits.jsonSchema) config['responseJsonSchema'] = schema;
  else config['responseSchema'] = toOpenApiSchema(schema, path, dropped);
}

function addModalities(request: CanonicalRequest, config: JsonObject, dropped: string[]): void {
  const modalities = asArray(request['modalities']);
  if (modalities?.some((modality) => modality !== 'text'))
    config['responseModalities'] = modalities.map((modality) => String(modality).toUpperCase());
  const audio = asObject(request['audio']);
  if (audio === null) return;
  const voice = asString(audio['voice']);
  if (voice !== null)
    config['speechConfig'] ??= { voiceConfig: { prebuiltVoiceConfig: { voiceName: voice } } };
  // Sound comes as PCM of 16 bits alone.
  if (audio['format'] !== undefined && audio['format'] !== 'pcm16') dropped.push('audio.format');
}

/** OpenAI's tiers by Gemini's names for them. */
const tiers: Readonly<Record<string, string | null>> = {
  auto: null,
  default: 'standard',
  standard: 'standard',
  flex: 'flex',
  priority: 'priority',
};

function addServiceTier(request: CanonicalRequest, body: JsonObject, dropped: string[]): void {
  const tier = request['service_tier'];
  if (tier === undefined || tier === null) return;
  const known = typeof tier === 'string' && Object.hasOwn(tiers, tier) ? tiers[tier] : undefined;
  if (known === undefined) dropped.push('service_tier');
  else if (known !== null) body['serviceTier'] = known;
}
