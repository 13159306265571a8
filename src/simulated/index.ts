import { createHash, type Hash } from 'node:crypto';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import { jsonAnswer, type SimulatedAnswer } from './answer.js';
import {
  anthropicError,
  anthropicHeaders,
  checkAnthropicKey,
  checkVersion,
  countTokensAnswer,
  message,
} from './anthropic.js';
import { bedrockAnswer, bedrockError, bedrockModel, isBedrockPath } from './aws/bedrock.js';
import { azureAnswer, isAzurePath } from './azure.js';
import { type Behaviour, parseBehaviour, plainBehaviour } from './behaviour.js';
import { cohereAnswer, cohereError, isCoherePath } from './cohere.js';
import { deliver } from './deliver.js';
import { geminiAnswer, geminiError, geminiModel, isGeminiPath } from './gemini.js';
import { listen, stop } from './listening.js';
import {
  chatCompletion,
  checkOpenAiKey,
  completion,
  embedding,
  models,
  moderation,
  openAiError,
  openAiHeaders,
} from './openai.js';
import { Recorder, type SimulatedRequest } from './recorder.js';
import { response as responsesAnswer } from './responses.js';
import type { Json } from './text.js';

export { faults } from './behaviour.js';
export type { SimulatedRequest } from './recorder.js';
export { countMessages, countTokens } from './text.js';

export interface SimulatedOptions {
  /** 0, the default: any free one. */
  readonly port?: number;
  /** Default 127.0.0.1. */
  readonly host?: string;
  /** Keep every request for a test to look at. Off by default: under load it costs time and memory. */
  readonly record?: boolean;
  /** Connections at once; as many as the system gives unless set. */
  readonly maxConnections?: number;
}

/** A server that speaks OpenAI's, Anthropic's and Bedrock's wire, answers from the request alone, and fails as asked. */
export interface SimulatedProvider {
  /** Without a path: `${url}/v1` is the base URL of both dialects. */
  readonly url: string;
  readonly port: number;
  /** What came, oldest first; empty unless `record`. */
  readonly requests: readonly SimulatedRequest[];
  /** Requests received since the start, recorded or not. */
  readonly count: number;
  /**
   * From now on, answers whose path (`/v1/chat/completions`) or model is `match`, or all for `*`, come with this
   * behaviour: `reset-mid-stream`, `429=2`, `chunks=5,delay=20`, … null: no more. Throws for one it does not know.
   */
  fault(match: string, spec: string | null): void;
  /** Closes the listener and every connection: new ones are refused until `listenAgain`. */
  stopListening(): Promise<void>;
  /** Takes the same port again. */
  listenAgain(): Promise<void>;
  /** Forgets the recorded requests and all faults. */
  reset(): void;
  close(): Promise<void>;
}

const maxJsonBytes = 64 * 1024 * 1024;

/** Starts one on the loopback. Faults may also be asked for by the header `x-simulate` or a model `sim-fault:<spec>`. */
export async function startSimulated(options: SimulatedOptions = {}): Promise<SimulatedProvider> {
  const host = options.host ?? '127.0.0.1';
  const state: State = {
    recorder: options.record === true ? new Recorder() : null,
    faults: new Map(),
    count: 0,
  };
  let server = makeServer(state, options);
  const port = await listen(server, host, options.port ?? 0);
  return {
    url: `http://${host.includes(':') ? `[${host}]` : host}:${port}`,
    port,
    requests: state.recorder?.requests ?? [],
    get count() {
      return state.count;
    },
    fault(match, spec) {
      if (spec === null) {
        state.faults.delete(match);
        return;
      }
      const behaviour = parseBehaviour(spec);
      if (typeof behaviour === 'string') throw new Error(behaviour);
      state.faults.set(match, behaviour);
    },
    stopListening: () => stop(server),
    async listenAgain() {
      server = makeServer(state, options);
      await listen(server, host, port);
    },
    reset() {
      state.recorder?.clear();
      state.faults.clear();
    },
    close: () => stop(server),
  };
}

/** One that has no port: connections are given to it with `emit('connection', …)`. */
export const unboundSimulated = (): Server => makeServer({ recorder: null, faults: new Map(), count: 0 }, {});

interface State {
  readonly recorder: Recorder | null;
  readonly faults: Map<string, Behaviour>;
  count: number;
}

function makeServer(state: State, { maxConnections }: SimulatedOptions): Server {
  const server = createServer({ maxHeaderSize: 128 * 1024 }, (request, response) =>
    handle(state, request, response),
  );
  // Longer than any pool keeps a connection: a provider that hangs up first is a fault one asks for.
  server.keepAliveTimeout = 120_000;
  server.requestTimeout = 0;
  server.headersTimeout = 0;
  if (maxConnections !== undefined) server.maxConnections = maxConnections;
  // A client's protocol error affects its own connection only.
  server.on('clientError', (_, socket) => socket.destroy());
  return server;
}

