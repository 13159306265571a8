import { clientRequest } from './load.js';
import type { Server } from './servers.js';

/** The body of the chat that the benchmarks send: 1 KB. */
export function chatBody(stream: boolean, more: object = {}): string {
  const body = {
    model: 'gpt-4o-mini',
    messages: [
      { role: 'system', content: 'You are a helpful assistant. '.repeat(8) },
      { role: 'user', content: 'Tell me about the river and the gate that holds it. '.repeat(12) },
    ],
    temperature: 0.7,
    max_tokens: 256,
    ...(stream ? { stream: true, stream_options: { include_usage: true } } : {}),
    ...more,
  };
  return JSON.stringify(body);
}

/** That chat as `server` takes it, head and body. */
export const chatRequest = (server: Server, stream: boolean, more: object = {}): Buffer =>
  clientRequest(server.path ?? '/v1/chat/completions', server.headers, chatBody(stream, more));
