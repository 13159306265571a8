// lane: slow
import { Agent, request } from 'node:http';
import type { Socket } from 'node:net';
import { expect } from 'chai';
import { startSimulated } from '../../src/simulated/index.js';
import { type ClientApi, clientApis } from '../support/client-apis.js';
import { type RunningGateway, startGateway } from '../support/gateway.js';
import { HostileUpstream, okReply, type RawRequest } from '../support/hostile-upstream.js';
import { isLong } from '../support/long-forms.js';

interface Said {
  readonly status: number;
  readonly text: string;
}

/** What a provider answers to one API, byte by byte. */
interface Recorded {
  readonly whole: Buffer;
  readonly stream: Buffer;
}

const said = 'Grüße an 東京 🌊';
const sse = 'content-type: text/event-stream';
const json = 'content-type: application/json';

/** Malformed answers, for each API: a thousand in all in the long form. */
const rounds = isLong ? 125 : 10;

/** Ids and times that a conversion makes anew for each answer. */
const fresh = (text: string): string =>
  text
    .replace(/"(id|item_id|response_id|responseId)":"[^"]*"/g, '"$1":""')
    .replace(/"(created|created_at|completed_at)":\d+/g, '"$1":0');

/**
 * Where a stream is cut: around each line's end, and in and around the characters beyond ASCII. Of a line with such
 * characters, each byte: of the first `wholeLines`.
 */
function cutsOf(bytes: Buffer, wholeLines: number): number[] {
  const cuts = new Set(endsOf(bytes));
  let lines = 0;
  for (let from = 0; from < bytes.length; ) {
    const end = bytes.indexOf(10, from) + 1 || bytes.length;
    const isOdd = (at: number): boolean => at >= from && at < end && bytes[at]! > 127;
    const isWhole = bytes.subarray(from, end).some((byte) => byte > 127) && lines++ < wholeLines;
    for (let at = from; at <= end; at++) if (isWhole || isOdd(at - 1) || isOdd(at)) cuts.add(at);
    from = end;
  }
  return [...cuts];
}

const endsOf = (bytes: Buffer): number[] =>
  [...bytes.keys()].filter((at) => bytes[at] === 10 || bytes[at] === 13).flatMap((at) => [at, at + 1]);

