import { expect } from 'chai';
import type { Sink } from '../../src/common/bytes/body.js';
import type { GatewayError } from '../../src/common/core/errors.js';
import { getHeader } from '../../src/common/http/headers.js';
import { createNodeTransport, nodeTransportCanShare } from '../../src/data-plane/transport/node/node.js';
import type {
  Call,
  ReplySink,
  Transport,
  TransportOptions,
} from '../../src/data-plane/transport/transport.js';
import { createUwsTransport } from '../../src/data-plane/transport/uws/uws.js';
import { eventually } from '../support/gateway.js';
import { pause, RawClient } from '../support/raw-http.js';

const maxHeaderBytes = 80 * 1024;
const post = (path: string, body: string, headers = ''): string =>
  `POST ${path} HTTP/1.1\r\nHost: a\r\n${headers}Content-Length: ${Buffer.byteLength(body)}\r\n\r\n${body}`;
const get = (path: string, headers = ''): string => `GET ${path} HTTP/1.1\r\nHost: a\r\n${headers}\r\n`;
const chunked = (path: string, ...chunks: string[]): string =>
  `POST ${path} HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n` +
  [...chunks, ''].map((chunk) => `${chunk.length.toString(16)}\r\n${chunk}\r\n`).join('');

for (const [name, create] of [
  ['uws', createUwsTransport],
  ['node', createNodeTransport],
] as const) {
  describe(`transport ${name}`, () => {
    let transport: Transport;
    let port: number;
    let handler: (call: Call) => void;
    let problems: { error: unknown; what: string }[];
    let clients: RawClient[];

    const options = (writeTimeoutMs: number): TransportOptions => ({
      handler: (call) => handler(call),
      maxHeaderBytes,
      writeTimeoutMs,
      onProblem: (error, what) => problems.push({ error, what }),
    });

    const client = async (at = port): Promise<RawClient> => {
      const made = await RawClient.connect(at);
      clients.push(made);
      return made;
    };

    /** A settled transport has no call left and no problem that a test did not name. */
    const settled = async (): Promise<void> => {
      await eventually('no call is left', async () => transport.inFlight === 0, 5000);
    };

    beforeEach(async () => {
      problems = [];
      clients = [];
      handler = (call) => call.collect(1 << 20, (_error, bytes) => call.answer(200, [], bytes));
      transport = await create(options(400));
      port = await transport.listen('127.0.0.1', 0, false);
    });

    afterEach(async () => {
      for (const made of clients) made.destroy();
      await settled();
      transport.close();
    });

    it('closes a new connection over the limit at once, serves those within it, and takes new ones in their place', async () => {
      const limited = await create({ ...options(400), maxConnections: 2 });
      const at = await limited.listen('127.0.0.1', 0, false);
      const first = await client(at);
      const second = await client(at);
      for (const c of [first, second]) {
        c.send(get('/'));
        await c.answered();
      }
      const over = [await client(at), await client(at)];
      for (const c of over) await c.hasClosed();
      expect(over.map(({ bytes }) => bytes.length)).to.deep.equal([0, 0]);
      first.send(get('/'));
      await first.answered(2);
      second.destroy();
      for (let tries = 0; ; tries++) {
        const c = await client(at);
        c.send(get('/'));
        await c.until(() => c.closed || c.bytes.length > 0, 'an answer or a close');
        if (c.bytes.length > 0) break;
        expect(tries, 'tries').to.be.lessThan(100);
        await pause(10);
      }
      expect(problems.map(({ what }) => what)).to.deep.equal(['too many connections']);
      expect(String(problems[0]?.error)).to.include('2 connections').and.include('ulimit -n');
      limited.close();
    });

    describe('requests', () => {
      it('hands over method, path, query, headers and address as they came', async () => {
        let seen: Call | null = null;
        let asked = '';
        handler = (call) => {
          seen = call;
          asked = call.remoteAddress;
          call.answer(200, [], 'ok');
        };
        const c = await client();
        c.send(
          get('/a/../b%2f?x=1&y=%20', 'X-One: 1\r\nX-Two:  \tzwei \r\nX-One: 2\r\nX-Utf: a\xc3\xa9b\r\n'),
        );
        await c.answered();
        const call = seen! as Call;
        expect([call.method, call.path, call.query]).to.deep.equal(['GET', '/a/../b%2f', 'x=1&y=%20']);
        expect(call.headers).to.deep.equal([
          'host',
          'a',
          'x-one',
          '1',
          'x-two',
          'zwei',
          'x-one',
          '2',
          'x-utf',
          'aéb',
        ]);
        expect(asked).to.equal('127.0.0.1');
        // Once asked for it stays, though the connection may be gone.
        expect(call.remoteAddress).to.equal('127.0.0.1');
      });

      it('hands over the headers of each request as its own, however like those before they are', async () => {
        const seen: string[][] = [];
        handler = (call) => {
          seen.push(call.headers);
          call.answer(200, [], 'ok');
        };
        const c = await client();
        const heads = [
          'X-A: 1\r\nX-B: 2\r\n',
          'X-A: 1\r\nX-B: 3\r\n',
          'X-B: 2\r\nX-A: 1\r\n',
          'X-A: 2\r\n',
          '',
        ];
        for (const [i, head] of heads.entries()) {
          c.send(get('/', head));
          await c.answered(i + 1);
        }
        expect(seen.map((headers) => headers.slice(2).join(' '))).to.deep.equal([
          'x-a 1 x-b 2',
          'x-a 1 x-b 3',
          'x-b 2 x-a 1',
          'x-a 2',
          '',
        ]);
      });

      it('collects a body that comes in one packet, in many, in chunks, or not at all', async () => {
        const c = await client();
        c.send(post('/', 'hello'));
        expect((await c.answered())[0]!.body.toString()).to.equal('hello');
        const whole = 'x'.repeat(300_000);
        const request = post('/', whole);
        c.send(request.slice(0, 150_000));
        await pause(20);
        c.send(request.slice(150_000));
        expect((await c.answered(2))[1]!.body.length).to.equal(300_000);
        c.send(get('/'));
        expect((await c.answered(3))[2]!.headers['content-length']).to.equal('0');
        c.send(chunked('/', 'ab', 'cde'));
        expect((await c.answered(4))[3]!.body.toString()).to.equal('abcde');
        await settled();
      });

      it('never calls back before collect has returned', async () => {
        let returned = false;
        let early = false;
        handler = (call) => {
          returned = false;
          call.collect(2, (error) => {
            early ||= !returned;
            call.answer(error?.status ?? 200, [], null);
          });
          returned = true;
        };
        const c = await client();
        c.send(get('/')).send(post('/', 'ab'));
        await c.answered(2);
        c.send(post('/', 'abc'));
        const answers = await c.answered(3);
        expect(answers.map((answer) => answer.status)).to.deep.equal([200, 200, 413]);
        expect(early).to.equal(false);
      });

      it('takes a body at the limit and refuses the byte after it, declared or chunked', async () => {
        const codes: string[] = [];
        handler = (call) =>
          call.collect(1000, (error, bytes) => {
            codes.push(error?.code ?? String(bytes.length));
            call.answer(error?.status ?? 200, [], error?.code ?? 'ok');
          });
        for (const [request, status] of [
          [post('/', 'x'.repeat(1000)), 200],
          [post('/', 'x'.repeat(1001)), 413],
          [chunked('/', 'x'.repeat(600), 'x'.repeat(400)), 200],
          [chunked('/', 'x'.repeat(600), 'x'.repeat(401)), 413],
        ] as const) {
          const c = await client();
          c.send(request);
          expect((await c.answered())[0]!.status).to.equal(status);
          if (status === 413) {
            expect(c.answers()[0]!.headers['connection']).to.equal('close');
          }
        }
        expect(codes).to.deep.equal(['1000', 'body_too_large', '1000', 'body_too_large']);
      });

      it('refuses a huge Content-Length at once, without memory for it, and closes', async () => {
        handler = (call) =>
          call.collect(10 * 1024 * 1024, (error) => call.answer(error?.status ?? 200, [], error?.code ?? ''));
        const before = process.memoryUsage().rss;
        const c = await client();
        c.send('POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 999999999\r\n\r\n');
        await c.until(() => c.bytes.includes('body_too_large'), 'refusal', 500);
        expect(process.memoryUsage().rss - before).to.be.below(50 * 1024 * 1024);
        await c.hasClosed(2000);
      });

      it('answers 413 to a client that is still sending, and lets it read that', async () => {
        handler = (call) =>
          call.collect(1000, (error) => call.answer(error?.status ?? 200, [], error?.code ?? ''));
        const c = await client();
        c.send(`POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 20000000\r\n\r\n`);
        const block = Buffer.alloc(100_000);
        for (let i = 0; i < 20 && !c.closed; i++) {
          c.send(block);
          await pause(5);
        }
        await c.until(() => c.bytes.includes('body_too_large'), 'refusal');
        expect(c.bytes.toString('latin1')).to.match(/^HTTP\/1\.1 413 /);
      });

      it('keeps the connection when a short body was not wanted', async () => {
        handler = (call) => call.answer(401, [], 'no');
        const c = await client();
        c.send(post('/', 'unread')).send(get('/'));
        const answers = await c.answered(2);
        expect(answers.map((answer) => answer.status)).to.deep.equal([401, 401]);
        expect(c.closed).to.equal(false);
      });

      it('closes, with an answer, when a long body was not wanted', async () => {
        handler = (call) => setImmediate(() => call.answer(401, [], 'no'));
        const c = await client();
        c.send('POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 1000000\r\n\r\nabc');
        const [answer] = await c.answered();
        expect(answer!.status).to.equal(401);
        expect(answer!.headers['connection']).to.equal('close');
      });

      it('answers pipelined requests in order', async () => {
        handler = (call) => call.answer(200, [], call.path);
        const c = await client();
        c.send(get('/one') + get('/two') + post('/three', 'x'));
        const answers = await c.answered(3);
        expect(answers.map((answer) => answer.body.toString())).to.deep.equal(['/one', '/two', '/three']);
      });

      it('closes a connection that sends many requests in one turn, and counts each turn by itself', async () => {
        for (const [request, size] of [
          [get('/'), 20_000],
          [post('/', 'x'), 20_000],
        ] as const) {
          let turn = 0;
          let most = 0;
          handler = (call) => {
            if (turn === 0) setImmediate(() => (turn = 0));
            most = Math.max(most, ++turn);
            if (call.method === 'GET') call.answer(404, [], 'no');
            else call.collect(10, () => call.answer(401, [], 'no'));
          };
          const flood = await client();
          flood.send(request.repeat(size / request.length));
          await flood.hasClosed(1500);
          // Node's transport answers one after another, each in a turn of its own.
          expect(most).to.be.within(name === 'uws' ? 20 : 1, 100);
          expect(flood.answers().length).to.be.at.most(100);
        }
        handler = (call) => call.answer(200, [], call.path);
        const c = await client();
        c.send(get('/a').repeat(10));
        await c.answered(10);
        c.send(get('/a').repeat(10));
        expect(await c.answered(20)).to.have.lengthOf(20);
      });

      it('closes a connection that goes on sending while nothing is answered', async () => {
        let taken = 0;
        handler = (call) => call.collect(10, () => taken++);
        const c = await client();
        for (let i = 0; i < 200 && !c.closed; i++) {
          c.send(get('/'));
          await pause(1);
        }
        await c.hasClosed(1500);
        expect(taken).to.be.at.most(50);
      });

      it('answers a chunked request, then closes, and serves nothing after it', async () => {
        for (const way of ['answer', 'begin'] as const) {
          for (const when of ['together', 'later'] as const) {
            const paths: string[] = [];
            handler = (call) => {
              paths.push(call.path);
              call.collect(100, (_error, bytes) => {
                if (way === 'answer') {
                  call.answer(200, [], bytes);
                } else {
                  const reply = call.begin(200, [], () => {});
                  reply.data(bytes);
                  reply.end();
                }
              });
            };
            const c = await client();
            c.send(chunked('/first', 'abc') + (when === 'together' ? get('/hidden') : ''));
            if (when === 'later') {
              const [answer] = await c.answered();
              expect(answer!.body.toString()).to.equal('abc');
              expect(answer!.headers['connection']).to.equal('close');
              c.send(get('/hidden'));
            }
            await c.hasClosed();
            expect(paths).to.deep.equal(['/first']);
            expect(c.answers().length).to.be.at.most(1);
          }
        }
      });

      it('sends 100 Continue to a client that waits for it', async () => {
        const c = await client();
        c.send('POST / HTTP/1.1\r\nHost: a\r\nExpect: 100-continue\r\nContent-Length: 2\r\n\r\n');
        await c.until(() => c.bytes.includes('100 Continue\r\n\r\n'), 'continue');
        c.send('hi');
        expect((await c.answered())[0]!.body.toString()).to.equal('hi');
      });

      it('takes header blocks up to the limit and refuses those over it', async () => {
        const c = await client();
        c.send(get('/', `X-Big: ${'a'.repeat(maxHeaderBytes - 400)}\r\n`));
        expect((await c.answered())[0]!.status).to.equal(200);
        const over = await client();
        over.send(get('/', `X-Big: ${'a'.repeat(maxHeaderBytes + 400)}\r\n`));
        await over.hasClosed();
        expect(over.answers()[0]?.status ?? 400).to.be.within(400, 431);
      });

      it('takes a URL of 8 KiB and refuses a longer one with bad_framing', async () => {
        handler = (call) => call.answer(200, [], String(call.path.length));
        const c = await client();
        c.send(get(`/${'a'.repeat(8190)}`));
        expect((await c.answered())[0]!.body.toString()).to.equal('8191');
        c.send(get(`/${'a'.repeat(8191)}`));
        const answer = (await c.answered(2))[1]!;
        expect(answer.status).to.equal(400);
        expect(JSON.parse(answer.body.toString()).error.code).to.equal('bad_framing');
        await c.hasClosed();
      });

      it('refuses with the headers of the request, and without any where they cannot be read', async () => {
        const seen: (string | undefined)[] = [];
        const refusing = await create({
          ...options(400),
          refusal: (error, path, headers) => {
            seen.push(getHeader(headers, 'x-trace'));
            return { headers: ['x-refused', error.code], body: path };
          },
        });
        const at = await refusing.listen('127.0.0.1', 0, false);
        try {
          for (const text of [
            get('/a', 'X-Trace: mine\r\nContent-Length: x1\r\n'),
            'TRACE /b HTTP/1.1\r\nHost: a\r\nX-Trace: mine\r\n\r\n',
          ]) {
            const c = await client(at);
            c.send(text);
            await c.hasClosed(1500);
            expect(c.bytes).to.match(/x-refused: (?:bad_framing|method_not_allowed)\r\n/);
          }
          // Node's own parser refuses a length that is no number before it gives the headers.
          expect(seen).to.deep.equal(name === 'uws' ? ['mine', 'mine'] : [undefined, 'mine']);
        } finally {
          refusing.close();
        }
      });
    });

    describe('uploads', () => {
      it('streams a large body without holding it, as fast as the sink takes it', async function () {
        this.timeout(20_000);
        const total = 64 * 1024 * 1024;
        let received = 0;
        let held = 0;
        handler = (call) => {
          const source = call.stream(total);
          source.start({
            data(chunk) {
              received += chunk.length;
              if (received % 50 === 0) return true;
              held++;
              setImmediate(() => source.resume());
              return false;
            },
            end: () => call.answer(200, [], String(received)),
            error: (error) => call.answer(error.status, [], error.code),
          });
        };
        const before = process.memoryUsage().rss;
        let peak = 0;
        const c = await client();
        c.send(`POST / HTTP/1.1\r\nHost: a\r\nContent-Length: ${total}\r\n\r\n`);
        const block = Buffer.alloc(1024 * 1024);
        for (let sent = 0; sent < total; sent += block.length) {
          if (!c.socket.write(block)) await new Promise((resolve) => c.socket.once('drain', resolve));
          peak = Math.max(peak, process.memoryUsage().rss);
        }
        const [answer] = await c.answered(1, undefined, 10_000);
        expect(answer!.body.toString()).to.equal(String(total));
        expect(held).to.be.above(10);
        expect(peak - before).to.be.below(48 * 1024 * 1024);
      });

      it('stops the client while the sink is full', async () => {
        let received = 0;
        let release: (() => void) | null = null;
        handler = (call) => {
          const source = call.stream(100_000_000);
          source.start({
            data(chunk) {
              received += chunk.length;
              if (release !== null) return true;
              release = () => source.resume();
              return false;
            },
            end: () => call.answer(200, [], String(received)),
            error: () => {},
          });
        };
        const c = await client();
        c.send('POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 30000000\r\n\r\n');
        c.send(Buffer.alloc(30_000_000));
        await pause(150);
        expect(received).to.be.below(2_000_000);
        expect(c.socket.writableLength).to.be.above(0);
        release!();
        expect((await c.answered())[0]!.body.toString()).to.equal('30000000');
      });

      it('lets nothing flow before start', async () => {
        const events: string[] = [];
        handler = (call) => {
          const source = call.stream(100);
          setTimeout(() => {
            events.push('start');
            source.start({
              data: (chunk) => events.push(chunk.toString()) > 0,
              end: () => {
                events.push('end');
                call.answer(200, [], 'ok');
              },
              error: (error) => events.push(error.code),
            });
          }, 30);
        };
        const c = await client();
        c.send(post('/', 'body'));
        await c.answered();
        expect(events).to.deep.equal(['start', 'body', 'end']);
      });

      it('keeps what came in crumbs before start, in order', async () => {
        const crumbs = Array.from({ length: 3000 }, (_, i) => String(i % 10));
        let received = '';
        let writes = 0;
        handler = (call) => {
          const source = call.stream(10_000);
          setTimeout(() => {
            source.start({
              data(chunk) {
                received += chunk.toString();
                writes++;
                setImmediate(() => source.resume());
                return false;
              },
              end: () => call.answer(200, [], 'ok'),
              error: (error) => call.answer(error.status, [], error.code),
            });
          }, 20);
        };
        const c = await client();
        c.send(chunked('/', ...crumbs));
        expect((await c.answered())[0]!.status).to.equal(200);
        expect(received).to.equal(crumbs.join(''));
        // node:http holds the crumbs back itself, one by one.
        if (name === 'uws') expect(writes).to.be.below(100);
      });

      it('ends a stream over its limit with body_too_large, then answers', async () => {
        for (const request of [
          'POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 101\r\n\r\n',
          chunked('/', 'x'.repeat(60), 'x'.repeat(60)),
        ]) {
          const events: string[] = [];
          handler = (call) =>
            call.stream(100).start({
              data: () => true,
              end: () => events.push('end'),
              error(error) {
                events.push(error.code);
                call.answer(error.status, [], error.code);
              },
            });
          const c = await client();
          c.send(request);
          await c.until(() => c.bytes.includes('body_too_large'), 'refusal');
          expect(c.bytes.toString('latin1')).to.match(/^HTTP\/1\.1 413 /);
          expect(events).to.deep.equal(['body_too_large']);
        }
      });

      it('can be cancelled; the answer still goes out', async () => {
        handler = (call) => {
          const source = call.stream(1000);
          const sink: Sink = { data: () => true, end: () => {}, error: () => {} };
          source.start(sink);
          source.cancel();
          setImmediate(() => call.answer(200, [], 'enough'));
        };
        const c = await client();
        c.send(post('/', 'body'));
        expect((await c.answered())[0]!.body.toString()).to.equal('enough');
        c.send(post('/', 'again'));
        await c.answered(2);
      });
    });

    describe('answers', () => {
      it('writes status, headers and body; framing headers are its own', async () => {
        handler = (call) =>
          call.answer(
            446,
            [
              'content-type',
              'text/plain',
              'x-a',
              '1',
              'x-a',
              '2',
              'content-length',
              '99',
              'connection',
              'upgrade',
            ],
            'grün',
          );
        const c = await client();
        c.send(get('/'));
        const [answer] = await c.answered();
        expect(answer!.status).to.equal(446);
        expect(answer!.headers['x-a']).to.equal('1, 2');
        expect(answer!.headers['content-length']).to.equal('5');
        expect(answer!.headers['connection'] ?? 'keep-alive').to.equal('keep-alive');
        expect(answer!.body.toString()).to.equal('grün');
      });

      it('drops and reports a header that would split the answer', async () => {
        handler = (call) =>
          call.answer(
            200,
            ['x-model', 'a\r\nSet-Cookie: x=1', 'x\r\ny', '1', 'x-nul', 'a\0b', 'x-ok', 'ü'],
            'ok',
          );
        const c = await client();
        c.send(get('/'));
        const [answer] = await c.answered();
        expect(answer!.headers).to.not.have.any.keys('set-cookie', 'x-model', 'x', 'x-nul');
        expect(Buffer.from(answer!.headers['x-ok']!, 'latin1').toString()).to.equal('ü');
        expect(problems.map(({ what }) => what)).to.deep.equal([
          'invalid answer header',
          'invalid answer header',
          'invalid answer header',
        ]);
        expect(problems.some(({ error }) => String(error).includes('Set-Cookie'))).to.equal(false);
      });

      it('turns an impossible status into 500 and reports it', async () => {
        handler = (call) => call.answer(99, [], 'x');
        const c = await client();
        c.send(get('/'));
        expect((await c.answered())[0]!.status).to.equal(500);
        expect(problems).to.have.length(1);
      });

      it('answers HEAD without a body, with its length, and keeps the connection', async () => {
        handler = (call) => {
          if (call.path === '/given') call.answer(200, ['content-length', '7'], null);
          else if (call.path === '/begun') call.begin(200, [], () => {}).data(Buffer.from('never'));
          else call.answer(200, [], 'hello');
        };
        const c = await client();
        for (const path of ['/', '/given', '/begun']) c.send(`HEAD ${path} HTTP/1.1\r\nHost: a\r\n\r\n`);
        c.send(get('/'));
        const answers = await c.answered(4, ['HEAD', 'HEAD', 'HEAD', 'GET']);
        expect(answers.map((answer) => answer.headers['content-length'])).to.deep.equal([
          '5',
          '7',
          undefined,
          '5',
        ]);
        expect(answers[3]!.body.toString()).to.equal('hello');
      });

      it('answers 204 and 304 without body or length', async () => {
        handler = (call) => call.answer(call.path === '/204' ? 204 : 304, ['etag', '"x"'], 'dropped');
        const c = await client();
        c.send(get('/204') + get('/304') + get('/204'));
        const answers = await c.answered(3);
        expect(answers.map((answer) => answer.status)).to.deep.equal([204, 304, 204]);
        for (const answer of answers) {
          expect(answer.headers).to.not.have.any.keys('content-length', 'transfer-encoding');
        }
        expect(c.bytes.includes('dropped')).to.equal(false);
      });

      it('delivers each part of a begun answer when it is written', async () => {
        let reply: ReplySink | null = null;
        handler = (call) => {
          reply = call.begin(200, ['content-type', 'text/event-stream'], () => {});
          reply.data('data: 1\n\n');
        };
        const c = await client();
        c.send(get('/'));
        for (let i = 1; i <= 5; i++) {
          if (i > 1) reply!.data(Buffer.from(`data: ${i}\n\n`));
          await c.until(() => c.bytes.includes(`data: ${i}\n\n`), `event ${i}`);
          expect(c.bytes.includes(`data: ${i + 1}\n`)).to.equal(false);
        }
        reply!.end();
        const [answer] = await c.answered();
        expect(answer!.body.toString()).to.equal([1, 2, 3, 4, 5].map((i) => `data: ${i}\n\n`).join(''));
        expect(answer!.headers['transfer-encoding']).to.equal('chunked');
        expect(answer!.headers['connection']).to.equal('keep-alive');
        c.send(get('/'));
        await c.until(() => c.answers().length === 2, 'a second answer on the same connection');
        reply!.end();
        await c.answered(2);
      });

      it('may be given for one call in the turn of another', async () => {
        const waiting: { call: Call; bytes: Buffer }[] = [];
        handler = (call) =>
          call.collect(100_000, (_error, bytes) => {
            const other = waiting.pop();
            waiting.push({ call, bytes });
            if (call.path === '/last') while (waiting.length > 0) finish(waiting.pop()!);
            if (other !== undefined) finish(other);
          });
        const finish = ({ call, bytes }: { call: Call; bytes: Buffer }): void => {
          if (bytes.length % 2 === 0) {
            call.answer(200, ['x-a', '1'], bytes);
            return;
          }
          const reply = call.begin(200, ['x-a', '1'], () => {});
          reply.data(bytes);
          reply.end();
        };
        const all = await Promise.all(Array.from({ length: 60 }, () => client()));
        const bodies = all.map((_, i) => String(i).repeat(50 * (i + 1)) + 'x'.repeat(i % 2));
        for (const [i, c] of all.entries()) c.send(post('/', bodies[i]!));
        await pause(30);
        const last = await client();
        last.send(post('/last', 'end'));
        for (const [i, c] of all.entries()) {
          expect((await c.answered())[0]!.body.toString()).to.equal(bodies[i]);
        }
        await last.answered();
      });

      it('ends a begun answer that got no data', async () => {
        handler = (call) => call.begin(200, ['x-a', '1'], () => {}).end();
        const c = await client();
        c.send(get('/') + get('/'));
        const answers = await c.answered(2);
        expect(answers[1]!.body.length).to.equal(0);
        expect(answers[1]!.headers['x-a']).to.equal('1');
      });

      it('cuts the connection where a begun answer breaks, after what was already given', async () => {
        handler = (call) => {
          const reply = call.begin(200, [], () => {});
          reply.data('part');
          reply.error({ code: 'upstream_reset' } as GatewayError);
        };
        const c = await client();
        c.send(get('/'));
        await c.hasClosed();
        const [answer] = c.answers();
        expect(answer!.body.toString()).to.equal('part');
        expect(answer!.complete).to.equal(false);
        await settled();
      });

      it('sends a large answer whole to a slow reader', async () => {
        const body = Buffer.alloc(24 * 1024 * 1024, 'abcdefg');
        handler = (call) => call.answer(200, [], body);
        const c = await client();
        c.send(get('/'));
        for (let i = 0; i < 5; i++) {
          c.socket.pause();
          await pause(20);
          c.socket.resume();
          await pause(5);
        }
        await c.until(() => c.socket.bytesRead >= body.length, 'all of it');
        const [answer] = await c.answered();
        expect(answer!.complete && answer!.body.equals(body)).to.equal(true);
      });

      it('pauses the source for a reader that stops, keeps memory flat, and goes on when it reads', async function () {
        this.timeout(20_000);
        const total = 100 * 1024 * 1024;
        const chunk = Buffer.alloc(64 * 1024, 'z');
        let given = 0;
        let stops = 0;
        handler = (call) => {
          const push = (): void => {
            while (given < total) {
              given += chunk.length;
              if (!reply.data(chunk)) {
                stops++;
                return;
              }
            }
            reply.end();
          };
          const reply = call.begin(200, [], push);
          push();
        };
        const before = process.memoryUsage().rss;
        const c = await client();
        c.socket.pause();
        c.send(get('/'));
        await pause(200);
        const stoppedAt = given;
        expect(stoppedAt).to.be.below(16 * 1024 * 1024);
        expect(process.memoryUsage().rss - before).to.be.below(64 * 1024 * 1024);
        await pause(50);
        expect(given).to.equal(stoppedAt);
        let heard = 0;
        c.socket.removeAllListeners('data');
        c.socket.on('data', (bytes: Buffer) => {
          heard += bytes.length;
        });
        c.socket.resume();
        await c.until(() => heard >= total && transport.inFlight === 0, 'all of it', 15_000);
        expect(stops).to.be.above(10);
      });

      it('cuts and reports a client that reads nothing for the write timeout', async () => {
        let aborts = 0;
        handler = (call) => {
          const push = (): void => {
            while (reply.data(Buffer.alloc(64 * 1024)));
          };
          call.onAbort = () => aborts++;
          const reply = call.begin(200, [], push);
          push();
        };
        const c = await client();
        c.socket.pause();
        c.send(get('/'));
        await eventually('the call arrives', async () => transport.inFlight === 1);
        await eventually('the call is cut', async () => transport.inFlight === 0, 5000);
        expect(aborts).to.equal(1);
      });

      it('cuts a client that does not read a large whole answer', async () => {
        handler = (call) => call.answer(200, [], Buffer.alloc(64 * 1024 * 1024));
        const c = await client();
        c.socket.pause();
        c.send(get('/'));
        await eventually('the call arrives', async () => transport.inFlight === 1);
        await eventually('the call is cut', async () => transport.inFlight === 0, 5000);
      });
    });

    describe('clients that leave', () => {
      /** Does all that a handler can do to a call that is over. */
      const touch = (call: Call): void => {
        call.answer(200, ['a', 'b'], 'x');
        const reply = call.begin(200, [], () => {});
        reply.data('x');
        reply.data(Buffer.from('x'));
        reply.end();
        reply.error({} as GatewayError);
      };

      it('are reported once during the upload; collect never calls back', async () => {
        let aborts = 0;
        let done = false;
        let left: Call | null = null;
        handler = (call) => {
          left = call;
          call.onAbort = () => aborts++;
          call.collect(1000, () => {
            done = true;
          });
        };
        const c = await client();
        c.send('POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 100\r\n\r\nabc');
        await c.until(() => left !== null, 'handler');
        c.destroy();
        await settled();
        const call = left! as Call;
        expect([aborts, done, call.aborted]).to.deep.equal([1, false, true]);
        touch(call);
        expect(aborts).to.equal(1);
      });

      it('end a streamed upload with client_gone', async () => {
        const events: string[] = [];
        handler = (call) => {
          call.onAbort = () => events.push('abort');
          call.stream(1000).start({
            data: (chunk) => events.push(chunk.toString()) > 0,
            end: () => events.push('end'),
            error: (error) => events.push(error.code),
          });
        };
        const c = await client();
        c.send('POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 100\r\n\r\nabc');
        await c.until(() => events.length > 0, 'first bytes');
        c.destroy();
        await settled();
        expect(events).to.deep.equal(['abc', 'abort', 'client_gone']);
      });

      it('are reported once before the first byte', async () => {
        let aborts = 0;
        let left: Call | null = null;
        handler = (call) => {
          call.onAbort = () => aborts++;
          call.collect(10, () => {
            left = call;
          });
        };
        const c = await client();
        c.send(get('/'));
        await c.until(() => left !== null, 'handler');
        c.destroy();
        await settled();
        touch(left!);
        expect(aborts).to.equal(1);
      });

      it('are reported once during the answer', async () => {
        let aborts = 0;
        let left: Call | null = null;
        let reply: ReplySink | null = null;
        handler = (call) => {
          left = call;
          call.onAbort = () => aborts++;
          reply = call.begin(200, [], () => {});
          reply.data('first');
        };
        const c = await client();
        c.send(get('/'));
        await c.until(() => c.bytes.includes('first'), 'first bytes');
        c.destroy();
        await settled();
        const sink = reply! as ReplySink;
        sink.data('second');
        sink.end();
        sink.error({} as GatewayError);
        touch(left!);
        await pause(10);
        expect(aborts).to.equal(1);
      });

      it('are not reported after the answer', async () => {
        let aborts = 0;
        let left: Call | null = null;
        handler = (call) => {
          left = call;
          call.onAbort = () => aborts++;
          call.answer(200, [], 'ok');
        };
        const c = await client();
        c.send(get('/'));
        await c.answered();
        c.destroy();
        await pause(30);
        const call = left! as Call;
        expect([aborts, call.aborted]).to.deep.equal([0, false]);
        touch(call);
      });

      it('leave no call open that waits for another one', async () => {
        const calls: Call[] = [];
        const left: Call[] = [];
        const replies: ReplySink[] = [];
        handler = (call) => {
          calls.push(call);
          call.onAbort = () => left.push(call);
          call.collect(10, () => replies.push(call.begin(200, [], () => {})));
        };
        for (const last of [get('/last'), 'CONNECT b:1 HTTP/1.1\r\nHost: b\r\n\r\n']) {
          const before = calls.length;
          const c = await client();
          c.send(get('/first') + post('/second', 'x') + last);
          await c.until(() => c.closed || calls.length > before, 'the first call');
          c.destroy();
          await settled();
        }
        for (const reply of replies) reply.data('x');
        expect(left).to.deep.equal(calls);
      });

      it('leave nothing open, by hundreds at random moments', async () => {
        handler = (call) => {
          call.collect(10_000, (_error, bytes) => {
            const reply = call.begin(200, [], () => {});
            reply.data(bytes);
            setTimeout(() => {
              reply.data(bytes);
              reply.end();
            }, Math.random() * 10);
          });
        };
        await Promise.all(
          Array.from({ length: 200 }, async () => {
            const c = await client();
            const request = post('/', 'x'.repeat(2000));
            c.send(request.slice(0, Math.random() * request.length * 1.5));
            await pause(Math.random() * 20);
            c.destroy();
          }),
        );
        await settled();
        expect(problems).to.deep.equal([]);
      });
    });

    describe('handlers that throw', () => {
      it('in their own turn, in done, or later in resume cost one request and not the process', async () => {
        handler = (call) => {
          if (call.path === '/now') throw new Error('secret of the handler');
          call.collect(10, () => {
            throw new Error('secret of done');
          });
        };
        for (const path of ['/now', '/done']) {
          const c = await client();
          c.send(post(path, 'x'));
          const [answer] = await c.answered();
          expect(answer!.status).to.equal(500);
          expect(JSON.parse(answer!.body.toString()).error.code).to.equal('internal');
          expect(answer!.body.includes('secret')).to.equal(false);
        }
        expect(problems).to.have.length(2);
        await settled();
      });

      it('after the head has gone have their connection cut', async () => {
        handler = (call) => {
          call.begin(200, [], () => {}).data('x');
          throw new Error('late');
        };
        const c = await client();
        c.send(get('/'));
        await c.hasClosed();
        expect(c.answers().every((answer) => !answer.complete)).to.equal(true);
        await settled();
      });

      it('in onAbort are reported', async () => {
        let seen = false;
        handler = (call) => {
          seen = true;
          call.onAbort = () => {
            throw new Error('in onAbort');
          };
        };
        const c = await client();
        c.send(get('/'));
        await c.until(() => seen, 'handler');
        c.destroy();
        await settled();
        expect(problems.map(({ what }) => what)).to.deep.equal(['onAbort']);
      });
    });

    describe('listening', () => {
      it('rejects a port that is taken', async () => {
        const second = await create(options(1000));
        const error = await second.listen('127.0.0.1', port, false).then(
          () => null,
          (thrown: NodeJS.ErrnoException) => thrown,
        );
        second.close();
        expect(error?.code).to.equal('EADDRINUSE');
      });

      it('shares a port where asked to', async function () {
        if (name === 'node' && !nodeTransportCanShare) {
          const lone = await create(options(1000));
          const error = await lone.listen('127.0.0.1', 0, true).then(
            () => null,
            (thrown: Error) => thrown,
          );
          lone.close();
          expect(error?.message).to.contain('22.12');
          // Skipped beyond this: this Node has no SO_REUSEPORT.
          this.skip();
        }
        const first = await create(options(1000));
        const second = await create(options(1000));
        const shared = await first.listen('127.0.0.1', 0, true);
        expect(await second.listen('127.0.0.1', shared, true)).to.equal(shared);
        first.close();
        second.close();
      });

      it('drains: no new connections, kept ones are served once more and closed', async () => {
        let open: Call | null = null;
        handler = (call) => {
          if (call.path === '/open') open = call;
          else if (call.path === '/stream') {
            const reply = call.begin(200, [], () => {});
            reply.data('s');
            reply.end();
          } else call.answer(503, [], 'draining');
        };
        const kept = await client();
        kept.send(get('/'));
        await kept.answered();
        const streaming = await client();
        streaming.send(get('/'));
        await streaming.answered();
        const busy = await client();
        busy.send(get('/open'));
        await busy.until(() => open !== null, 'handler');
        transport.drain();
        const refused = await RawClient.connect(port).then(
          (made) => {
            made.destroy();
            return false;
          },
          () => true,
        );
        expect(refused).to.equal(true);
        kept.send(get('/'));
        const answer = (await kept.answered(2))[1]!;
        expect([answer.status, answer.headers['connection']]).to.deep.equal([503, 'close']);
        await kept.hasClosed();
        streaming.send(get('/stream'));
        const streamed = (await streaming.answered(2))[1]!;
        expect([streamed.body.toString(), streamed.headers['connection']]).to.deep.equal(['s', 'close']);
        await streaming.hasClosed();
        expect(transport.inFlight).to.equal(1);
        (open! as Call).answer(200, [], 'finished');
        const [last] = await busy.answered();
        expect([last!.body.toString(), last!.headers['connection']]).to.deep.equal(['finished', 'close']);
        await busy.hasClosed();
      });

      it('asks its clients to connect elsewhere before it drains, and still takes new ones', async () => {
        handler = (call) => call.answer(200, [], 'served');
        const kept = await client();
        kept.send(get('/'));
        await kept.answered();
        transport.announceDrain();
        kept.send(get('/'));
        const [, again] = await kept.answered(2);
        expect([again!.status, again!.headers['connection']]).to.deep.equal([200, 'close']);
        await kept.hasClosed();
        const fresh = await client();
        fresh.send(get('/'));
        const [first] = await fresh.answered();
        expect([first!.status, first!.headers['connection']]).to.deep.equal([200, 'close']);
        await fresh.hasClosed();
      });

      it('closes everything at once', async () => {
        let aborts = 0;
        handler = (call) => {
          call.onAbort = () => aborts++;
        };
        const c = await client();
        c.send(get('/'));
        await c.until(() => transport.inFlight === 1, 'handler');
        transport.close();
        await c.hasClosed();
        await settled();
        expect(aborts).to.equal(1);
      });
    });

    it('finds credentials that a Connection header names', async () => {
      handler = (call) => call.answer(200, [], getHeader(call.headers, 'x-gateway-api-key') ?? 'none');
      const c = await client();
      c.send(get('/', 'Connection: x-gateway-api-key\r\nX-Gateway-Api-Key: k\r\n'));
      expect((await c.answered())[0]!.body.toString()).to.equal('k');
    });
  });
}
