import { once } from 'node:events';
import { type AddressInfo, createServer } from 'node:net';
import { expect } from 'chai';
import { getHeader } from '../../src/common/http/headers.js';
import type { Upstream } from '../../src/data-plane/upstream/upstream.js';
import { HostileUpstream, okReply, type Script } from '../support/hostile-upstream.js';
import { ChunkSource, fly, type RecordedFlight, sleep, until } from '../support/recorded-flight.js';
import { forEachUpstream } from '../support/upstreams.js';

describe('upstream: what a request and its reply look like', () => {
  forEachUpstream(({ name, create: createUpstream }) => {
    let upstream: Upstream;
    const servers: HostileUpstream[] = [];

    const server = async (script: Script): Promise<HostileUpstream> => {
      const made = await new HostileUpstream(script).listen();
      servers.push(made);
      return made;
    };

    beforeEach(() => {
      upstream = createUpstream({ connectionsPerOrigin: 4, keepAliveMs: 5_000, egressAllow: [] });
    });

    afterEach(async () => {
      await upstream.close();
      await Promise.all(servers.splice(0).map((one) => one.close()));
    });

    it('sends method, path with query, headers and bytes as given', async () => {
      let got: { head: string; body: string } | null = null;
      const to = await server({
        request: (socket, { head, body }) => {
          got = { head, body: body.toString() };
          socket.write(okReply('fine'));
        },
      });
      const flight = await fly(upstream, `${to.url}/v1/x?a=b%20c#gone`, {
        method: 'PATCH',
        headers: ['x-one', '1', 'x-two', 'a', 'x-two', 'b'],
        body: Buffer.from('{"long":true}'),
      }).finished;
      expect(flight.text).to.equal('fine');
      expect(got!.body).to.equal('{"long":true}');
      const lines = got!.head.split('\r\n');
      expect(lines[0]).to.equal('PATCH /v1/x?a=b%20c HTTP/1.1');
      expect(lines).to.include.members([
        `host: 127.0.0.1:${to.port}`,
        'x-one: 1',
        'x-two: a',
        'x-two: b',
        'content-length: 13',
      ]);
    });

    it('writes the framing itself, whatever headers the caller sets', async () => {
      const to = await server({ request: (socket) => socket.write(okReply('')) });
      const flight = await fly(upstream, to.url, {
        headers: [
          'host',
          'evil.example',
          'content-length',
          '999',
          'transfer-encoding',
          'chunked',
          'connection',
          'x-y',
          'te',
          'trailers',
          'expect',
          '100-continue',
          'upgrade',
          'h2c',
          'x-kept',
          '1',
        ],
      }).finished;
      expect(flight.failure).to.equal(null);
      const head = to.heads[0]!;
      expect(head)
        .to.match(/content-length: 7\b/)
        .and.include('x-kept: 1')
        .and.include(`host: 127.0.0.1:${to.port}`);
      expect(head).to.not.match(/evil|999|chunked|trailers|expect|upgrade|x-y/i);
    });

    it('sends no body where there is none', async () => {
      const to = await server({ request: (socket) => socket.write(okReply('[]')) });
      const flight = await fly(upstream, `${to.url}/models`, { method: 'GET', headers: [], body: null })
        .finished;
      expect(flight.text).to.equal('[]');
      expect(to.heads[0])
        .to.match(/^GET \/models HTTP/)
        .and.not.match(/content-length|transfer-encoding/);
    });

    it('gives the reply head flat, lower-case, with duplicates, and without what belongs to the connection', async () => {
      const to = await server({
        request: (socket) =>
          socket.write(
            'HTTP/1.1 429 Slow\r\nSet-Cookie: a=1\r\nX-Mixed: V\xe9\r\nset-cookie: b=2\r\nConnection: keep-alive, X-Private\r\nX-Private: 1\r\nKeep-Alive: timeout=5\r\nProxy-Authenticate: x\r\nTrailer: x-t\r\nContent-Encoding: zz\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nhi\r\n0\r\nx-t: 1\r\n\r\n',
            'latin1',
          ),
      });
      const flight = await fly(upstream, to.url).finished;
      expect(flight.status).to.equal(429);
      expect(flight.headers).to.deep.equal([
        'set-cookie',
        'a=1',
        'x-mixed',
        'V\xe9',
        'set-cookie',
        'b=2',
        'content-encoding',
        'zz',
      ]);
      expect(flight.text).to.equal('hi');
    });

    it('gives no header by which a provider would speak for the origin that its client calls', async () => {
      const dropped = [
        'Strict-Transport-Security: max-age=63072000; includeSubDomains; preload',
        'alt-svc: h3=":443"',
        'Clear-Site-Data: "*"',
        'NEL: {"report_to":"x","max_age":1}',
        'Report-To: {"group":"x","max_age":1,"endpoints":[{"url":"https://x.example"}]}',
        'Reporting-Endpoints: x="https://x.example"',
        'Public-Key-Pins: max-age=1',
        'Expect-CT: max-age=1',
        'Refresh: 0; url=https://x.example',
        'Service-Worker-Allowed: /',
        'Set-Cookie2: a=1',
        'Set-Login: logged-in',
        'Origin-Trial: x',
        'Accept-CH: DPR',
        'Access-Control-Allow-Origin: *',
        'Access-Control-Allow-Credentials: true',
        'access-control-expose-headers: x-a',
        'X-Accel-Redirect: /internal/file',
        'X-Sendfile: /etc/passwd',
        'X-Lighttpd-Send-File: /etc/passwd',
        'X-Reproxy-URL: http://127.0.0.1/',
        'Surrogate-Control: max-age=1',
        'CDN-Cache-Control: max-age=1',
        'Proxy-Authenticate: Basic',
        'Connection: close, X-Hop',
        'connection: x-other-hop',
        'x-hop: 1',
        'X-Other-Hop: 1',
      ];
      const kept = [
        'content-type: a/b',
        'x-accel-buffering: no',
        'www-authenticate: Bearer',
        'cache-control: no-store',
      ];
      const to = await server({
        request: (socket) => socket.write(okReply('hi', ...dropped, ...kept)),
      });
      const flight = await fly(upstream, to.url).finished;
      expect(flight.headers).to.deep.equal(kept.flatMap((line) => line.split(': ')));
    });

    it('passes encoded bodies undecoded', async () => {
      const bomb = Buffer.from([0x1f, 0x8b, 8, 0, 1, 2, 3, 255]);
      const to = await server({
        request: (socket) => {
          socket.write(
            `HTTP/1.1 200 OK\r\ncontent-encoding: ${Array(500).fill('gzip').join(',')}\r\ncontent-length: ${bomb.length}\r\n\r\n`,
          );
          socket.write(bomb);
        },
      });
      const flight = await fly(upstream, to.url).finished;
      expect(Buffer.concat(flight.chunks).equals(bomb)).to.equal(true);
      expect(getHeader(flight.headers, 'content-encoding')).to.match(/^gzip,gzip/);
    });

    for (const status of [301, 302, 307, 308]) {
      it(`never follows a ${status}`, async () => {
        const trap = await server({ request: (socket) => socket.write(okReply('trap')) });
        const to = await server({
          request: (socket) =>
            socket.write(`HTTP/1.1 ${status} Go\r\nlocation: ${trap.url}/\r\ncontent-length: 0\r\n\r\n`),
        });
        const flight = await fly(upstream, to.url, { headers: ['authorization', 'Bearer k'] }).finished;
        expect(flight.status).to.equal(status);
        expect(getHeader(flight.headers, 'location')).to.equal(`${trap.url}/`);
        await sleep(30);
        expect(trap.connections).to.equal(0);
      });
    }

    it('reuses a connection, one request at a time', async () => {
      const to = await server({ request: (socket, { number }) => socket.write(okReply(`r${number}`)) });
      for (let i = 1; i <= 5; i++) {
        expect((await fly(upstream, to.url).finished).text).to.equal(`r${i}`);
        await sleep(2);
      }
      expect(to.connections).to.equal(1);
      const together = await Promise.all([1, 2, 3, 4].map(() => fly(upstream, to.url).finished));
      expect(together.map((one) => one.failure)).to.deep.equal([null, null, null, null]);
      expect(to.connections).to.be.within(2, 4);
    });

    it('opens no more connections to an origin than it may; the rest wait', async () => {
      let busy = 0;
      let most = 0;
      const to = await server({
        request: (socket) => {
          busy += 1;
          most = Math.max(most, busy);
          setTimeout(() => {
            busy -= 1;
            socket.write(okReply('x'));
          }, 5);
        },
      });
      const all = await Promise.all(Array.from({ length: 40 }, () => fly(upstream, to.url).finished));
      expect(all.every((one) => one.text === 'x')).to.equal(true);
      expect(most).to.equal(4);
      expect(to.connections).to.equal(4);
    });

    it('serves who waits for a connection in the order in which they came', async () => {
      const to = await server({
        request: (socket) => void setTimeout(() => socket.write(okReply('x')), 2),
      });
      const narrow = createUpstream({ connectionsPerOrigin: 1, keepAliveMs: 5_000, egressAllow: [] });
      await Promise.all(Array.from({ length: 10 }, (_, i) => fly(narrow, `${to.url}/${i}`).finished));
      expect(to.heads.map((head) => head.split(' ')[1])).to.deep.equal(
        Array.from({ length: 10 }, (_, i) => `/${i}`),
      );
      await narrow.close();
    });

    it('keeps an idle connection no longer than its limit and than the upstream announced', async () => {
      const brief = createUpstream({ connectionsPerOrigin: 4, keepAliveMs: 60, egressAllow: [] });
      const to = await server({ request: (socket) => void socket.write(okReply('x')) });
      await fly(brief, to.url).finished;
      await sleep(100);
      await fly(brief, to.url).finished;
      expect(to.connections).to.equal(2);
      await until(() => to.sockets.size === 0);
      await brief.close();
      const hinting = await server({
        request: (socket) => void socket.write(okReply('x', 'keep-alive: timeout=2')),
      });
      await fly(upstream, hinting.url).finished;
      await until(() => hinting.sockets.size === 0);
      await fly(upstream, hinting.url).finished;
      expect(hinting.connections).to.equal(2);
    });

    it('connects to an address of IPv6, and to the second address of a name where the first is dead', async function () {
      let heard = '';
      const listening = createServer((socket) =>
        socket.on('data', (bytes) => {
          heard += bytes.toString();
          socket.write(okReply('six'));
        }),
      );
      try {
        await once(listening.listen(0, '::1'), 'listening');
      } catch {
        // Without IPv6 there is nothing to show.
        return this.skip();
      }
      const { port } = listening.address() as AddressInfo;
      expect((await fly(upstream, `http://[::1]:${port}/`).finished).text).to.equal('six');
      expect(heard).to.include(`host: [::1]:${port}`);
      const named = createUpstream({
        connectionsPerOrigin: 1,
        keepAliveMs: 1_000,
        egressAllow: [],
        resolve: () => Promise.resolve(['127.0.0.1', '::1']),
      });
      expect((await fly(named, `http://api.example:${port}/`).finished).text).to.equal('six');
      await named.close();
      listening.close();
    });

    it('announces an empty body where one is usual, and closes where servers lose their place', async () => {
      const to = await server({ request: (socket) => void socket.write(okReply('')) });
      for (const method of ['POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS']) {
        await fly(upstream, to.url, { method, headers: [], body: null }).finished;
        const said = to.heads.at(-1)!.includes('content-length: 0');
        expect(said, method).to.equal(['POST', 'PUT', 'PATCH'].includes(method));
        expect(to.heads.at(-1)).to.include('connection: keep-alive');
      }
      await fly(upstream, to.url, { method: 'GET' }).finished;
      expect(to.heads.at(-1)).to.include('connection: close').and.include('content-length: 7');
      await fly(upstream, to.url, { method: 'HEAD', body: null }).finished;
      expect(to.heads.at(-1)).to.include('connection: close');
    });

    it('answers HEAD and 204 without a body', async () => {
      const to = await server({
        request: (socket, { head }) =>
          socket.write(
            head.startsWith('HEAD')
              ? 'HTTP/1.1 200 OK\r\ncontent-length: 999\r\n\r\n'
              : 'HTTP/1.1 204 No\r\n\r\n',
          ),
      });
      const head = await fly(upstream, to.url, { method: 'HEAD', body: null, maxBodyBytes: 10 }).finished;
      expect([head.status, head.text, head.failure]).to.deep.equal([200, '', null]);
      expect(getHeader(head.headers, 'content-length')).to.equal('999');
      const empty = await fly(upstream, to.url, { method: 'DELETE', body: null }).finished;
      expect([empty.status, empty.text, empty.failure]).to.deep.equal([204, '', null]);
    });

    describe('a body that arrives over time', () => {
      it('is sent chunked, in order, and starts only when the connection is open', async () => {
        let got = '';
        const to = await server({
          request: (socket, { body }) => {
            got = body.toString();
            socket.write(okReply('ok'));
          },
        });
        const source = new ChunkSource(
          Array.from({ length: 50 }, (_, i) => Buffer.from(`${i},`.padEnd(5_000, '.'))),
        );
        const flight = fly(upstream, to.url, { body: source });
        expect(source.started).to.equal(false);
        await flight.finished;
        expect(flight.failure).to.equal(null);
        expect(to.heads[0])
          .to.match(/transfer-encoding: chunked/)
          .and.not.match(/content-length/);
        expect(got.length).to.equal(250_000);
        expect(got.replace(/\.+/g, '')).to.equal(Array.from({ length: 50 }, (_, i) => `${i},`).join(''));
      });

      it('keeps the Content-Length the client gave', async () => {
        const to = await server({
          request: (socket, { body }) => socket.write(okReply(String(body.length))),
        });
        const source = new ChunkSource([Buffer.alloc(100_000), Buffer.alloc(50_000)]);
        const flight = await fly(upstream, to.url, { body: source, headers: ['content-length', '150000'] })
          .finished;
        expect(flight.text).to.equal('150000');
        expect(to.heads[0])
          .to.match(/content-length: 150000/)
          .and.not.match(/chunked/);
      });

      it('is bad_framing where it is longer or shorter than that', async () => {
        const to = await server({ request: (socket) => socket.write(okReply('')) });
        for (const claimed of ['149999', '150001']) {
          const source = new ChunkSource([Buffer.alloc(100_000), Buffer.alloc(50_000)]);
          const flight = await fly(upstream, to.url, { body: source, headers: ['content-length', claimed] })
            .finished;
          expect(flight.failure?.code).to.equal('bad_framing');
        }
      });

      it('is read no faster than the upstream takes it', async () => {
        const to = await server({ connection: (socket) => socket.pause() });
        function* endless(): Generator<Buffer> {
          for (;;) yield Buffer.alloc(64 * 1024);
        }
        const source = new ChunkSource(endless());
        const flight = fly(upstream, to.url, { body: source });
        await until(() => source.taken > 0);
        await sleep(150);
        const taken = source.taken;
        await sleep(150);
        expect(source.taken).to.equal(taken);
        expect(taken).to.be.below(16 * 1024 * 1024);
        flight.flight.cancel();
        expect(source.cancelled).to.equal(true);
      });

      it('is left alone where no connection came about, so that another target can have it', async () => {
        const source = new ChunkSource([Buffer.from('x')]);
        const flight = await fly(upstream, 'http://127.0.0.1:1/', { body: source }).finished;
        expect(flight.failure?.code).to.equal('upstream_connect_failed');
        expect([source.started, source.cancelled]).to.deep.equal([false, false]);
      });
    });

    describe('back-pressure', () => {
      it('stops reading while the handler holds, loses nothing, and goes on when resumed', async () => {
        const part = Buffer.alloc(64 * 1024, 'z');
        let written = 0;
        const to = await server({
          request: (socket) => {
            socket.write(`HTTP/1.1 200 OK\r\ncontent-length: ${part.length * 400}\r\n\r\n`);
            const push = (): void => {
              while (written < part.length * 400) {
                written += part.length;
                if (!socket.write(part)) {
                  socket.once('drain', push);
                  return;
                }
              }
            };
            push();
          },
        });
        let bytes = 0;
        const flight = fly(upstream, to.url, {}, (recorded) => {
          recorded.onData = (chunk) => {
            bytes += chunk.length;
            return false;
          };
        });
        await until(() => bytes > 0);
        await sleep(100);
        const held = bytes;
        await sleep(100);
        expect(bytes).to.equal(held);
        expect(written).to.be.below(part.length * 400);
        const poke = setInterval(() => flight.flight.resume(), 0);
        await flight.finished;
        clearInterval(poke);
        expect(flight.ended).to.equal(true);
        expect(bytes).to.equal(part.length * 400);
      });

      it('may be lifted from within data itself, and from within another flight', async () => {
        const body = 'x'.repeat(300_000);
        const to = await server({ request: (socket) => socket.write(okReply(body)) });
        let other: RecordedFlight | null = null;
        const one = fly(upstream, to.url, {}, (recorded) => {
          recorded.onData = (chunk) => {
            recorded.chunks.push(chunk);
            recorded.flight.resume();
            other?.flight.resume();
            return false;
          };
        });
        other = fly(upstream, to.url, {}, (recorded) => {
          recorded.onData = (chunk) => {
            recorded.chunks.push(chunk);
            return false;
          };
        });
        const poke = setInterval(() => other?.flight.resume(), 5);
        await Promise.all([one.finished, other.finished]);
        clearInterval(poke);
        expect(one.text.length).to.equal(body.length);
        expect(other.text.length).to.equal(body.length);
      });
    });

    it('sends each body as it was, also where the upstream is slow to take it', async function () {
      this.timeout(10_000);
      const got = new Map<string, string>();
      const to = await server({
        connection: (socket) => {
          socket.pause();
          setTimeout(() => socket.resume(), 50);
        },
        request: (socket, { head, body }) => {
          got.set(head.split(' ')[1]!, body.toString('latin1'));
          socket.write(okReply('x'));
        },
      });
      const wide = createUpstream({ connectionsPerOrigin: 100, keepAliveMs: 5_000, egressAllow: [] });
      for (const size of [0, 1, 1_000, 16_000, 20_000, 100_000, 3_000_000]) {
        got.clear();
        const count = size > 1_000_000 ? 8 : 60;
        const bodies = Array.from({ length: count }, (_, i) => Buffer.alloc(size, `${i};`));
        const flights = bodies.map((body, i) => fly(wide, `${to.url}/${i}`, { body }));
        await Promise.all(flights.map((flight) => flight.finished));
        for (const [i, body] of bodies.entries()) {
          expect(got.get(`/${i}`) === body.toString('latin1'), `body ${i} of ${size} bytes`).to.equal(true);
        }
      }
      await wide.close();
    });

    it('gives nothing but the end of a whole reply back while its reader holds, and uses its connection', async function () {
      // undici gives a connection its next request once the reply before has been read to its end.
      if (name === 'undici') this.skip();
      const to = await server({
        request: (socket, { number }) => void socket.write(okReply(`r${number}`)),
      });
      const narrow = createUpstream({ connectionsPerOrigin: 1, keepAliveMs: 5_000, egressAllow: [] });
      const held = fly(narrow, to.url, {}, (recorded) => {
        recorded.onData = (chunk) => {
          recorded.chunks.push(chunk);
          return false;
        };
      });
      await until(() => held.chunks.length > 0);
      expect((await fly(narrow, to.url).finished).text).to.equal('r2');
      expect([held.text, held.ended]).to.deep.equal(['r1', false]);
      held.flight.resume();
      expect(held.ended).to.equal(true);
      const cancelled = fly(narrow, to.url, {}, (recorded) => {
        recorded.onData = (chunk) => {
          recorded.chunks.push(chunk);
          return false;
        };
      });
      await until(() => cancelled.chunks.length > 0);
      cancelled.flight.cancel();
      cancelled.flight.resume();
      expect((await fly(narrow, to.url).finished).text).to.equal('r4');
      expect([cancelled.ended, cancelled.failure]).to.deep.equal([false, null]);
      expect(to.connections).to.equal(1);
      await narrow.close();
    });

    describe('what cannot be sent', () => {
      const bad: [string, Parameters<typeof fly>[2]][] = [
        ['a header value with a line break', { headers: ['x-a', 'b\r\nx-injected: 1'] }],
        ['a header value with NUL', { headers: ['x-a', 'b\0'] }],
        ['a header value beyond Latin-1', { headers: ['x-a', '\u20ac'] }],
        ['a header value whose low bytes are CR and LF', { headers: ['x-a', 'b\u010d\u010ac: d'] }],
        ['a header name that is no token', { headers: ['x a', 'b'] }],
        ['an empty header name', { headers: ['', 'b'] }],
        ['a method that is no token', { method: 'GE T' }],
        ['CONNECT', { method: 'CONNECT' }],
      ];
      for (const [what, request] of bad) {
        it(`${what} is invalid_request`, async () => {
          const to = await server({ request: (socket) => socket.write(okReply('')) });
          const flight = await fly(upstream, to.url, request).finished;
          expect(flight.failure?.code).to.equal('invalid_request');
          expect(flight.misuse).to.deep.equal([]);
          expect(to.heads).to.deep.equal([]);
        });
      }

      for (const url of [
        '',
        'nonsense',
        'ftp://127.0.0.1/',
        'http://',
        'http://user:hunter2@127.0.0.1/',
        'https://api.example@127.0.0.1:1/v1',
        'http://127.0.0.1:99999/',
        'http://127.0.0.1:1/a b',
        'http://127.0.0.1:1/a\r\nx: y',
        'http://127.0.0.1:1/\u20ac',
        'file:///etc/passwd',
      ]) {
        it(`the URL ${JSON.stringify(url)} is invalid_request`, async () => {
          const flight = await fly(upstream, url).finished;
          expect(flight.failure?.code).to.equal('invalid_request');
          expect(flight.failure?.message).to.not.include('hunter2');
        });
      }
    });

    it('caps the body where asked: by its Content-Length at once, by its bytes else', async () => {
      const to = await server({
        request: (socket, { head }) => {
          if (head.includes('/long')) socket.write('HTTP/1.1 200 OK\r\ncontent-length: 1001\r\n\r\n');
          else if (head.includes('/exact')) socket.write(okReply('x'.repeat(1_000)));
          else
            socket.write(
              `HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n${'64\r\n'.concat('y'.repeat(100), '\r\n').repeat(20)}`,
            );
        },
      });
      const exact = await fly(upstream, `${to.url}/exact`, { maxBodyBytes: 1_000 }).finished;
      expect(exact.text.length).to.equal(1_000);
      for (const path of ['/long', '/chunked']) {
        const flight = await fly(upstream, to.url + path, { maxBodyBytes: 1_000 }).finished;
        expect(flight.failure?.code, path).to.equal('upstream_too_large');
        expect(flight.text.length).to.be.at.most(1_000);
      }
      await until(() => to.sockets.size <= 1);
    });

    it('after close, cuts what is in flight and takes nothing new', async () => {
      const to = await server({ request: () => {} });
      const flying = fly(upstream, to.url);
      await until(() => to.heads.length === 1);
      await upstream.close();
      expect((await flying.finished).failure?.code).to.equal('draining');
      const late = await fly(upstream, to.url).finished;
      expect(late.failure?.code).to.equal('draining');
      await until(() => to.sockets.size === 0);
    });

    it('a handler that throws costs its own request alone', async () => {
      const to = await server({ request: (socket) => socket.write(okReply('hello')) });
      for (const where of ['onHead', 'onData'] as const) {
        const flight = fly(upstream, to.url, {}, (recorded) => {
          recorded[where] = () => {
            throw new Error('handler fault');
          };
        });
        await flight.finished;
        expect(flight.failure?.code).to.equal('internal');
        expect(flight.failure?.message).to.not.include('handler fault');
      }
      expect((await fly(upstream, to.url).finished).text).to.equal('hello');
    });
  });
});