function handle(state: State, request: IncomingMessage, response: ServerResponse): void {
  state.count++;
  const url = request.url ?? '/';
  const query = url.indexOf('?');
  const path = query < 0 ? url : url.slice(0, query);
  const { recorder } = state;
  let record: SimulatedRequest | null = null;
  if (recorder !== null) {
    record = recordOf(request, url);
    recorder.add(record);
    const seen = record;
    response.once('close', () => {
      if (!response.writableFinished) seen.aborted = true;
    });
  }
  const understood = isUnderstood(request.method, path);
  const hash = understood ? null : createHash('sha256');
  const chunks: Buffer[] = [];
  let length = 0;
  let kept = 0;
  request.on('data', (chunk: Buffer) => {
    length += chunk.length;
    hash?.update(chunk);
    if ((understood || record !== null || length <= echoBytes) && kept + chunk.length <= maxJsonBytes) {
      chunks.push(chunk);
      kept += chunk.length;
    }
  });
  request.on('end', () => {
    const body = chunks.length === 1 ? (chunks[0] as Buffer) : Buffer.concat(chunks);
    if (record !== null) recorder?.keepBody(record, body);
    const upload = hash === null ? null : { length, hash };
    try {
      answerTo(state, request, response, path, body, upload);
    } catch (error) {
      // An unexpected request must not end the server, and every other test with it.
      const text = `The simulated provider failed: ${error instanceof Error ? error.message : String(error)}`;
      if (response.headersSent) response.destroy();
      else deliver(response, openAiError(500, text), plainBehaviour);
    }
  });
  request.on('error', () => {
    // The client left while sending: `close` has noted it.
  });
}

function recordOf(request: IncomingMessage, url: string): SimulatedRequest {
  const headers: Record<string, string> = {};
  for (const [name, value] of Object.entries(request.headers)) {
    if (value !== undefined) headers[name] = Array.isArray(value) ? value.join(', ') : value;
  }
  return {
    method: request.method ?? '',
    path: url,
    headers,
    rawHeaders: request.rawHeaders,
    body: Buffer.alloc(0),
    nonce: headers['x-nonce'] ?? null,
    aborted: false,
    receivedAt: Date.now(),
  };
}

/** Bytes of an upload that are shown again in its echo. */
const echoBytes = 64 * 1024;

const understoodPaths = new Set([
  '/v1/chat/completions',
  '/v1/completions',
  '/v1/embeddings',
  '/v1/moderations',
  '/v1/responses',
  '/v1/messages',
  '/v1/messages/count_tokens',
]);

function isUnderstood(method: string | undefined, path: string): boolean {
  if (method !== 'POST') return false;
  return understoodPaths.has(path) || ownPaths.some((isOwn) => isOwn(path));
}

/** Whose paths are unlike OpenAI's and Anthropic's. */
const ownPaths = [isBedrockPath, isGeminiPath, isCoherePath, isAzurePath];

interface Upload {
  readonly length: number;
  readonly hash: Hash;
}

function answerTo(
  state: State,
  request: IncomingMessage,
  response: ServerResponse,
  path: string,
  bytes: Buffer,
  upload: Upload | null,
): void {
  if (isBedrockPath(path)) {
    const behaviour = behaviourFor(state, request, path, { model: bedrockModel(path) });
    return typeof behaviour === 'string'
      ? deliver(response, bedrockError(400, behaviour), plainBehaviour)
      : deliver(response, bedrockAnswer(request, path, bytes, behaviour), behaviour);
  }
  if (isGeminiPath(path)) {
    const behaviour = behaviourFor(state, request, path, { model: geminiModel(path) });
    return typeof behaviour === 'string'
      ? deliver(response, geminiError(400, behaviour), plainBehaviour)
      : deliver(response, geminiAnswer(request, path, bytes, behaviour), behaviour);
  }
  if (isCoherePath(path) || isAzurePath(path)) {
    const [answer, error] = isCoherePath(path) ? [cohereAnswer, cohereError] : [azureAnswer, openAiError];
    const behaviour = behaviourFor(state, request, path, parseObject(bytes));
    return typeof behaviour === 'string'
      ? deliver(response, error(400, behaviour), plainBehaviour)
      : deliver(response, answer(request, path, bytes, behaviour), behaviour);
  }
  const anthropic = path.startsWith('/v1/messages');
  let body: Json | null = null;
  if (upload === null) {
    body = parseObject(bytes);
    if (body === null) {
      const text = 'We could not parse the JSON body of your request.';
      return deliver(
        response,
        anthropic ? anthropicError(400, text) : openAiError(400, text),
        plainBehaviour,
      );
    }
  }
  const behaviour = behaviourFor(state, request, path, body);
  if (typeof behaviour === 'string') {
    return deliver(
      response,
      anthropic ? anthropicError(400, behaviour) : openAiError(400, behaviour),
      plainBehaviour,
    );
  }
  let answer = refusal(request, path, anthropic);
  if (answer === null && behaviour.fault !== null && /^\d+$/.test(behaviour.fault))
    answer = failed(behaviour, anthropic);
  answer ??=
    body === null
      ? other(request, path, bytes, upload as Upload)
      : understood(request, path, body, behaviour);
  deliver(response, answer, behaviour);
}

