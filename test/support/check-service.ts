import { createServer, type IncomingMessage, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { CheckParameters, RemoteContext } from '../../plugins/guardrails/check.js';
import { guardrailChecks } from '../../src/common/guardrails/guardrail-checks.js';

/** A request that the service got. */
export interface Asked {
  readonly method: string;
  readonly path: string;
  readonly headers: IncomingMessage['headers'];
  readonly body: string;
}

export interface Answer {
  readonly status?: number;
  /** An object is sent as JSON. */
  readonly body?: object | string | Buffer;
}

/** An HTTP server that stands for another service. */
export interface CheckService {
  readonly url: string;
  readonly asked: Asked[];
  close(): Promise<void>;
}

export async function startCheckService(answer: (asked: Asked) => Answer): Promise<CheckService> {
  const asked: Asked[] = [];
  const server: Server = createServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on('data', (chunk: Buffer) => chunks.push(chunk));
    request.on('end', () => {
      const { method = '', url = '', headers } = request;
      const one = { method, path: url, headers, body: Buffer.concat(chunks).toString() };
      asked.push(one);
      const { status = 200, body = '' } = answer(one);
      const bytes = Buffer.isBuffer(body) || typeof body === 'string' ? body : JSON.stringify(body);
      response.writeHead(status, { 'content-type': 'application/json', connection: 'close' }).end(bytes);
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    asked,
    close: () => new Promise((resolve) => server.close(() => resolve())),
  };
}

/** A request with a way to other services over plain sockets, in place of the gateway's own. */
export const remoteContext = (own: Partial<RemoteContext> = {}): RemoteContext => ({
  ...{
    phase: 'before',
    texts: [],
    text: '',
    requestType: 'chatComplete',
    format: 'openai-chat',
    provider: 'openai',
  },
  ...{ model: 'gpt-4o', metadata: { team: 'red' }, headers: [], body: null, answer: null },
  signal: new AbortController().signal,
  partner: null,
  moderate: () => Promise.reject(new Error('no provider')),
  async send({ method, url, headers, body }) {
    const pairs = headers.flatMap((name, i): [string, string][] =>
      i % 2 === 0 ? [[name, headers[i + 1]!]] : [],
    );
    const reply = await fetch(url, {
      method,
      headers: pairs,
      body: body === null ? null : new Uint8Array(body),
    });
    return {
      status: reply.status,
      headers: [...reply.headers].flat(),
      body: Buffer.from(await reply.arrayBuffer()),
    };
  },
  ...own,
});

/** Parameters as a check gets them: with its defaults. */
export function filledParameters(id: string, parameters: CheckParameters = {}): CheckParameters {
  const defaults = Object.entries(guardrailChecks.get(id)!.parameters.properties)
    .filter(([, schema]) => 'default' in schema)
    .map(([name, schema]) => [name, schema.default]);
  return { ...Object.fromEntries(defaults), ...parameters };
}
