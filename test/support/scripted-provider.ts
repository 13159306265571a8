import { createServer, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';

/** What a call comes to: a status, or silence. */
export type Step = number | 'hang';

/** A provider of OpenAI's wire format that answers each call as told at that moment, and keeps when they came. */
export class ScriptedProvider {
  /** Unix milliseconds of every call. */
  readonly calls: number[] = [];
  /** Calls under way, and the most there were at a time since the last `forget`. */
  open = 0;
  mostOpen = 0;
  readonly #server: Server;
  #port = 0;

  /** `script` is given the number of the call, from 1. */
  constructor(public script: (call: number) => Step | Promise<Step>) {
    this.#server = createServer((request, response) => {
      this.calls.push(Date.now());
      this.open++;
      this.mostOpen = Math.max(this.mostOpen, this.open);
      response.on('close', () => this.open--);
      request.resume();
      request.on('end', () => {
        void Promise.resolve(this.script(this.calls.length)).then((step) => answer(response, step));
      });
    });
  }

  get baseUrl(): string {
    return `http://127.0.0.1:${this.#port}/v1`;
  }

  async listen(): Promise<this> {
    await new Promise<void>((done) => this.#server.listen(this.#port, '127.0.0.1', done));
    this.#port = (this.#server.address() as AddressInfo).port;
    return this;
  }

  /** Refuses connections until it listens again. */
  async close(): Promise<void> {
    if (!this.#server.listening) return;
    const closed = new Promise((done) => this.#server.close(done));
    this.#server.closeAllConnections();
    await closed;
  }

  forget(): void {
    this.calls.length = 0;
    this.mostOpen = this.open;
  }
}

const completion = JSON.stringify({
  id: 'chatcmpl-1',
  object: 'chat.completion',
  created: 1,
  model: 'gpt-4o-mini',
  choices: [{ index: 0, message: { role: 'assistant', content: 'Hi' }, finish_reason: 'stop' }],
  usage: { prompt_tokens: 1, completion_tokens: 1, total_tokens: 2 },
});

function answer(response: ServerResponse, step: Step): void {
  if (step === 'hang') return;
  response.writeHead(step, { 'content-type': 'application/json' });
  response.end(step < 300 ? completion : JSON.stringify({ error: { message: 'scripted', type: 'x' } }));
}
