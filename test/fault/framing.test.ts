// lane: slow
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'chai';
import { createNodeTransport } from '../../src/data-plane/transport/node/node.js';
import type { Call, Transport } from '../../src/data-plane/transport/transport.js';
import { createUwsTransport } from '../../src/data-plane/transport/uws/uws.js';
import { pause, RawClient, turn } from '../support/raw-http.js';
import { root } from '../support/root.js';

interface Expected {
  /**
   * `refuse`: an error answer and close, or close. `unserved`: no handler call, be it refused or waited for.
   * `contained`: served or not, but nothing behind it is. `pipelined`: these paths, as far as they are reached
   * (an unanswered call and another behind it in one packet end a uWebSockets connection).
   */
  readonly kind: 'refuse' | 'unserved' | 'serve' | 'contained' | 'pipelined';
  /** The refusal is ours, in JSON. */
  readonly json?: boolean;
  readonly status?: number;
  readonly paths?: readonly string[];
  readonly body?: string;
  readonly length?: number;
  readonly closes?: boolean;
  /** Not all of `paths` need be answered. */
  readonly partly?: boolean;
}

interface Case {
  readonly id: string;
  readonly about: string;
  /** Latin-1 text, and text to repeat. */
  readonly bytes: readonly (string | { readonly repeat: string; readonly times: number })[];
  readonly expect: Expected | { readonly uws: Expected; readonly node: Expected };
  /** Why the transports differ. */
  readonly why?: string;
}

const read = (file: string): Case[] =>
  JSON.parse(readFileSync(join(root, 'test/fault/corpus', file), 'utf8')) as Case[];

const bytesOf = (entry: Case): Buffer =>
  Buffer.from(
    entry.bytes.map((part) => (typeof part === 'string' ? part : part.repeat.repeat(part.times))).join(''),
    'latin1',
  );

/** Offsets are random; the seed is said where a case fails. */
const seed = Number(process.env['HEADGATE_TEST_SEED'] ?? Date.now() % 1_000_000);
let state = seed;
const random = (below: number): number => {
  state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
  return Math.floor((state / 2 ** 32) * below);
};

const deliveries = {
  'in one packet': async (client: RawClient, bytes: Buffer) => {
    client.send(bytes);
  },
  // A thousand pieces at most: of a long input, each piece is more than one byte.
  'byte by byte': async (client: RawClient, bytes: Buffer) => {
    const step = Math.ceil(bytes.length / 1000);
    for (let at = 0; at < bytes.length && !client.closed; at += step) {
      client.send(bytes.subarray(at, at + step));
      await turn();
    }
  },
  'in two packets': async (client: RawClient, bytes: Buffer) => {
    const at = random(bytes.length);
    client.send(bytes.subarray(0, at));
    await pause(2);
    client.send(bytes.subarray(at));
  },
} as const;

const limit = 1 << 20;

