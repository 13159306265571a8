import type { Format } from '../../common/core/endpoint.js';
import { findEndpoint } from '../../data-plane/endpoints/table.js';
import type { InjectedRequest } from '../kit-types.js';
import type { Sent } from './client-call.js';
import { listOf } from './header-record.js';

/** What the client of a test sends. `key` null: no key. */
export function sentOf(request: InjectedRequest, key: string | null): Sent {
  const { method = 'POST', path: whole = '/v1/chat/completions', metadata, config } = request;
  const [path = '', ...rest] = whole.split('?');
  const given = listOf(request.headers ?? {});
  const headers = [...given];
  const add = (name: string, value: string): void => {
    if (!given.some((text, i) => i % 2 === 0 && text === name)) headers.push(name, value);
  };
  if (key !== null) add('x-gateway-api-key', key);
  if (metadata !== undefined) add('x-gateway-metadata', JSON.stringify(metadata));
  if (config !== undefined) add('x-gateway-config', JSON.stringify(config));
  else if (!given.includes('x-gateway-config')) add('x-gateway-provider', '@simulated');
  const body = request.body ?? (method === 'POST' ? bodyFor(method, path, request.stream === true) : '');
  const text = typeof body === 'string' ? body : JSON.stringify(body);
  if (text !== '') {
    add('content-type', 'application/json');
    add('content-length', String(Buffer.byteLength(text)));
  }
  return { method, path, query: rest.join('?'), headers, body: Buffer.from(text) };
}

/** A short request of each format. */
const bodies: Partial<Readonly<Record<Format, object>>> = {
  'openai-chat': { model: 'gpt-4o-mini', messages: [{ role: 'user', content: 'Hello' }] },
  'openai-completions': { model: 'gpt-3.5-turbo-instruct', prompt: 'Hello' },
  'openai-embeddings': { model: 'text-embedding-3-small', input: 'Hello' },
  'openai-moderations': { model: 'omni-moderation-latest', input: 'Hello' },
  'openai-responses': { model: 'gpt-4o-mini', input: 'Hello' },
  'anthropic-messages': {
    model: 'claude-sonnet-4-5',
    max_tokens: 64,
    messages: [{ role: 'user', content: 'Hello' }],
  },
  'anthropic-count-tokens': { model: 'claude-sonnet-4-5', messages: [{ role: 'user', content: 'Hello' }] },
  'gemini-generate-content': { contents: [{ role: 'user', parts: [{ text: 'Hello' }] }] },
};

function bodyFor(method: string, path: string, stream: boolean): object {
  let format: Format;
  try {
    const endpoint = findEndpoint(method, path);
    format = endpoint.format;
    if (endpoint.modelInPath === true) return bodies[format] ?? {};
  } catch {
    return {};
  }
  return { ...bodies[format], ...(stream ? { stream: true } : {}) };
}
