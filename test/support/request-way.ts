import { once } from 'node:events';
import { readFileSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { Session } from 'node:inspector';
import { type AddressInfo, connect, Socket } from 'node:net';
import { sep } from 'node:path';
import { fileURLToPath } from 'node:url';
import { createHandler } from '../../src/data-plane/pipeline/handle.js';
import { createUwsTransport } from '../../src/data-plane/transport/uws/uws.js';
import { createUpstream } from '../../src/data-plane/upstream/dispatch.js';
import { BareWorker } from './bare-worker.js';

/** A function of ours that a chat passes. */
export interface WayFunction {
  /** From the root of the tree. */
  readonly file: string;
  readonly name: string;
}

/** Answered before anything is counted. */
const warmUp = 60;
/** Longer than the time from one sweep to the next. */
const timersMs = 600;
const measured = 40;

const root = fileURLToPath(new URL('../../', import.meta.url));
const folders = ['src', 'plugins', 'workers'];
const session = new Session();

function post<T>(method: string, params: object = {}): T {
  let answer: T | undefined;
  session.post(method, params, (error, value) => {
    if (error !== null) throw new Error(`${method}: ${error.message}`);
    answer = value as T;
  });
  // A session with the thread's own inspector answers within the call.
  return answer!;
}

interface Script {
  readonly scriptId: string;
  readonly url: string;
  readonly functions: readonly {
    readonly functionName: string;
    readonly ranges: readonly {
      readonly startOffset: number;
      readonly endOffset: number;
      readonly count: number;
    }[];
  }[];
}

interface Counted {
  readonly scriptId: string;
  readonly file: string;
  readonly name: string;
  readonly start: number;
}

function takeCounts(): Map<string, Counted> {
  const { result } = post<{ result: Script[] }>('Profiler.takePreciseCoverage');
  const counts = new Map<string, Counted>();
  for (const { scriptId, url, functions } of result) {
    if (!url.startsWith('file:')) continue;
    const path = fileURLToPath(url);
    if (!folders.some((folder) => path.startsWith(root + folder + sep))) continue;
    const file = path.slice(root.length).replace(/\.js$/, '.ts');
    for (const { functionName, ranges } of functions) {
      const { startOffset, count } = ranges[0]!;
      // To whoever writes a class, its fields are set by the constructor.
      if (count === 0 || functionName === '<instance_members_initializer>') continue;
      counts.set(`${file}:${startOffset}`, {
        file,
        name: functionName || '(a callback)',
        start: startOffset,
        scriptId,
      });
    }
  }
  return counts;
}

/**
 * The functions of ours that run for one plain chat, from the transport's callback to the write to the provider's
 * socket, in the order in which they are first called, as V8's precise coverage finds them. Only compiled code can be
 * measured so: `node dist/test/support/request-way.js`.
 *
 * A worker that has answered some requests already is asked a few times more; a function that runs each time is on the
 * way, one that runs without a chat as well, for a timer, is not.
 */
export async function requestWay(): Promise<WayFunction[]> {
  const provider = createServer((request, response) => {
    request.resume().on('end', () => {
      response.setHeader('content-type', 'application/json').end(answer);
    });
  }).listen(0, '127.0.0.1');
  await once(provider, 'listening');
  // On a busy machine a connection would become too old to be used again.
  provider.keepAliveTimeout = 60_000;
  const { port: providerPort } = provider.address() as AddressInfo;

  const upstream = createUpstream({
    connectionsPerOrigin: 8,
    keepAliveMs: 60_000,
    egressAllow: ['127.0.0.1'],
  });
  const worker = await new BareWorker().start({ upstream });
  worker.addProvider('openai', { provider: 'openai', baseUrl: `http://127.0.0.1:${providerPort}/v1` });
  const transport = await createUwsTransport({
    handler: createHandler(worker.pipeline),
    maxHeaderBytes: 80 * 1024,
    maxConnections: 100,
    writeTimeoutMs: 10_000,
    onProblem: (error) => console.error(error),
  });
  const port = await transport.listen('127.0.0.1', 0, false);
  const client = connect(port, '127.0.0.1');
  const key = worker.key();
  const body = JSON.stringify({
    model: 'gpt-4o-mini',
    messages: [
      { role: 'system', content: 'You are a helpful assistant.' },
      { role: 'user', content: 'Hello' },
    ],
  });
  const request = [
    'POST /v1/chat/completions HTTP/1.1',
    `host: 127.0.0.1:${port}`,
    'connection: keep-alive',
    'accept: application/json',
    'user-agent: OpenAI/JS 6.49.0',
    'content-type: application/json',
    `authorization: Bearer ${key}`,
    'x-gateway-provider: @openai',
    `content-length: ${Buffer.byteLength(body)}`,
    '',
    body,
  ].join('\r\n');

  /** One chat; what it is given is called as the gateway writes to the provider. */
  let onWrite: (() => void) | null = null;
  const write = Socket.prototype.write as (this: Socket, ...given: unknown[]) => boolean;
  Socket.prototype.write = function (this: Socket, ...given: unknown[]): boolean {
    if (this.remotePort === providerPort) {
      onWrite?.();
      onWrite = null;
    }
    return write.apply(this, given);
  } as typeof Socket.prototype.write;
  const chat = async (written: () => void): Promise<void> => {
    onWrite = written;
    client.write(request);
    const [head] = (await once(client, 'data')) as [Buffer];
    if (!head.toString().startsWith('HTTP/1.1 200')) throw new Error(head.toString());
    // The connection to the provider is free a turn later.
    await new Promise((resolve) => setTimeout(resolve, 5));
  };
  for (let i = 0; i < warmUp; i++) await chat(() => {});

  session.connect();
  post('Profiler.enable');
  post('Profiler.startPreciseCoverage', { callCount: true, detailed: false });
  let ran: Map<string, Counted> | null = null;
  for (let i = 0; i <= measured; i++) {
    takeCounts();
    let counts = new Map<string, Counted>();
    await chat(() => {
      counts = takeCounts();
    });
    // The first one is not warm: coverage has thrown away what was compiled.
    if (i === 0) continue;
    if (ran === null) ran = counts;
    else for (const place of ran.keys()) if (!counts.has(place)) ran.delete(place);
  }
  // On a busy machine timers fire within each chat; they do so without one as well.
  takeCounts();
  await new Promise((resolve) => setTimeout(resolve, timersMs));
  for (const place of takeCounts().keys()) ran!.delete(place);
  post('Profiler.stopPreciseCoverage');
  const found = await inOrder(ran!, chat);
  session.disconnect();

  client.destroy();
  transport.close();
  await upstream.close();
  worker.close();
  provider.close();
  return found;
}

/** Breakpoints that write down where they are and never stop, at the beginning of each function. */
async function inOrder(
  ran: Map<string, Counted>,
  chat: (written: () => void) => Promise<void>,
): Promise<WayFunction[]> {
  const order: string[] = [];
  Object.assign(globalThis, { wayOrder: order });
  post('Debugger.enable');
  for (const [place, { scriptId, start }] of ran) {
    const { scriptSource } = post<{ scriptSource: string }>('Debugger.getScriptSource', { scriptId });
    const before = scriptSource.slice(0, start).split('\n');
    const from = { scriptId, lineNumber: before.length - 1, columnNumber: before.at(-1)!.length };
    const { locations } = post<{ locations: object[] }>('Debugger.getPossibleBreakpoints', {
      start: from,
      restrictToFunction: true,
    });
    if (locations[0] === undefined) throw new Error(`no place for a breakpoint at ${place}`);
    post('Debugger.setBreakpoint', {
      location: locations[0],
      condition: `globalThis.wayOrder.push(${JSON.stringify(place)}), false`,
    });
  }
  // The first one meets what has happened meanwhile.
  await chat(() => {});
  // What one chat passes over on a busy machine, the next one may meet.
  let places = new Set<string>();
  for (let tries = 0; tries < 10 && [...ran.keys()].some((place) => !places.has(place)); tries++) {
    order.length = 0;
    await chat(() => {
      places = new Set(order);
    });
  }
  post('Debugger.disable');
  for (const place of ran.keys()) if (!places.has(place)) throw new Error(`${place} was not seen`);
  return [...places].map((place) => {
    const { file, name } = ran.get(place)!;
    return { file, name };
  });
}

const answer = JSON.stringify({
  id: 'chatcmpl-1',
  object: 'chat.completion',
  created: 1_700_000_000,
  model: 'gpt-4o-mini',
  choices: [{ index: 0, message: { role: 'assistant', content: 'Hello.' }, finish_reason: 'stop' }],
  usage: { prompt_tokens: 20, completion_tokens: 2, total_tokens: 22 },
});

const filesOf = (way: readonly WayFunction[]): number => new Set(way.map(({ file }) => file)).size;

/** The functions in their order, as docs/architecture.md lists them: a line for each stay in a file. */
export function wayText(way: readonly WayFunction[]): string {
  const stays: { file: string; names: string[] }[] = [];
  for (const { file, name } of way) {
    const last = stays.at(-1);
    if (last?.file === file) last.names.push(name);
    else stays.push({ file, names: [name] });
  }
  const lines = stays.map(({ file, names }) => `- \`${file}\`: ${names.join(', ')}`);
  return [`${way.length} functions in ${filesOf(way)} files:`, '', ...lines].join('\n');
}

const inPage = /(<!-- way:[^\n]*-->\n)([\s\S]*?)(<!-- \/way -->)/;

/** What docs/architecture.md says of the way. */
export const wayOfPage = (page: string): string | undefined => inPage.exec(page)?.[2]?.trim();

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const way = await requestWay();
  if (process.argv[2] === '--json') {
    console.log(JSON.stringify(way));
  } else {
    const text = wayText(way);
    console.log(text);
    const page = new URL('../../../docs/architecture.md', import.meta.url);
    writeFileSync(
      page,
      readFileSync(page, 'utf8').replace(inPage, (_, open, __, end) => `${open}\n${text}\n\n${end}`),
    );
  }
}
