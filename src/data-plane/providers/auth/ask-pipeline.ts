import type { HeaderList } from '../../../common/http/headers.js';
import type { Ask } from './ask.js';

/** What Azure's libraries send and expect back (@azure/core-rest-pipeline), as far as tokens need it. */
interface PipelineHeaders extends Iterable<[string, string]> {
  get(name: string): string | undefined;
  has(name: string): boolean;
  set(name: string, value: string | number | boolean): void;
  delete(name: string): void;
  toJSON(): Record<string, string>;
}
interface PipelineRequest {
  readonly url: string;
  readonly method: string;
  readonly headers: PipelineHeaders;
  readonly body?: unknown;
}
interface PipelineResponse<Request> {
  readonly request: Request;
  readonly status: number;
  readonly headers: PipelineHeaders;
  readonly bodyAsText: string;
}

/** An `httpClient` for Azure's libraries: what they ask goes the gateway's own way. */
export function askPipeline(ask: Ask): {
  sendRequest<Request extends PipelineRequest>(request: Request): Promise<PipelineResponse<Request>>;
} {
  return {
    async sendRequest(request) {
      const headers: HeaderList = [];
      for (const [name, value] of request.headers) headers.push(name.toLowerCase(), value);
      const body = typeof request.body === 'string' ? Buffer.from(request.body) : null;
      const answer = await ask({ method: request.method, url: request.url, headers, body });
      return {
        request,
        status: answer.status,
        headers: headersOf(answer.headers),
        bodyAsText: answer.body.toString('utf8'),
      };
    },
  };
}

function headersOf(list: HeaderList): PipelineHeaders {
  const map = new Map<string, string>();
  for (let i = 0; i < list.length; i += 2) map.set(list[i]!, list[i + 1]!);
  return {
    get: (name) => map.get(name.toLowerCase()),
    has: (name) => map.has(name.toLowerCase()),
    set: (name, value) => void map.set(name.toLowerCase(), String(value)),
    delete: (name) => void map.delete(name.toLowerCase()),
    toJSON: () => Object.fromEntries(map),
    [Symbol.iterator]: () => map.entries(),
  };
}
