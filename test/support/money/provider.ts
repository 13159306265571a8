import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { pause } from '../gateway.js';
import { scaled } from '../time-limits.js';
import { type Behaviour, behaviourOf, type Case, embedTarget } from './plan.js';
import { billOf, type Report } from './prices.js';

/** One call that arrived, as the provider bills it. */
export interface Call {
  /** The request's name, or that of its question; null: an embedding. */
  readonly who: string | null;
  readonly target: string;
  readonly model: string;
  readonly arrivedAt: number;
  /** What was sent of its usage; null: nothing, or nothing of use. */
  report: Report | null;
  tier: string | null;
  /** Picodollars; null: there is no price, or nothing was reported. */
  bill: bigint | null;
  /** Was the answer written to its end, and the connection still open? */
  isDelivered: boolean;
  /** When its answer was given up or written to its end, by the monotonic clock; null: it is still under way. */
  endedAt: number | null;
}

interface Body {
  readonly model: string;
  readonly user?: string;
  readonly stream?: boolean;
  readonly input?: readonly string[];
}

const nonsense = [
  { prompt_tokens: -5, completion_tokens: 3, total_tokens: -2 },
  { prompt_tokens: '12', completion_tokens: '7', total_tokens: '19' },
  { prompt_tokens: 1e300, completion_tokens: 1, total_tokens: 1e300 },
  { prompt_tokens: 4, completion_tokens: -1, total_tokens: 3 },
  { total_tokens: null },
  [],
  null,
];

const over = (call: Call): void => {
  call.endedAt ??= performance.now();
};

/** A provider of OpenAI's wire format with several addresses, which does with each call what was planned, and bills it. */
export class MoneyProvider {
  readonly calls: Call[] = [];
  readonly #tries = new Map<string, number>();
  readonly #cases = new Map<string, Case>();
  readonly #server: Server;

  constructor(
    readonly seed: number,
    cases: readonly Case[],
  ) {
    for (const one of cases) this.#cases.set(one.question ?? one.name, one);
    this.#server = createServer((request, response) => {
      const parts: Buffer[] = [];
      request.on('data', (part: Buffer) => parts.push(part));
      request.on('end', () => void this.#answer(request, response, Buffer.concat(parts).toString()));
    });
  }

  async start(): Promise<this> {
    await new Promise<void>((done) => this.#server.listen(0, '127.0.0.1', done));
    return this;
  }

  addressOf(target: string): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}/${target}/v1`;
  }

  async #answer(request: IncomingMessage, response: ServerResponse, text: string): Promise<void> {
    const target = request.url!.split('/')[1]!;
    const body = JSON.parse(text) as Body;
    const call: Call = {
      ...{ who: body.user ?? null, target, model: body.model, arrivedAt: performance.now() },
      ...{ report: null, tier: null, bill: null, isDelivered: false, endedAt: null },
    };
    this.calls.push(call);
    response.on('close', () => {
      over(call);
      call.isDelivered = response.writableFinished;
    });
    if (target === embedTarget) return this.#embed(response, call, body.input![0]!);
    const asked = this.#cases.get(body.user!)!;
    const tries = `${body.user}/${target}`;
    const nth = this.#tries.get(tries) ?? 0;
    this.#tries.set(tries, nth + 1);
    const does = behaviourOf(this.seed, asked, target, nth);
    await pause(does.headMs);
    if (response.destroyed) return;
    if (does.kind === 'reset') {
      over(call);
      return void request.socket.destroy();
    }
    if (does.kind === 'error') {
      over(call);
      response.writeHead(does.status, { 'content-type': 'application/json' });
      response.end(JSON.stringify({ error: { message: 'planned', type: 'server_error' } }));
      return;
    }
    const most = Math.floor((asked.maxTokens ?? 1000) / does.pieces);
    const piece = ' word'.repeat(Math.min(5, most));
    await (body.stream === true ? this.#stream : this.#whole).call(this, response, call, does, piece);
  }

  #reported(call: Call, does: Behaviour): Record<string, unknown> {
    if (does.kind === 'silent') return {};
    if (does.kind === 'nonsense') return { usage: nonsense[does.pieces % nonsense.length] };
    call.report = does.report;
    call.tier = does.tier;
    call.bill = billOf(does.report, call.model, call.target === 'lent', does.tier);
    return { usage: does.report };
  }

  async #whole(response: ServerResponse, call: Call, does: Behaviour, piece: string): Promise<void> {
    const { model } = call;
    const message = { role: 'assistant', content: piece.repeat(does.pieces) };
    const choices = [{ index: 0, message, finish_reason: 'stop' }];
    const tier = does.tier === null ? {} : { service_tier: does.tier };
    const isCut = does.kind === 'cut';
    const answer = { id: 'c', object: 'chat.completion', created: 1, model, choices, ...tier };
    const text = JSON.stringify({ ...answer, ...(isCut ? {} : this.#reported(call, does)) });
    response.writeHead(200, { 'content-type': 'application/json', 'content-length': text.length });
    if (isCut) {
      response.write(text.slice(0, text.length >> 1));
      await pause(5);
    }
    over(call);
    if (isCut) response.destroy();
    else response.end(text);
  }

  async #stream(response: ServerResponse, call: Call, does: Behaviour, piece: string): Promise<void> {
    const { model } = call;
    const tier = does.tier === null ? {} : { service_tier: does.tier };
    const event = (more: object): string =>
      `data: ${JSON.stringify({ id: 'c', object: 'chat.completion.chunk', created: 1, model, ...tier, ...more })}\n\n`;
    response.writeHead(200, { 'content-type': 'text/event-stream' });
    for (let i = 0; i < does.pieces; i++) {
      if (response.destroyed) return;
      const delta = { content: piece };
      response.write(event({ choices: [{ index: 0, delta, finish_reason: null }] }));
      if (does.pieceMs > 0) await pause(does.pieceMs);
      if (does.kind === 'cut' && i >= does.pieces >> 1) break;
    }
    if (response.destroyed) return;
    over(call);
    if (does.kind === 'cut') return void response.destroy();
    response.write(event({ choices: [{ index: 0, delta: {}, finish_reason: 'stop' }] }));
    if (does.kind !== 'silent') response.write(event({ choices: [], ...this.#reported(call, does) }));
    response.end('data: [DONE]\n\n');
  }

  /** Texts about the same question have the same vector, those about others are at right angles to it. */
  #embed(response: ServerResponse, call: Call, text: string): void {
    const number = Number(/semantic-(\d+)/.exec(text)?.[1]);
    const vector = Array.from({ length: 8 }, (_, i) => (i === number ? 1 : 0));
    const tokens = Math.ceil(text.length / 4);
    over(call);
    call.report = { prompt_tokens: tokens, completion_tokens: 0, total_tokens: tokens };
    call.bill = billOf(call.report, call.model, false, null);
    response.writeHead(200, { 'content-type': 'application/json' });
    const data = [{ object: 'embedding', index: 0, embedding: vector }];
    const usage = { prompt_tokens: tokens, total_tokens: tokens };
    response.end(JSON.stringify({ object: 'list', model: call.model, data, usage }));
  }

  async close(): Promise<void> {
    const closed = new Promise((done) => this.#server.close(done));
    this.#server.closeAllConnections();
    await Promise.race([closed, pause(scaled(2000))]);
  }
}
