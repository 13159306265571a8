import type { HeaderList } from '../../../common/http/headers.js';
import type { Ask } from './ask.js';

/** `fetch`, for libraries that get tokens: what they ask goes the gateway's own way. */
export function askFetch(ask: Ask): typeof fetch {
  return async (input, init) => {
    const request = new Request(input, init);
    const headers: HeaderList = [];
    for (const [name, value] of request.headers) headers.push(name, value);
    const body = request.body === null ? null : Buffer.from(await request.arrayBuffer());
    const answer = await ask({ method: request.method, url: request.url, headers, body });
    const pairs: [string, string][] = [];
    for (let i = 0; i < answer.headers.length; i += 2)
      pairs.push([answer.headers[i]!, answer.headers[i + 1]!]);
    const bodiless = answer.status === 204 || answer.status === 304;
    return new Response(bodiless ? null : new Uint8Array(answer.body), {
      status: answer.status,
      headers: pairs,
    });
  };
}