for (const [name, create] of [
  ['uws', createUwsTransport],
  ['node', createNodeTransport],
] as const) {
  describe(`framing over ${name}`, function () {
    // A connection that is to be closed by us may linger for a second.
    this.timeout(20_000);
    let transport: Transport;
    let port: number;
    let paths: string[];
    let late: boolean;

    const respond = (call: Call, status: number, body: Buffer | string): void => {
      if (late) setImmediate(() => call.answer(status, ['x-path', call.path], body));
      else call.answer(status, ['x-path', call.path], body);
    };

    before(async () => {
      transport = await create({
        handler(call) {
          if (call.path !== '/victim') paths.push(call.path);
          call.collect(limit, (error, bytes) => respond(call, error?.status ?? 200, error?.code ?? bytes));
        },
        maxHeaderBytes: 80 * 1024,
        writeTimeoutMs: 1000,
        onProblem: () => {},
      });
      port = await transport.listen('127.0.0.1', 0, false);
    });

    after(() => {
      transport.close();
    });

    for (const entry of [...read('h-framing.json'), ...read('r-headers.json')]) {
      const expected = 'kind' in entry.expect ? entry.expect : entry.expect[name];
      const bytes = bytesOf(entry);
      it(`${entry.id} ${entry.about}: ${expected.kind}`, async () => {
        for (const [delivery, deliver] of Object.entries(deliveries)) {
          for (late of [false, true]) {
            paths = [];
            const victim = await RawClient.connect(port);
            const client = await RawClient.connect(port);
            try {
              const nonce = `${entry.id}-${random(1e9)}`;
              const request = `POST /victim HTTP/1.1\r\nHost: v\r\nContent-Length: ${nonce.length}\r\n\r\n${nonce}`;
              const half = random(request.length);
              victim.send(request.slice(0, half));
              await deliver(client, bytes);
              victim.send(request.slice(half));
              await judge(client, expected, delivery === 'in one packet');
              const [answer] = await victim.answered();
              expect(answer!.body.toString(), 'the answer to another client').to.equal(nonce);
            } catch (thrown) {
              const error = thrown as Error;
              error.message = `${delivery}${late ? ', answered late' : ''}, seed ${seed}: ${error.message}`;
              throw error;
            } finally {
              client.destroy();
              victim.destroy();
            }
          }
        }
      });
    }

    async function judge(client: RawClient, expected: Expected, together: boolean): Promise<void> {
      const ours = () => client.answers().filter((answer) => answer.complete);
      switch (expected.kind) {
        case 'refuse': {
          await client.hasClosed(1500);
          expect(paths, 'calls').to.deep.equal([]);
          const answers = ours();
          expect(answers.length).to.be.at.most(1);
          for (const answer of answers) {
            expect(answer.status).to.be.within(400, 505);
            expect(answer.headers['connection']).to.equal('close');
          }
          // Sent whole, so that nothing which arrives after the close can reset the answer away.
          if (expected.json && together) {
            expect(answers).to.have.length(1);
            expect(answers[0]!.status).to.equal(expected.status ?? 400);
            expect(answers[0]!.headers['content-type']).to.equal('application/json');
            const { error } = JSON.parse(answers[0]!.body.toString()) as { error: { code: string } };
            expect(error.code).to.equal(expected.status === 405 ? 'method_not_allowed' : 'bad_framing');
          }
          break;
        }
        case 'unserved':
          await client.until(() => client.closed, 'close', 12).catch(() => {});
          expect(paths, 'calls').to.deep.equal([]);
          expect(client.answers().every((answer) => answer.status >= 400)).to.equal(true);
          break;
        case 'serve': {
          const [answer] = await client.answered(1);
          expect(answer!.status).to.equal(expected.status);
          if (expected.body !== undefined) expect(answer!.body.toString()).to.equal(expected.body);
          if (expected.length !== undefined) expect(answer!.body.length).to.equal(expected.length);
          if (expected.closes) await client.hasClosed(1500);
          await pause(2);
          expect(paths, 'calls').to.deep.equal(expected.paths);
          expect(client.answers()).to.have.length(1);
          break;
        }
        case 'contained':
          await client.until(() => client.closed, 'close', 12).catch(() => {});
          expect(paths.length === 0 || (paths.length === 1 && paths[0] === '/x'), `calls ${paths}`).to.equal(
            true,
          );
          expect(client.answers().length).to.be.at.most(1);
          break;
        case 'pipelined': {
          const wanted = expected.paths ?? [];
          if (expected.closes) await client.hasClosed(1500);
          else await client.until(() => client.closed || ours().length === wanted.length, 'answers');
          expect(paths, 'calls').to.deep.equal(wanted.slice(0, paths.length));
          const answered = ours().filter((answer) => answer.status < 300);
          expect(answered.map((answer) => answer.headers['x-path'])).to.deep.equal(
            wanted.slice(0, answered.length),
          );
          if (!late && !expected.partly) expect(answered).to.have.length(wanted.length);
          break;
        }
      }
    }
  });
}