function parseObject(bytes: Buffer): Json | null {
  try {
    const value: unknown = JSON.parse(bytes.toString('utf8'));
    return value !== null && typeof value === 'object' && !Array.isArray(value) ? (value as Json) : null;
  } catch {
    return null;
  }
}

/** By header, by model, by what a test has set for this path or model, or for all. */
function behaviourFor(
  state: State,
  request: IncomingMessage,
  path: string,
  body: Json | null,
): Behaviour | string {
  const header = request.headers['x-simulate'];
  if (typeof header === 'string') return parseBehaviour(header);
  const model = body?.['model'];
  if (typeof model === 'string' && model.startsWith('sim-fault:')) return parseBehaviour(model.slice(10));
  if (state.faults.size === 0) return plainBehaviour;
  const byModel = typeof model === 'string' ? state.faults.get(model) : undefined;
  return byModel ?? state.faults.get(path) ?? state.faults.get('*') ?? plainBehaviour;
}

function refusal(request: IncomingMessage, path: string, anthropic: boolean): SimulatedAnswer | null {
  const { headers } = request;
  if (anthropic) {
    return (
      checkAnthropicKey(headers['x-api-key'] as string | undefined, headers.authorization) ??
      checkVersion(headers['anthropic-version'] as string | undefined)
    );
  }
  return path.startsWith('/v1/') ? checkOpenAiKey(headers.authorization) : null;
}

/** A status asked for, in the dialect's shape: `429=2` with that Retry-After, `429=date` with a date two seconds off. */
function failed(behaviour: Behaviour, anthropic: boolean): SimulatedAnswer {
  const status = Number(behaviour.fault);
  const text =
    status === 429
      ? 'Rate limit reached for requests'
      : status === 401
        ? 'Incorrect API key provided: simu***.'
        : status >= 500
          ? 'The server had an error while processing your request. Sorry about that!'
          : `Simulated refusal with status ${status}.`;
  const answer = anthropic
    ? anthropicError(status, text)
    : openAiError(
        status,
        text,
        status === 429 ? { code: 'rate_limit_exceeded' } : status === 401 ? { code: 'invalid_api_key' } : {},
      );
  if (behaviour.value === null) return answer;
  const wait = behaviour.value === 'date' ? new Date(Date.now() + 2000).toUTCString() : behaviour.value;
  return { ...answer, headers: [...answer.headers, 'retry-after', wait] };
}

function understood(
  request: IncomingMessage,
  path: string,
  body: Json,
  behaviour: Behaviour,
): SimulatedAnswer {
  const version = request.headers['anthropic-version'] as string | undefined;
  switch (path) {
    case '/v1/chat/completions':
      return chatCompletion(body, behaviour);
    case '/v1/completions':
      return completion(body, behaviour);
    case '/v1/embeddings':
      return embedding(body);
    case '/v1/moderations':
      return moderation(body);
    case '/v1/responses':
      return responsesAnswer(body, behaviour);
    case '/v1/messages':
      return message(body, version, behaviour);
    default:
      return countTokensAnswer(body, version);
  }
}

/** Models, sound, and for any other path under /v1/ an account of what arrived. */
function other(request: IncomingMessage, path: string, bytes: Buffer, upload: Upload): SimulatedAnswer {
  if (!path.startsWith('/v1/')) return openAiError(404, `Invalid URL (${request.method} ${path})`);
  if (request.method === 'GET' && path === '/v1/models') return models(null);
  if (request.method === 'GET' && path.startsWith('/v1/models/'))
    return models(decodeURIComponent(path.slice(11)));
  if (request.method === 'POST' && path === '/v1/audio/speech') {
    const sound = Buffer.alloc(4096, bytes.length === 0 ? Buffer.from([0xff, 0xfb]) : bytes);
    return {
      status: 200,
      headers: openAiHeaders(),
      contentType: 'audio/mpeg',
      body: sound,
      errorFrame: null,
    };
  }
  const url = request.url ?? '';
  const echo = {
    object: 'echo',
    method: request.method,
    path,
    query: url.slice(path.length),
    content_type: request.headers['content-type'] ?? null,
    bytes: upload.length,
    sha256: upload.hash.digest('hex'),
    ...(upload.length > 0 && upload.length <= echoBytes ? { body: bytes.toString('utf8') } : {}),
  };
  return jsonAnswer(200, echo, path.startsWith('/v1/messages') ? anthropicHeaders() : openAiHeaders());
}
