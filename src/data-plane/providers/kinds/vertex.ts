import { GatewayError } from '../../../common/core/errors.js';
import type { JsonObject } from '../../../common/core/exchange.js';
import { GoogleAuthorizer, serviceAccountOf } from '../auth/google.js';
import { serviceAccount, serviceAccountField } from '../auth/service-account.js';
import type { CallFields } from '../call-fields.js';
import { openAiDialect } from '../formats/openai-dialect.js';
import type { ProviderDefinition, Quirk, RowCall } from '../provider.js';
import { mistralQuirks } from '../quirks.js';
import { generateContent, modelSegments } from './google.js';

/** Vertex AI: one address per region, and a format per publisher of the model. */
export const vertex: ProviderDefinition = {
  name: 'vertex-ai',
  base: 'https://aiplatform.googleapis.com/v1',
  auth: { kind: 'per-call', authorizer: new GoogleAuthorizer() },
  paths: {
    'gemini-generate-content': '/publishers/google/models',
    'anthropic-messages': '/publishers/anthropic/models',
    'openai-chat': '/endpoints/openapi/chat/completions',
    'vertex-predict-embeddings': '/publishers/google/models',
    'vertex-embed-content': '/publishers/google/models',
  },
  forCall,
  source: 'https://cloud.google.com/vertex-ai/generative-ai/docs/reference/rest',
};

/** Publishers whose models the OpenAI-shaped endpoint has (cloud.google.com/vertex-ai/generative-ai/docs/maas/call-open-model-apis). */
const open = new Set(['meta', 'qwen', 'xai', 'zai-org', 'moonshotai', 'deepseek-ai', 'openai', 'minimaxai']);

function forCall(call: RowCall): ProviderDefinition {
  const project = projectOf(call.fields);
  const base = `https://${hostOf(call.fields)}/v1`;
  const under = project === null ? '' : `/projects/${project}/locations/${regionOf(call.fields)}`;
  if (call.format === 'none') return { ...vertex, base };
  const { publisher, name } = published(call.model);
  return { ...vertex, base, ...definitionOf(publisher, name, under, call) };
}

type PublisherDefinition = Pick<ProviderDefinition, 'paths' | 'quirks' | 'dialect' | 'passHeaders'>;

function definitionOf(
  publisher: string,
  name: string,
  under: string,
  { format, streaming }: RowCall,
): PublisherDefinition {
  const model = modelSegments(name).join('/');
  const raw = streaming ? 'streamRawPredict' : 'rawPredict';
  switch (publisher) {
    case 'google':
      return {
        paths: {
          'gemini-generate-content': `${under}/publishers/google/models/${model}:${generateContent(streaming)}`,
          'gemini-count-tokens': `${under}/publishers/google/models/${model}:countTokens`,
          'vertex-count-tokens': `${under}/publishers/google/models/${model}:countTokens`,
          ...(embedsContent(name)
            ? { 'vertex-embed-content': `${under}/publishers/google/models/${model}:embedContent` }
            : { 'vertex-predict-embeddings': `${under}/publishers/google/models/${model}:predict` }),
        },
      };
    case 'anthropic': {
      const models = `${under}/publishers/anthropic/models`;
      return {
        paths: {
          'anthropic-messages': `${models}/${model}:${raw}`,
          'anthropic-count-tokens': `${models}/count-tokens:rawPredict`,
        },
        passHeaders: ['anthropic-beta'],
        quirks: [format.endsWith('-count-tokens') ? claudeNamed(name) : claude],
      };
    }
    case 'mistralai':
      return {
        paths: { 'openai-chat': `${under}/publishers/mistralai/models/${model}:${raw}` },
        quirks: [...mistralQuirks, named(name)],
        dialect: openAiDialect,
      };
    case 'endpoints':
      return {
        paths: { 'openai-chat': `${under}/endpoints/${model}/chat/completions` },
        quirks: [named(name)],
      };
    default:
      return {
        paths: { 'openai-chat': `${under}/endpoints/openapi/chat/completions` },
        quirks: [named(`${publisher}/${name}`)],
      };
  }
}

/** `anthropic.claude-…`, `meta/llama-…`; without a publisher Claude's are Anthropic's and all others Google's. */
function published(model: string | null): { publisher: string; name: string } {
  const [, publisher = '', name = ''] = /^([a-z-]+)[./](.+)$/.exec(model ?? '') ?? [];
  if (
    publisher === 'google' ||
    publisher === 'anthropic' ||
    publisher === 'mistralai' ||
    publisher === 'endpoints'
  )
    return { publisher, name };
  if (open.has(publisher)) return { publisher, name };
  return { publisher: /^claude-/.test(model ?? '') ? 'anthropic' : 'google', name: model ?? '' };
}

/** The embedding models with another method than the rest; as @google/genai's client distinguishes them. */
const embedsContent = (model: string): boolean =>
  (model.includes('gemini') && model !== 'gemini-embedding-001') || model.includes('maas');

const version = 'vertex-2023-10-16';

/** The model is in the address and the version in the body (platform.claude.com/docs/en/api/claude-on-vertex-ai). */
const claude: Quirk = {
  name: 'anthropic_version in the body instead of model',
  apply({ model: _, ...rest }) {
    return { anthropic_version: version, ...rest };
  },
};

const claudeNamed = (model: string): Quirk => ({
  name: 'anthropic_version in the body, and the model by its own name',
  apply: (body) => ({ anthropic_version: version, ...body, model }),
});

const named = (model: string): Quirk => ({
  name: 'the model by the name it has here',
  apply: (body: JsonObject) => ({ ...body, model }),
});

/** us and eu are regions of several regions, with hosts of their own (as in @google/genai's client). */
function hostOf(fields: CallFields): string {
  if (projectOf(fields) === null) return 'aiplatform.googleapis.com';
  const region = regionOf(fields);
  if (region === 'global') return 'aiplatform.googleapis.com';
  if (region === 'us' || region === 'eu') return `aiplatform.${region}.rep.googleapis.com`;
  return `${region}-aiplatform.googleapis.com`;
}

function regionOf(fields: CallFields): string {
  const region = fields.get('vertex_region');
  // Part of a host's name: nothing else may come in by it.
  if (region !== null && /^[a-z][a-z0-9-]{1,40}$/.test(region)) return region;
  throw field(
    'vertex_region',
    region === null ? 'is missing' : 'is none',
    'name one, such as us-central1 or global',
  );
}

/** null: express mode, where the key belongs to a project. */
function projectOf(fields: CallFields): string | null {
  const json = serviceAccountOf(fields, null);
  const own = json === null ? null : serviceAccount(json).projectId;
  // A stored account is not for a caller to use on another project.
  const kept = fields.stored(serviceAccountField) === null ? null : own;
  const project = fields.stored('vertex_project_id') ?? kept ?? fields.get('vertex_project_id') ?? own;
  if (project === null || /^[a-z0-9][a-z0-9.:-]{0,80}$/.test(project)) return project;
  throw field('vertex_project_id', 'is none', 'it is the id of a Google Cloud project');
}

function field(name: string, what: string, rule: string): GatewayError {
  return new GatewayError('invalid_request', `${name} ${what}: ${rule}.`, { param: name });
}
