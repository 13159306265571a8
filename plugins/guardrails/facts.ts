import type { EndpointName } from '../../src/common/core/endpoint.js';
import type { Exchange } from '../../src/common/core/exchange.js';
import type { HeaderList } from '../../src/common/http/headers.js';
import type { Facts } from './run/subject.js';

/** Names of endpoints in `default.allowedRequestTypes`. */
const requestTypes: Partial<Record<EndpointName, string>> = {
  chat: 'chatComplete',
  completions: 'complete',
  embeddings: 'embed',
  moderations: 'moderate',
  rerank: 'rerank',
  responses: 'createModelResponse',
  messages: 'messages',
  'count-tokens': 'messages',
  'gemini-generate': 'chatComplete',
  'gemini-count-tokens': 'chatComplete',
  'gemini-embed': 'embed',
  passthrough: 'proxy',
};

/** Facts about the request for checks. */
export function factsOf(x: Exchange): Facts {
  const { root } = x.config;
  const target = x.target ?? (root.kind === 'target' ? root.target : null);
  const stored = target?.virtualKey ?? null;
  return {
    requestType: requestTypes[x.endpoint.name] ?? x.endpoint.name,
    format: x.endpoint.format,
    provider: target?.provider ?? (stored === null ? null : `@${stored.replace(/^@/, '')}`),
    model: x.modelAsked === null ? null : x.modelAsked.replace(/^@[^/]+\//, ''),
    metadata: x.metadata,
    headers: () => headersOf(x),
  };
}

/** Without the gateway key. */
function headersOf({ request, keyHeader }: Exchange): HeaderList {
  const { headers } = request;
  const kept: HeaderList = [];
  for (let i = 0; i < headers.length; i += 2)
    if (headers[i] !== keyHeader) kept.push(headers[i]!, headers[i + 1]!);
  return kept;
}