/** Bytes of an upstream that are cut, doubled or odd, and what a client of each API receives. */
describe('bytes of an upstream, for every API', () => {
  let gateway: RunningGateway;
  let upstream: HostileUpstream;
  let answer: (socket: Socket, request: RawRequest) => void;
  const agent = new Agent({ keepAlive: true });
  const recorded = new Map<string, Recorded>();

  before(async function () {
    this.timeout(30_000);
    upstream = await new HostileUpstream({ request: (socket, asked) => answer(socket, asked) }).listen();
    gateway = await startGateway({ env: { HEADGATE_IDLE_TIMEOUT_MS: '2000', HEADGATE_LOG_BODIES: 'false' } });
    const provider = await startSimulated({ record: true });
    const { providers } = gateway.admin();
    for (const [slug, row, key, path] of [
      ['openai', 'openai', 'sk-sim', '/v1'],
      ['anthropic', 'anthropic', 'sk-ant-sim', '/v1'],
      ['gemini', 'google', 'AIza-sim', '/v1beta'],
    ] as const) {
      await providers.create({ slug, provider: row, key, base_url: upstream.url + path });
      await providers.create({ slug: `sim-${slug}`, provider: row, key, base_url: provider.url + path });
    }
    // What this format's provider really says, asked for as the gateway asks.
    for (const api of clientApis) {
      for (const slug of [api.native, api.other]) {
        const bytes: Buffer[] = [];
        for (const stream of [false, true]) {
          await ask(api, `sim-${slug}`, stream, 'sim-fault:chunks=2');
          const { method, path, headers, body } = provider.requests.at(-1)!;
          const { host: _, 'content-length': __, ...rest } = headers as Record<string, string>;
          const told = await fetch(provider.url + path, {
            method,
            headers: rest,
            body: Uint8Array.from(body),
          });
          bytes.push(Buffer.from(await told.arrayBuffer()));
        }
        recorded.set(`${api.name} ${slug}`, { whole: bytes[0]!, stream: bytes[1]! });
      }
    }
    await provider.close();
  });

  after(async () => {
    agent.destroy();
    await upstream?.close();
    await gateway?.stop();
  });

  function ask(api: ClientApi, slug: string, stream: boolean, model = 'some-model'): Promise<Said> {
    return new Promise((resolve, reject) => {
      const sent = request(
        {
          agent,
          port: gateway.port,
          method: 'POST',
          path: api.path(stream),
          headers: {
            'content-type': 'application/json',
            'x-gateway-api-key': gateway.workspaceKey,
            'x-gateway-config': JSON.stringify({ provider: `@${slug}`, override_params: { model } }),
          },
        },
        (reply) => {
          const chunks: Buffer[] = [];
          reply.on('data', (chunk: Buffer) => chunks.push(chunk));
          reply.on('end', () =>
            resolve({ status: reply.statusCode ?? 0, text: Buffer.concat(chunks).toString() }),
          );
          reply.on('error', reject);
        },
      );
      sent.on('error', reject).end(JSON.stringify(api.body(stream, said)));
    });
  }

  const chunked = (bytes: Buffer): Buffer[] => [
    Buffer.from(`${bytes.length.toString(16)}\r\n`),
    bytes,
    Buffer.from('\r\n'),
  ];

  /** Answers with these bytes, cut there into two packets. */
  function inTwo(socket: Socket, bytes: Buffer, at: number, ...headers: string[]): void {
    const head = Buffer.from(
      `HTTP/1.1 200 OK\r\n${headers.join('\r\n')}\r\ntransfer-encoding: chunked\r\n\r\n`,
    );
    const [first, second] = [bytes.subarray(0, at), bytes.subarray(at)];
    socket.write(Buffer.concat([head, ...(first.length > 0 ? chunked(first) : [])]));
    setImmediate(() =>
      socket.write(Buffer.concat([...(second.length > 0 ? chunked(second) : []), Buffer.from('0\r\n\r\n')])),
    );
  }

  for (const api of clientApis) {
    for (const slug of [api.native, api.other]) {
      describe(`${api.name} before ${slug}`, () => {
        let whole: Buffer;
        let stream: Buffer;
        let plain: Said;

        before(async () => {
          ({ whole, stream } = recorded.get(`${api.name} ${slug}`)!);
          answer = (socket) => inTwo(socket, stream, 0, sse);
          plain = await ask(api, slug, true);
          expect(plain.status, plain.text).to.equal(200);
          expect(plain.text).to.match(api.end);
        });

        /** A stream from these bytes, whole or in two, is what it is from the plain ones. */
        async function expectSame(bytes: Buffer, cuts: readonly number[]): Promise<void> {
          answer = (socket, { head, body }) => {
            const at = /cut-at-(\d+)/.exec(head.split('\r\n')[0] + body.toString())?.[1];
            inTwo(socket, bytes, Number(at), sse);
          };
          const wanted = slug === api.native ? bytes.toString() : fresh(plain.text);
          const left = [...cuts];
          const worker = async (): Promise<void> => {
            for (let at = left.pop(); at !== undefined; at = left.pop()) {
              const { status, text } = await ask(api, slug, true, `cut-at-${at}`);
              expect(status, text).to.equal(200);
              if ((slug === api.native ? text : fresh(text)) !== wanted)
                expect(slug === api.native ? text : fresh(text), `cut at ${at}`).to.equal(wanted);
            }
          };
          await Promise.all(Array.from({ length: 24 }, worker));
        }

        it('a stream cut within its characters, at its line ends, or within its fields is the same', async function () {
          this.timeout(30_000);
          // What is converted is read field by field.
          const wholeLines = isLong ? Number.POSITIVE_INFINITY : slug === api.native ? 0 : 1;
          await expectSame(stream, cutsOf(stream, wholeLines));
          const other = stream.toString();
          const bytes = Buffer.from(
            other.includes('\r\n') ? other.replaceAll('\r\n', '\n') : other.replaceAll('\n', '\r\n'),
          );
          await expectSame(bytes, endsOf(bytes));
        });

        it('comments, ids with NUL, and times to retry after change nothing', async () => {
          const frames = stream.toString().replaceAll('\r\n', '\n');
          const odd = Buffer.from(
            `\ufeff: hello\n\nretry: 1e99\nid: a\0b\n\nretry: -1\n\n:\n\n${frames.replaceAll('\n\n', '\n: ping\nid: \0\n\nevent: \n\n')}`,
          );
          answer = (socket) => inTwo(socket, odd, 7, sse);
          const { status, text } = await ask(api, slug, true);
          expect(status, text).to.equal(200);
          if (slug === api.native) expect(text).to.equal(odd.toString());
          else {
            expect(fresh(text)).to.equal(fresh(plain.text));
            expect(text).to.not.match(/\0|1e99|ping/);
          }
        });

        it('an event of an unknown name is neither an end nor an error', async () => {
          const at = /\r?\n\r?\n/.exec(stream.toString('latin1'))!.index + (stream.includes('\r\n') ? 4 : 2);
          const odd = Buffer.concat([
            stream.subarray(0, at),
            Buffer.from('event: x-unheard-of\ndata: {"type":"x-unheard-of"}\n\n'),
            stream.subarray(at),
          ]);
          answer = (socket) => inTwo(socket, odd, at, sse);
          const { status, text } = await ask(api, slug, true);
          expect(status, text).to.equal(200);
          if (slug === api.native) expect(text).to.equal(odd.toString());
          else expect(fresh(text)).to.equal(fresh(plain.text));
        });

        it('an unrequested answer on a kept connection reaches no client', async function () {
          this.timeout(30_000);
          const poison = okReply('{"poisoned":true}', json);
          let cut = Promise.resolve();
          answer = (socket) => {
            socket.write(okReply(whole.toString(), json));
            cut = new Promise<void>((done) => socket.once('close', () => done()));
            setTimeout(() => socket.write(poison), 1);
          };
          for (let round = 0; round < rounds; round++) {
            const { status, text } = await ask(api, slug, false);
            expect(status, text).to.equal(200);
            expect(text).to.include('東京').and.not.include('poisoned');
            await cut;
          }
        });

        const nonsense: Readonly<Record<string, string>> = {
          'HTTP/0.9': '<html>hidden</html>\n',
          'an HTTP/2 preface': '\0\0\x0c\x04\0\0\0\0\0hidden',
          'a 101 that nobody asked for':
            'HTTP/1.1 101 Switching Protocols\r\nupgrade: websocket\r\nconnection: upgrade\r\n\r\nhidden',
          'a 204 with a body': 'HTTP/1.1 204 No Content\r\ncontent-length: 6\r\n\r\nhidden',
          'two lengths': 'HTTP/1.1 200 OK\r\ncontent-length: 5\r\ncontent-length: 6\r\n\r\nhidden',
        };
        for (const [what, bytes] of Object.entries(nonsense)) {
          it(`${what} is an error in the client's shape, whole or streamed, and no tunnel`, async () => {
            for (const streamed of [false, true]) {
              answer = (socket) => socket.write(Buffer.from(bytes, 'latin1'));
              const { status, text } = await ask(api, slug, streamed);
              expect(status, text).to.equal(502);
              expect(api.isError(JSON.parse(text), 502), text).to.equal(true);
              expect(text).to.not.include('hidden');
            }
            answer = (socket) => socket.write(okReply(whole.toString(), json));
            expect((await ask(api, slug, false)).status).to.equal(200);
          });
        }

        it('a hundred interim answers are not the answer', async () => {
          for (const line of ['100 Continue', '103 Early Hints']) {
            answer = (socket) => {
              socket.write(`HTTP/1.1 ${line}\r\nlink: </x>\r\n\r\n`.repeat(100));
              inTwo(socket, stream, 1, sse);
            };
            const { status, text } = await ask(api, slug, true);
            expect({ status, text: fresh(text) }).to.deep.equal({ status: 200, text: fresh(plain.text) });
          }
        });
      });
    }
  }
});
