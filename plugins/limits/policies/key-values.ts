import type { EndpointName } from '../../../src/common/core/endpoint.js';
import type { Exchange } from '../../../src/common/core/exchange.js';
import type { PlannedTarget } from '../../../src/common/ipc/explained.js';

/** Keys whose value is known only when a target is asked. */
export const keysOfTargets: ReadonlySet<string> = new Set(['virtual_key', 'provider', 'model']);

const endpointTypes: Readonly<Record<EndpointName, string | null>> = {
  chat: 'chatComplete',
  completions: 'complete',
  embeddings: 'embed',
  moderations: 'moderate',
  rerank: 'rerank',
  responses: 'createModelResponse',
  'stored-responses': 'createModelResponse',
  messages: 'messages',
  'count-tokens': 'messages',
  'gemini-generate': 'chatComplete',
  'gemini-count-tokens': 'chatComplete',
  'gemini-embed': 'embed',
  models: null,
  admin: null,
  health: null,
  passthrough: 'proxy',
};

/** Paths of passthrough that have a type of their own. */
const passedOn: readonly (readonly [RegExp, string])[] = [
  [/^\/v1\/images\/generations$/, 'imageGenerate'],
  [/^\/v1\/images\/(edits|variations)$/, 'imageEdit'],
  [/^\/v1\/audio\/speech$/, 'createSpeech'],
  [/^\/v1\/audio\/transcriptions$/, 'createTranscription'],
  [/^\/v1\/audio\/translations$/, 'createTranslation'],
  [/^\/v1\/batches$/, 'createBatch'],
  [/^\/v1\/fine_tuning\/jobs$/, 'createFinetune'],
  [/^\/v1\/files$/, 'uploadFile'],
];

function endpointType({ endpoint, request }: Exchange): string | null {
  if (endpoint.name !== 'passthrough') return endpointTypes[endpoint.name];
  if (request.method === 'POST')
    for (const [path, type] of passedOn) if (path.test(request.path)) return type;
  return 'proxy';
}

/** The value of a key of conditions and groups; null: the request has none. `attempt`: the target that is asked. */
export function keyValue(key: string, x: Exchange, attempt: PlannedTarget | null): string | null {
  switch (key) {
    case 'api_key':
      return x.principal.keyId;
    case 'workspace_id':
      return x.principal.workspaceId;
    case 'organisation_id':
      return x.principal.organisationId;
    case 'config':
      return x.config.slug;
    case 'endpoint_type':
      return endpointType(x);
    case 'virtual_key':
      return attempt?.slug ?? null;
    case 'provider':
      return attempt === null ? null : (attempt.slug ?? attempt.provider);
    case 'model':
      return attempt === null || attempt.model === null
        ? null
        : `@${attempt.slug ?? attempt.provider}/${attempt.model}`;
    default:
      return key.startsWith('metadata.') ? (x.metadata[key.slice('metadata.'.length)] ?? null) : null;
  }
}
