import { createServer, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { pause } from './gateway.js';
import { scaled } from './time-limits.js';

/** Published prices of gpt-4o: 2.50 and 10.00 dollars a million tokens. Picodollars a token. */
const inputPrice = 2_500_000;
const outputPrice = 10_000_000;
/** Of a chat whose one message is `Hello`, by the published rules. */
const promptTokens = 8;
const chunkTokens = 100;
const chunkMs = 4;

/** What one call is billed: its prompt as it arrives, and the answer as far as it was written. */
interface Bill {
  output: number;
  /** Was its usage written to the end? */
  isReported: boolean;
}

/** A provider of OpenAI's wire format with a bill of its own. Each call names itself by its `user`. */
export class BillingProvider {
  readonly #bills = new Map<string, Bill>();
  readonly #server: Server;
  /** Calls that came with the `user` of an earlier one. */
  doubled = 0;
  /** Called with each call's `user`, before it is answered. */
  onCall: (user: string) => void = () => {};

  constructor() {
    this.#server = createServer((request, response) => {
      const parts: Buffer[] = [];
      request.on('data', (part: Buffer) => parts.push(part));
      request.on('end', () => void this.#answer(response, Buffer.concat(parts).toString()));
    });
  }

  static async start(): Promise<BillingProvider> {
    const provider = new BillingProvider();
    await new Promise<void>((done) => provider.#server.listen(0, '127.0.0.1', done));
    return provider;
  }

  get baseUrl(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}/v1`;
  }

  get users(): readonly string[] {
    return [...this.#bills.keys()];
  }

  /** Picodollars; 0: this call never arrived. */
  billOf(user: string): number {
    const bill = this.#bills.get(user);
    return bill === undefined ? 0 : promptTokens * inputPrice + bill.output * outputPrice;
  }

  isReported(user: string): boolean {
    return this.#bills.get(user)?.isReported === true;
  }

  async #answer(response: ServerResponse, text: string): Promise<void> {
    const { user, stream, max_tokens } = JSON.parse(text) as {
      user: string;
      stream: boolean;
      max_tokens: number;
    };
    if (this.#bills.has(user)) this.doubled++;
    const bill: Bill = { output: 0, isReported: false };
    this.#bills.set(user, bill);
    this.onCall(user);
    const tokens = 1 + Math.floor(Math.random() * max_tokens);
    const usage = {
      prompt_tokens: promptTokens,
      completion_tokens: tokens,
      total_tokens: promptTokens + tokens,
    };
    const whole = { id: 'chatcmpl-1', created: 1, model: 'gpt-4o' };
    await pause(Math.random() * 20);
    if (!stream) {
      await pause(Math.random() * 50);
      bill.output = tokens;
      const message = { role: 'assistant', content: ' word'.repeat(tokens) };
      const choices = [{ index: 0, message, finish_reason: 'stop' }];
      response.on('finish', () => {
        bill.isReported = true;
      });
      response.writeHead(200, { 'content-type': 'application/json' });
      response.end(JSON.stringify({ ...whole, object: 'chat.completion', choices, usage }));
      return;
    }
    response.writeHead(200, { 'content-type': 'text/event-stream' });
    const event = (more: object): string =>
      `data: ${JSON.stringify({ ...whole, object: 'chat.completion.chunk', ...more })}\n\n`;
    while (bill.output < tokens && !response.closed && !response.destroyed) {
      const count = Math.min(chunkTokens, tokens - bill.output);
      bill.output += count;
      const delta = { content: ' word'.repeat(count) };
      response.write(event({ usage: null, choices: [{ index: 0, delta, finish_reason: null }] }));
      await pause(chunkMs);
    }
    if (response.closed || response.destroyed) return;
    response.write(event({ choices: [{ index: 0, delta: {}, finish_reason: 'stop' }] }));
    response.write(event({ choices: [], usage }));
    response.on('finish', () => {
      bill.isReported = true;
    });
    response.end('data: [DONE]\n\n');
  }

  async close(): Promise<void> {
    const closed = new Promise((done) => this.#server.close(done));
    this.#server.closeAllConnections();
    await Promise.race([closed, pause(scaled(2000))]);
  }
}
