import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import net from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import tls from 'node:tls';
import { Worker } from 'node:worker_threads';
import { expect } from 'chai';
import { GatewayError } from '../../src/common/core/errors.js';
import { createUpstream, type UpstreamOptions } from '../../src/data-plane/upstream/dispatch.js';
import type { Timeouts, Upstream } from '../../src/data-plane/upstream/upstream.js';
import { closedPort, HostileUpstream, okReply, reset, type Script } from '../support/hostile-upstream.js';
import { isLong } from '../support/long-forms.js';
import {
  busyMs,
  ChunkSource,
  expectOnTime,
  fly,
  generous,
  type RecordedFlight,
  sleep,
  until,
} from '../support/recorded-flight.js';
import { expectWithinMs } from '../support/time-limits.js';

const head = (...lines: string[]): string =>
  `HTTP/1.1 200 OK\r\n${lines.map((line) => `${line}\r\n`).join('')}\r\n`;
const chunk = (text: string): string => `${Buffer.byteLength(text).toString(16)}\r\n${text}\r\n`;

describe('upstream: what goes wrong out there', () => {
  let upstream: Upstream;
  const servers: HostileUpstream[] = [];
  const uncaught: unknown[] = [];
  const onUncaught = (error: unknown): void => {
    uncaught.push(error);
  };
  let others: NodeJS.UncaughtExceptionListener[] = [];

  const server = async (script: Script): Promise<HostileUpstream> => {
    const made = await new HostileUpstream(script).listen();
    servers.push(made);
    return made;
  };

  before(() => {
    others = process.listeners('uncaughtException');
    process.removeAllListeners('uncaughtException');
    process.on('uncaughtException', onUncaught);
  });

  after(() => {
    process.off('uncaughtException', onUncaught);
    for (const listener of others) process.on('uncaughtException', listener);
  });

  beforeEach(() => {
    upstream = createUpstream({ connectionsPerOrigin: 8, keepAliveMs: 5_000, egressAllow: ['127.0.0.0/8'] });
  });

  afterEach(async () => {
    await upstream.close();
    await Promise.all(servers.splice(0).map((one) => one.close()));
    expect(uncaught.splice(0).map((error) => (error instanceof Error ? error.stack : error))).to.deep.equal(
      [],
    );
  });

  /** The error that a lone request to `script` ends with; its message must tell nothing the upstream said. */
  const errorOf = async (
    script: Script,
    timeouts: Partial<Timeouts> = {},
  ): Promise<[RecordedFlight, string]> => {
    const to = await server(script);
    const flight = await fly(upstream, to.url, { timeouts: { ...generous, ...timeouts } }).finished;
    expect(flight.misuse).to.deep.equal([]);
    await until(() => to.sockets.size === 0);
    return [flight, flight.failure?.code ?? 'none'];
  };

  describe('no connection', () => {
    it('a closed port fails at once as upstream_connect_failed', async () => {
      const flight = await fly(upstream, `http://127.0.0.1:${await closedPort()}/`).finished;
      expect(flight.failure?.code).to.equal('upstream_connect_failed');
      expect(flight.failure?.message).to.match(/^127\.0\.0\.1:\d+ refused the connection: .*base URL/);
      expect(flight.failure?.fallback).to.equal(true);
      expectWithinMs(flight.finishedAfterMs, busyMs);
    });

    it('a connection that never comes about is upstream_connect_timeout, on time', async () => {
      const hole = await blackhole();
      try {
        for (const callerChosen of [false, true]) {
          for (const connectMs of [200, 500]) {
            const flight = await fly(upstream, `http://127.0.0.1:${hole.port}/`, {
              callerChosen,
              timeouts: { ...generous, connectMs },
            }).finished;
            expect(flight.failure?.code).to.equal('upstream_connect_timeout');
            expect(flight.failure?.message)
              .to.include(`within ${connectMs} ms`)
              .and.include('connect_timeout_ms');
            expectOnTime(flight, connectMs);
          }
        }
      } finally {
        hole.close();
      }
    });

    it('so is a name that is never resolved', async () => {
      const stall = createUpstream({
        connectionsPerOrigin: 2,
        keepAliveMs: 1_000,
        egressAllow: [],
        resolve: () => new Promise(() => {}),
      });
      for (const callerChosen of [false, true]) {
        const flight = await fly(stall, 'http://stuck.example.org/', {
          callerChosen,
          timeouts: { ...generous, connectMs: 200 },
        }).finished;
        expect(flight.failure?.code).to.equal('upstream_connect_timeout');
        expectOnTime(flight, 200);
      }
      await stall.close();
    });

    it('waiting for a free connection counts as connecting', async () => {
      const narrow = createUpstream({ connectionsPerOrigin: 1, keepAliveMs: 1_000, egressAllow: [] });
      const to = await server({ request: () => {} });
      const first = fly(narrow, to.url);
      const second = await fly(narrow, to.url, { timeouts: { ...generous, connectMs: 150 } }).finished;
      expect(second.failure?.code).to.equal('upstream_connect_timeout');
      expect(second.failure?.message).to.include('in use (upstream_connections) for 150 ms');
      expectOnTime(second, 150);
      expect(first.failure).to.equal(null);
      await narrow.close();
    });

    it('a name without an address is upstream_connect_failed, and 200 hanging names delay no other request', async () => {
      const to = await server({ request: (socket) => socket.write(okReply('here')) });
      const named = createUpstream({
        connectionsPerOrigin: 8,
        keepAliveMs: 1_000,
        egressAllow: [],
        resolve: (host) => {
          if (host.startsWith('hang')) return new Promise(() => {});
          if (host === 'good.example') return Promise.resolve(['127.0.0.1']);
          return Promise.reject(Object.assign(new Error('no such name'), { code: 'ENOTFOUND' }));
        },
      });
      const missing = await fly(named, 'http://missing.example/').finished;
      expect(missing.failure?.code).to.equal('upstream_connect_failed');
      expect(missing.failure?.message).to.equal(
        'The name missing.example has no address in DNS: check the base URL of the provider.',
      );
      const timeouts = { ...generous, connectMs: 300 };
      const hanging = Array.from({ length: 200 }, (_, i) =>
        fly(named, `http://hang${i}.example/`, { timeouts }),
      );
      const good = await fly(named, `http://good.example:${to.port}/`).finished;
      expect(good.text).to.equal('here');
      expectWithinMs(good.finishedAfterMs, busyMs);
      const codes = new Set(
        (await Promise.all(hanging.map((one) => one.finished))).map((one) => one.failure?.code),
      );
      expect([...codes]).to.deep.equal(['upstream_connect_timeout']);
      await named.close();
    });

    it('a server that speaks no TLS, or stalls in the handshake, gets no byte of HTTP', async () => {
      const plain = await server({ connection: (socket) => void socket.write('HTTP/1.1 400 Bad\r\n\r\n') });
      const secure = await fly(upstream, `https://127.0.0.1:${plain.port}/`, {
        headers: ['authorization', 'Bearer k'],
      }).finished;
      expect(secure.failure?.code).to.equal('upstream_tls');
      expect(secure.failure?.message).to.match(/does not speak TLS on this port: use http:/);
      const hangup = await server({ connection: (socket) => void socket.once('data', () => socket.end()) });
      const cut = (await fly(upstream, `https://127.0.0.1:${hangup.port}/`).finished).failure;
      expect(cut?.code).to.equal('upstream_tls');
      expect(cut?.message).to.include('closed the connection during the TLS handshake');
      const mute = await server({});
      const timeouts = { ...generous, connectMs: 150 };
      const stalled = await fly(upstream, `https://127.0.0.1:${mute.port}/`, { timeouts }).finished;
      expect(stalled.failure?.code).to.equal('upstream_connect_timeout');
      expectOnTime(stalled, 150);
      await until(() => mute.sockets.size === 0);
    });
  });

  describe('certificates', () => {
    const made = mkdtempSync(join(tmpdir(), 'headgate-tls-'));
    const run = (...args: string[]): void => {
      execFileSync('openssl', args, { cwd: made, stdio: 'pipe' });
    };
    const tlsServers: tls.Server[] = [];
    let heard = '';

    const secure = async (name: string, options: tls.TlsOptions = {}): Promise<number> => {
      const listening = tls.createServer(
        {
          key: readFileSync(join(made, `${name}.key`)),
          cert: readFileSync(join(made, `${name}.crt`)),
          ...options,
        },
        (socket) => {
          socket
            .on('error', () => {})
            .on('data', (bytes) => {
              heard += bytes.toString('latin1');
              socket.write(okReply(String(socket.servername)));
            });
        },
      );
      listening.on('tlsClientError', () => {}).listen(0, '127.0.0.1');
      await once(listening, 'listening');
      tlsServers.push(listening);
      return (listening.address() as net.AddressInfo).port;
    };

    const issue = (name: string, subjectName: string, days: string): void => {
      writeFileSync(join(made, `${name}.ext`), `subjectAltName=${subjectName}`);
      run(
        'req',
        '-newkey',
        'ec',
        '-pkeyopt',
        'ec_paramgen_curve:P-256',
        '-nodes',
        '-keyout',
        `${name}.key`,
        '-out',
        `${name}.csr`,
        '-subj',
        '/CN=x',
      );
      run(
        'x509',
        '-req',
        '-in',
        `${name}.csr`,
        '-CA',
        'ca.crt',
        '-CAkey',
        'ca.key',
        '-CAcreateserial',
        '-days',
        days,
        '-extfile',
        `${name}.ext`,
        '-out',
        `${name}.crt`,
      );
    };

    before(function () {
      try {
        run('version');
      } catch {
        // Certificates are made here and not kept in the repository.
        this.skip();
      }
      run(
        'req',
        '-x509',
        '-newkey',
        'ec',
        '-pkeyopt',
        'ec_paramgen_curve:P-256',
        '-nodes',
        '-keyout',
        'ca.key',
        '-out',
        'ca.crt',
        '-days',
        '2',
        '-subj',
        '/CN=test ca',
      );
      issue('good', 'DNS:api.example.org', '2');
      issue('expired', 'DNS:api.example.org', '-1');
      issue('other', 'DNS:other.example.org', '2');
    });

    after(() => {
      for (const one of tlsServers) one.close();
      rmSync(made, { recursive: true, force: true });
    });

    const trustingUpstream = (options: Partial<UpstreamOptions> = {}): Upstream =>
      createUpstream({
        connectionsPerOrigin: 1,
        keepAliveMs: 1_000,
        egressAllow: [],
        ca: readFileSync(join(made, 'ca.crt'), 'utf8'),
        resolve: () => Promise.resolve(['127.0.0.1']),
        ...options,
      });

    const answerOf = async (port: number, ca: boolean, callerChosen = false): Promise<RecordedFlight> => {
      const trusting = trustingUpstream({ egressAllow: ['127.0.0.0/8'], ...(ca ? {} : { ca: undefined }) });
      const flight = await fly(trusting, `https://api.example.org:${port}/`, { callerChosen }).finished;
      await trusting.close();
      return flight;
    };

    it('a good one is accepted, with SNI, pooled or not', async () => {
      const port = await secure('good');
      for (const callerChosen of [false, true]) {
        expect((await answerOf(port, true, callerChosen)).text).to.equal('api.example.org');
      }
    });

    it('a kept one is used again, and a new connection resumes its session', async () => {
      const port = await secure('good');
      const served = tlsServers.at(-1)!;
      const resumed: boolean[] = [];
      served.on('secureConnection', (socket) => resumed.push(socket.isSessionReused()));
      const trusting = trustingUpstream({ connectionsPerOrigin: 4, keepAliveMs: 50 });
      const ask = async (): Promise<string> =>
        (await fly(trusting, `https://api.example.org:${port}/`).finished).text;
      expect([await ask(), await ask()]).to.deep.equal(['api.example.org', 'api.example.org']);
      expect(resumed).to.deep.equal([false]);
      await sleep(100);
      expect(await ask()).to.equal('api.example.org');
      expect(resumed).to.deep.equal([false, true]);
      await trusting.close();
    });

    it('a kept one is used again where answers come before Node reports the request as written', async () => {
      // On a thread of its own, which answers while this one is busy.
      const worker = new Worker(
        `const { parentPort, workerData } = require('node:worker_threads');
        let connections = 0;
        const server = require('node:tls').createServer(workerData, (socket) => {
          connections += 1;
          socket.on('error', () => {}).on('data', () => {
            socket.write('HTTP/1.1 200 OK\\r\\nContent-Length: 3\\r\\n\\r\\n' + (100 + connections));
          });
        });
        server.listen(0, '127.0.0.1', () => parentPort.postMessage(server.address().port));`,
        {
          eval: true,
          workerData: {
            key: readFileSync(join(made, 'good.key'), 'utf8'),
            cert: readFileSync(join(made, 'good.crt'), 'utf8'),
          },
        },
      );
      const [port] = (await once(worker, 'message')) as [number];
      const trusting = trustingUpstream({ keepAliveMs: 5_000 });
      let isOver = false;
      const occupy = (): void => {
        for (const until = performance.now() + 5; performance.now() < until; );
        if (!isOver) setImmediate(occupy);
      };
      const connections: string[] = [];
      for (let i = 0; i < 20; i++) {
        const flight = fly(trusting, `https://api.example.org:${port}/`);
        if (i === 1) occupy();
        connections.push((await flight.finished).text);
      }
      isOver = true;
      expect(new Set(connections)).to.deep.equal(new Set(['101']));
      await trusting.close();
      await worker.terminate();
    });

    it('over TLS too, a reader that holds is given nothing until it goes on', async () => {
      const body = Buffer.alloc(2_000_000, 'held;');
      const port = await secure('good', {});
      const served = tlsServers.at(-1)!;
      served.removeAllListeners('secureConnection').on('secureConnection', (socket) => {
        socket
          .on('error', () => {})
          .once('data', () => {
            socket.write(head(`content-length: ${body.length}`));
            for (let at = 0; at < body.length; at += 5_000) socket.write(body.subarray(at, at + 5_000));
          });
      });
      const trusting = trustingUpstream();
      let held = false;
      let whileHeld = 0;
      const flight = fly(trusting, `https://api.example.org:${port}/`, {}, (recorded) => {
        recorded.onData = (bytes) => {
          if (held) whileHeld += 1;
          recorded.chunks.push(bytes);
          held = true;
          setTimeout(() => {
            held = false;
            recorded.flight.resume();
          }, 1);
          return false;
        };
      });
      await flight.finished;
      expect(flight.failure).to.equal(null);
      expect(whileHeld).to.equal(0);
      expect(Buffer.concat(flight.chunks).equals(body)).to.equal(true);
      await trusting.close();
    });

    for (const [what, lines] of [
      ['a body that ends with the connection', []],
      ['a body of known length before the end', ['content-length: 60000', 'connection: close']],
    ] as const) {
      it(`over TLS too, a reader that holds while the connection ends is given all of ${what}`, async () => {
        const body = Buffer.alloc(60_000, 'held;');
        const port = await secure('good', {});
        const served = tlsServers.at(-1)!;
        served.removeAllListeners('secureConnection').on('secureConnection', (socket) => {
          socket
            .on('error', () => {})
            .once('data', () => {
              socket.write(head(...lines));
              for (let at = 0; at < body.length; at += 10_000) socket.write(body.subarray(at, at + 10_000));
              socket.end();
            });
        });
        const trusting = trustingUpstream();
        const flight = fly(trusting, `https://api.example.org:${port}/`, {}, (recorded) => {
          recorded.onData = (bytes) => {
            recorded.chunks.push(bytes);
            setTimeout(() => recorded.flight.resume(), 20);
            return false;
          };
        });
        await flight.finished;
        expect(flight.failure).to.equal(null);
        expect(Buffer.concat(flight.chunks).equals(body)).to.equal(true);
        // The connection is gone, and its place in the pool free.
        served.removeAllListeners('secureConnection').on('secureConnection', (socket) => {
          socket.on('error', () => {}).once('data', () => void socket.write(okReply('next')));
        });
        expect((await fly(trusting, `https://api.example.org:${port}/`).finished).text).to.equal('next');
        await trusting.close();
      });
    }

    for (const [what, name, ca, options, advice] of [
      ['an unknown issuer', 'good', false, {}, 'NODE_EXTRA_CA_CERTS'],
      ['an expired certificate', 'expired', true, {}, 'expired'],
      ['a certificate for another name', 'other', true, {}, 'for another name'],
      [
        'TLS 1.1',
        'good',
        true,
        { minVersion: 'TLSv1', maxVersion: 'TLSv1.1', ciphers: 'DEFAULT@SECLEVEL=0' },
        'TLS 1.2 or later',
      ],
    ] as const) {
      it(`${what} is upstream_tls with its cause, and no byte of HTTP leaves`, async () => {
        const port = await secure(name, options);
        for (const callerChosen of [false, true]) {
          heard = '';
          const { failure } = await answerOf(port, ca, callerChosen);
          expect(failure?.code).to.equal('upstream_tls');
          expect(failure?.message).to.include(advice).and.include('api.example.org');
          expect(failure?.message).to.not.include('127.0.0.1');
          expect(heard).to.equal('');
        }
      });
    }
  });

  describe('no answer', () => {
    it('an upstream that never answers is upstream_headers_timeout, and is asked once', async () => {
      const to = await server({ request: () => {} });
      const flight = await fly(upstream, to.url, { timeouts: { ...generous, headersMs: 200 } }).finished;
      expect(flight.failure?.code).to.equal('upstream_headers_timeout');
      expectOnTime(flight, 200);
      await until(() => to.sockets.size === 0);
      await sleep(50);
      expect(to.heads.length).to.equal(1);
      expect(to.connections).to.equal(1);
    });

    it('half a head is no answer either', async () => {
      const [, code] = await errorOf(
        { request: (socket) => void socket.write('HTTP/1.1 200 OK\r\nx: ') },
        { headersMs: 150 },
      );
      expect(code).to.equal('upstream_headers_timeout');
    });

    it('a reset before the head is upstream_reset, and is not sent again', async () => {
      const to = await server({ request: (socket) => reset(socket) });
      const flight = await fly(upstream, to.url).finished;
      expect(flight.failure?.code).to.equal('upstream_reset');
      await sleep(50);
      expect(to.heads.length).to.equal(1);
    });

    it('so is a connection closed in the middle of the head', async () => {
      const [, code] = await errorOf({ request: (socket) => void socket.end('HTTP/1.1 200 OK\r\nx-a') });
      expect(code).to.equal('upstream_reset');
    });

    it('a kept connection that the upstream closes under a request is upstream_reset, without a second try', async () => {
      const to = await server({
        request: (socket, { onConnection }) => {
          if (onConnection === 1) socket.write(okReply('one'));
          else socket.destroy();
        },
      });
      expect((await fly(upstream, to.url).finished).text).to.equal('one');
      await sleep(20);
      expect((await fly(upstream, to.url).finished).failure?.code).to.equal('upstream_reset');
      expect(to.heads.length).to.equal(2);
    });

    it('a kept connection that the upstream closed while idle costs no request', async () => {
      const to = await server({ request: (socket) => void socket.end(okReply('x')) });
      for (let i = 0; i < 20; i++) {
        expect((await fly(upstream, to.url).finished).text).to.equal('x');
        if (i % 2 === 0) await sleep(2);
      }
    });
  });

  describe('an answer that breaks off', () => {
    const broken: [string, (socket: net.Socket) => void][] = [
      [
        'reset inside a Content-Length',
        (socket) =>
          socket.write(`${head('content-length: 100')}half`, () => setTimeout(() => reset(socket), 20)),
      ],
      ['closed inside a Content-Length', (socket) => void socket.end(`${head('content-length: 100')}half`)],
      [
        'closed inside a Content-Length that said Connection: close',
        (socket) => void socket.end(`${head('content-length: 100', 'connection: close')}half`),
      ],
      [
        'reset inside a stream',
        (socket) =>
          socket.write(`${head('transfer-encoding: chunked')}${chunk('half')}`, () =>
            setTimeout(() => reset(socket), 20),
          ),
      ],
      [
        'a stream closed without its last chunk',
        (socket) => void socket.end(`${head('transfer-encoding: chunked')}${chunk('half')}`),
      ],
      [
        'the same, Connection: close',
        (socket) =>
          void socket.end(`${head('transfer-encoding: chunked', 'connection: close')}${chunk('half')}`),
      ],
      [
        'a stream closed inside a chunk',
        (socket) => void socket.end(`${head('transfer-encoding: chunked')}a\r\nhalf`),
      ],
      [
        'reset in a body that ends with the connection',
        (socket) =>
          socket.write(`${head('connection: close')}half`, () => setTimeout(() => reset(socket), 20)),
      ],
    ];
    for (const [what, act] of broken) {
      it(`${what} is upstream_truncated, after the bytes that had come`, async () => {
        const [flight, code] = await errorOf({ request: act });
        expect(code).to.equal('upstream_truncated');
        expect(flight.text).to.equal('half');
        expect(flight.ended).to.equal(false);
      });
    }

    it('a body that ends with the connection ends well', async () => {
      const to = await server({ request: (socket) => void socket.end(`${head()}all of it`) });
      const flight = await fly(upstream, to.url).finished;
      expect([flight.text, flight.ended]).to.deep.equal(['all of it', true]);
    });

    it('the first byte has its own timeout', async () => {
      const [flight, code] = await errorOf(
        { request: (socket) => void socket.write(head('transfer-encoding: chunked')) },
        { firstTokenMs: 150 },
      );
      expect([code, flight.status]).to.deep.equal(['upstream_first_token_timeout', 200]);
      expectOnTime(flight, 150);
    });

    it('a slow stream flows on; a silent one ends at the idle timeout and its socket with it', async () => {
      const [flight, code] = await errorOf(
        {
          request: (socket) => {
            socket.write(head('transfer-encoding: chunked'));
            let sent = 0;
            const drip = setInterval(() => {
              socket.write(chunk('.'));
              sent += 1;
              if (sent === 8) clearInterval(drip);
            }, 80);
            socket.on('close', () => clearInterval(drip));
          },
        },
        { idleMs: 200, firstTokenMs: 150 },
      );
      expect(code).to.equal('upstream_idle_timeout');
      expect(flight.text).to.equal('........');
      expectOnTime(flight, 8 * 80 + 200);
    });

    it('a request is not late by time in which our own event loop was blocked', async () => {
      const to = await server({
        request: (socket) => {
          socket.write(`${head('content-length: 8')}1234`);
          setTimeout(() => socket.write('5678'), 40);
        },
      });
      const flight = fly(upstream, to.url, {
        timeouts: { ...generous, idleMs: 100, firstTokenMs: 100, headersMs: 100 },
      });
      await until(() => flight.text.length === 4);
      const held = performance.now() + 400;
      while (performance.now() < held);
      await flight.finished;
      expect([flight.text, flight.failure]).to.deep.equal(['12345678', null]);
    });

    it('a reader that pauses longer than the idle timeout causes no error', async () => {
      const to = await server({
        request: (socket) =>
          void socket.write(`${head('content-length: 8')}1234`, () =>
            setTimeout(() => socket.write('5678'), 50),
          ),
      });
      let held = true;
      const flight = fly(upstream, to.url, { timeouts: { ...generous, idleMs: 100 } }, (recorded) => {
        recorded.onData = (bytes) => {
          recorded.chunks.push(bytes);
          return !held;
        };
      });
      await sleep(400);
      expect(flight.failure).to.equal(null);
      held = false;
      flight.flight.resume();
      await flight.finished;
      expect(flight.text).to.equal('12345678');
    });
  });

  describe('a connection that breaks while its reply is paused', () => {
    const heads: [string, string][] = [
      ['that ends with the connection', head('connection: close')],
      ['of known length', head('content-length: 100')],
      ['of known length, Connection: close', head('content-length: 100', 'connection: close')],
      ['in chunks, Connection: close', `${head('transfer-encoding: chunked', 'connection: close')}`],
    ];
    for (const [what, start] of heads) {
      for (const how of ['reset', 'closed', 'cancelled'] as const) {
        it(`a reply ${what}, ${how}, hurts neither the process nor the next request`, async () => {
          const to = await server({
            request: (socket, { number }) => {
              if (number > 1) return void socket.write(okReply('next'));
              socket.write(start + (start.includes('chunked') ? chunk('hello') : 'hello'));
              if (how === 'reset') setTimeout(() => reset(socket), 20);
              if (how === 'closed') setTimeout(() => socket.end(), 20);
            },
          });
          const flight = fly(upstream, to.url, {}, (recorded) => {
            recorded.onData = (bytes) => {
              recorded.chunks.push(bytes);
              return false;
            };
          });
          await until(() => flight.chunks.length > 0);
          await sleep(50);
          if (how === 'cancelled') {
            flight.flight.cancel();
          } else {
            flight.flight.resume();
            await flight.finished;
            const endsWell = how === 'closed' && start === head('connection: close');
            expect(flight.failure?.code).to.equal(endsWell ? undefined : 'upstream_truncated');
          }
          expect((await fly(upstream, to.url).finished).text).to.equal('next');
        });
      }
    }
  });

  describe('an answer that is none', () => {
    const nonsense: [string, string | Buffer][] = [
      ['HTTP/0.9', '<html>hello</html>\n'],
      ['an HTTP/2 preface', Buffer.from('00000c04000000000000', 'hex')],
      ['another protocol', '220 mail.example ESMTP\r\n'],
      ['an unasked 101', 'HTTP/1.1 101 Switching\r\nupgrade: websocket\r\nconnection: upgrade\r\n\r\ntunnel'],
      ['an unasked 101 without Upgrade', 'HTTP/1.1 101 Switching\r\n\r\n'],
      ['two Content-Lengths', `${head('content-length: 5', 'content-length: 6')}hello`],
      ['a negative Content-Length', `${head('content-length: -5')}hello`],
      [
        'Content-Length with chunked',
        `${head('content-length: 5', 'transfer-encoding: chunked')}${chunk('hello')}0\r\n\r\n`,
      ],
      ['a NUL in a header', head('x-a: b\0c', 'content-length: 0')],
      ['a status that is no number', 'HTTP/1.1 abc OK\r\n\r\n'],
      ['HTTP/3.7', 'HTTP/3.7 200 OK\r\n\r\n'],
      ['a chunk size that is no number', `${head('transfer-encoding: chunked')}zz\r\n`],
    ];
    for (const [what, bytes] of nonsense) {
      it(`${what} is upstream_invalid_response`, async () => {
        const [flight, code] = await errorOf({ request: (socket) => void socket.write(bytes) });
        expect(code).to.equal('upstream_invalid_response');
        expect(flight.failure?.message).to.not.match(/html|ESMTP|tunnel|hello/);
        expect(JSON.stringify(ownFields(flight.failure?.cause))).to.not.match(/html|ESMTP|tunnel|hello/);
      });
    }

    for (const line of ['100 Continue', '102 Processing', '103 Early']) {
      for (const callerChosen of [false, true]) {
        const by = callerChosen ? 'a connection of its own' : 'a kept connection';
        it(`${line} on ${by} is not the answer, however often it comes`, async () => {
          const to = await server({
            request: (socket) =>
              void socket.write(`HTTP/1.1 ${line}\r\nlink: x\r\n\r\n`.repeat(100) + okReply('real')),
          });
          const flight = await fly(upstream, to.url, { callerChosen }).finished;
          expect([flight.status, flight.text]).to.deep.equal([200, 'real']);
          expect((await fly(upstream, to.url, { callerChosen }).finished).text).to.equal('real');
        });
      }
    }

    it('a 100 that comes with the head, while the body is still on its way, lets it arrive', async () => {
      const to = await server({
        head: (socket) => void socket.write('HTTP/1.1 100 Continue\r\n\r\n'),
        request: (socket, { body }) => void socket.write(okReply(String(body.length))),
      });
      const body = new ChunkSource(Array.from({ length: 20 }, () => Buffer.alloc(64 * 1024)));
      expect((await fly(upstream, to.url, { body }).finished).text).to.equal(String(20 * 64 * 1024));
    });

    it('a 100 and then silence is upstream_headers_timeout, on time', async () => {
      const [flight, code] = await errorOf(
        { request: (socket) => void socket.write('HTTP/1.1 100 Continue\r\n\r\n') },
        { headersMs: 200 },
      );
      expect(code).to.equal('upstream_headers_timeout');
      expectOnTime(flight, 200);
    });

    it('a 204 with a body gives nothing of it to anyone', async () => {
      const to = await server({
        request: (socket, { number }) =>
          void socket.write(number === 1 ? 'HTTP/1.1 204 No\r\n\r\nstray' : okReply('own')),
      });
      const first = await fly(upstream, to.url).finished;
      expect([first.status, first.text, first.ended]).to.deep.equal([204, '', true]);
      expect((await fly(upstream, to.url).finished).text).to.equal('own');
    });

    const big: [string, string][] = [
      ['a head of 1 MiB', head(`x-big: ${'a'.repeat(1024 * 1024)}`)],
      ['10,000 headers', head(...Array.from({ length: 10_000 }, (_, i) => `x-${i}: 1`))],
      ['1,000 cookies', head(...Array.from({ length: 1_000 }, (_, i) => `set-cookie: c${i}=1`))],
    ];
    for (const [what, bytes] of big) {
      it(`${what} is upstream_invalid_response`, async () => {
        const [, code] = await errorOf({ request: (socket) => void socket.write(bytes) });
        expect(code).to.equal('upstream_invalid_response');
      });
    }
  });

  it('a body of any size streams through in constant memory', async function () {
    this.timeout(20_000);
    const part = Buffer.alloc(256 * 1024, 'x');
    const parts = isLong ? 2_000 : 750;
    const total = parts * part.length;
    const to = await server({
      request: (socket) => {
        socket.write(head(`content-length: ${total}`));
        let left = parts;
        const push = (): void => {
          while (left > 0) {
            left -= 1;
            if (!socket.write(part)) return void socket.once('drain', push);
          }
        };
        push();
      },
    });
    let bytes = 0;
    let most = 0;
    const before = process.memoryUsage.rss();
    const flight = fly(upstream, to.url, {}, (recorded) => {
      let chunks = 0;
      recorded.onData = (data) => {
        bytes += data.length;
        chunks += 1;
        if (chunks % 100 === 0) most = Math.max(most, process.memoryUsage.rss());
        if (chunks % 50 !== 0) return true;
        setImmediate(() => recorded.flight.resume());
        return false;
      };
    });
    await flight.finished;
    expect(flight.ended).to.equal(true);
    expect(bytes).to.equal(total);
    expect(most - before).to.be.below(128 * 1024 * 1024);
  });

  describe('unrequested bytes', () => {
    it('what follows a reply whose Content-Length was too short reaches no request', async () => {
      const to = await server({
        request: (socket, { number }) =>
          void socket.write(
            `${head('content-length: 4')}r${String(number).padStart(3, '0')}${okReply('stolen')}`,
          ),
      });
      for (let i = 1; i <= 50; i++) {
        expect((await fly(upstream, to.url).finished).text).to.equal(`r${String(i).padStart(3, '0')}`);
      }
    });

    const lanes = isLong ? 10 : 3;
    it(`a second, unsolicited reply on an idle connection reaches no request, ${lanes * 100} times`, async function () {
      this.timeout(20_000);
      const to = await server({
        request: (socket, { head: asked, number }) => {
          const nonce = /x-nonce: (\S+)/.exec(asked)?.[1] ?? '';
          socket.write(okReply(nonce));
          const stray = okReply(`stray-${nonce}`);
          // Together with the reply, right behind it, or once the connection has been idle.
          if (number % 4 === 0) socket.write(stray);
          else if (number % 4 === 1) setImmediate(() => socket.write(stray));
          else if (number % 4 === 2) setTimeout(() => socket.write(stray), 1);
        },
      });
      let own = 0;
      // Each lane has connections of its own, so that its next request comes when the stray has been sent.
      const lane = async (): Promise<void> => {
        const alone = createUpstream({ connectionsPerOrigin: 1, keepAliveMs: 5_000, egressAllow: [] });
        for (let i = 0; i < 100; i++) {
          const nonce = `n${i}-${Math.random().toString(36).slice(2)}`;
          const flight = await fly(alone, to.url, { headers: ['x-nonce', nonce] }).finished;
          if (flight.failure === null) {
            expect(flight.text).to.equal(nonce);
            own += 1;
          } else {
            expect(flight.failure.code).to.be.oneOf(['upstream_reset', 'upstream_invalid_response']);
          }
          await sleep(i % 3 === 0 ? 3 : 5);
        }
        await alone.close();
      };
      await Promise.all(Array.from({ length: lanes }, lane));
      expect(own).to.be.above(lanes * 90);
    });

    it('TH8: after cancels at random points, every reply still belongs to its request', async function () {
      this.timeout(20_000);
      const to = await server({
        request: (socket, { head: asked }) => {
          const nonce = /x-nonce: (\S+)/.exec(asked)?.[1] ?? '';
          socket.write(head(`content-length: ${nonce.length * 3}`));
          socket.write(nonce);
          setImmediate(() => {
            socket.write(nonce);
            setTimeout(() => socket.write(nonce), 1);
          });
        },
      });
      const one = async (i: number): Promise<void> => {
        const nonce = `n${i}-${Math.random().toString(36).slice(2)};`;
        const flight = fly(upstream, to.url, { headers: ['x-nonce', nonce] });
        if (i % 2 === 0) {
          await sleep(Math.random() * 4);
          if (flight.ended) return;
          flight.flight.cancel();
          const seen = flight.text;
          await sleep(5);
          expect(flight.text, 'nothing is called after cancel').to.equal(seen);
          expect(`${nonce}${nonce}${nonce}`.startsWith(seen)).to.equal(true);
        } else {
          await flight.finished;
          expect(flight.failure).to.equal(null);
          expect(flight.text).to.equal(nonce.repeat(3));
        }
      };
      let next = 0;
      const lane = async (): Promise<void> => {
        while (next < (isLong ? 1_500 : 400)) {
          next += 1;
          await one(next);
        }
      };
      await Promise.all(Array.from({ length: 16 }, lane));
    });
  });

  it('a whole reply to a request that the upstream never read is given, and its connection not used again', async () => {
    const to = await server({
      connection: (socket) => {
        socket.pause();
        socket.write(okReply('early'));
      },
    });
    const eager = createUpstream({ connectionsPerOrigin: 1, keepAliveMs: 5_000, egressAllow: [] });
    const body = Buffer.alloc(20_000_000);
    for (let i = 1; i <= 3; i++) {
      const flight = await fly(eager, to.url, { body }).finished;
      // What comes before anything was asked belongs to nobody.
      if (flight.failure === null) expect(flight.text).to.equal('early');
      expect(to.connections).to.equal(i);
    }
    await eager.close();
  });

  describe('an answer while we still upload', () => {
    function* endless(): Generator<Buffer> {
      for (;;) yield Buffer.alloc(64 * 1024);
    }

    it('is given; the upload stops and the connection closes', async () => {
      const to = await server({
        head: (socket) => void socket.write('HTTP/1.1 413 Too Large\r\ncontent-length: 3\r\n\r\nbig'),
      });
      const source = new ChunkSource(endless());
      const flight = await fly(upstream, to.url, { body: source }).finished;
      expect([flight.status, flight.text, flight.ended]).to.deep.equal([413, 'big', true]);
      expect(source.cancelled).to.equal(true);
      await until(() => to.sockets.size === 0);
      const taken = source.taken;
      await sleep(50);
      expect(source.taken).to.equal(taken);
    });

    const longBody = Buffer.alloc(8_000_000);
    for (const [what, body] of [
      ['a long request', () => longBody],
      ['an upload', () => new ChunkSource(endless())],
    ] as const) {
      it(`is given of an upstream that closes on ${what} as soon as it has answered`, async function () {
        this.timeout(20_000);
        // In a thread of its own: it is to close while this one writes.
        const answering = new Worker(
          `const { parentPort } = require('node:worker_threads');
          const server = require('node:net').createServer((socket) => {
            socket.on('error', () => {});
            socket.once('readable', () => {
              socket.write('HTTP/1.1 413 Too Large\\r\\ncontent-length: 3\\r\\n\\r\\nbig');
              socket.destroySoon();
            });
          });
          server.listen(0, '127.0.0.1', () => parentPort.postMessage(server.address().port));`,
          { eval: true },
        );
        const [port] = (await once(answering, 'message')) as [number];
        const seen: unknown[] = [];
        for (let i = 0; i < (isLong ? 40 : 12); i++) {
          const { status, text, failure } = await fly(upstream, `http://127.0.0.1:${port}/`, { body: body() })
            .finished;
          seen.push(failure ?? [status, text]);
        }
        await answering.terminate();
        expect(seen).to.deep.equal(seen.map(() => [413, 'big']));
      });
    }

    it('an upstream that stops reading is upstream_headers_timeout, a client that stops sending is not', async () => {
      const deaf = await server({ connection: (socket) => void socket.pause() });
      const stuck = await fly(upstream, deaf.url, {
        body: new ChunkSource(endless()),
        timeouts: { ...generous, headersMs: 200 },
      }).finished;
      expect(stuck.failure?.code).to.equal('upstream_headers_timeout');
      const to = await server({ request: (socket) => void socket.write(okReply('got it')) });
      let finish = (): void => {};
      const slow = {
        start: (sink: { data(chunk: Buffer): boolean; end(): void }) => {
          sink.data(Buffer.from('slow'));
          finish = () => sink.end();
        },
        resume: () => {},
        cancel: () => {},
      };
      const flight = fly(upstream, to.url, { body: slow, timeouts: { ...generous, headersMs: 100 } });
      await sleep(300);
      expect(flight.failure).to.equal(null);
      finish();
      expect((await flight.finished).text).to.equal('got it');
    });

    it('a client that breaks off its upload cuts the request', async () => {
      const to = await server({ request: () => {} });
      const gone = new GatewayError('client_gone', 'The client has gone.');
      const source = {
        start: (sink: { data(chunk: Buffer): boolean; error(error: GatewayError): void }) => {
          sink.data(Buffer.from('part'));
          setTimeout(() => sink.error(gone), 20);
        },
        resume: () => {},
        cancel: () => {},
      };
      const flight = await fly(upstream, to.url, { body: source }).finished;
      expect(flight.failure).to.equal(gone);
      await until(() => to.sockets.size === 0);
    });
  });

  describe('cancel', () => {
    it('destroys the connection within 100 ms and calls nothing more', async () => {
      let closedAt = 0;
      const to = await server({
        request: (socket) => {
          socket.on('close', () => {
            closedAt = performance.now();
          });
          socket.write(head('transfer-encoding: chunked'));
          const drip = setInterval(() => socket.write(chunk('token')), 5);
          socket.on('close', () => clearInterval(drip));
        },
      });
      const flight = fly(upstream, to.url);
      await until(() => flight.text.length > 20);
      const cancelledAt = performance.now();
      flight.flight.cancel();
      const seen = flight.text;
      await until(() => closedAt > 0);
      expectWithinMs(closedAt - cancelledAt, busyMs);
      flight.flight.resume();
      flight.flight.cancel();
      await sleep(30);
      expect([flight.text, flight.ended, flight.failure]).to.deep.equal([seen, false, null]);
      expect(to.connections).to.equal(1);
    });

    it('works from within head and from within data', async () => {
      for (const where of ['onHead', 'onData'] as const) {
        for (const more of ['connection: close', 'connection: keep-alive']) {
          const to = await server({
            request: (socket) => void socket.write(`${head('content-length: 10', more)}0123456789`),
          });
          const flight = fly(upstream, to.url, {}, (recorded) => {
            recorded[where] = () => {
              recorded.flight.cancel();
              return false;
            };
          });
          await until(() => flight.status === 200);
          await until(() => to.connections === 1 && to.sockets.size === 0);
          await sleep(10);
          expect([flight.ended, flight.failure, flight.misuse]).to.deep.equal([false, null, []]);
        }
      }
    });

    it('before the connection is open, nothing is sent', async () => {
      const to = await server({ request: (socket) => void socket.write(okReply('x')) });
      const flights = Array.from({ length: 100 }, () => fly(upstream, to.url));
      for (const flight of flights) flight.flight.cancel();
      await sleep(100);
      expect(to.heads.length).to.equal(0);
      expect((await fly(upstream, to.url).finished).text).to.equal('x');
    });

    it('a thousand at once leave no connection open', async () => {
      const wide = createUpstream({ connectionsPerOrigin: 200, keepAliveMs: 5_000, egressAllow: [] });
      const to = await server({ request: (socket) => void socket.write(head('content-length: 9')) });
      const flights = Array.from({ length: 1_000 }, () => fly(wide, to.url));
      await until(() => flights.filter((flight) => flight.status === 200).length === 200);
      for (const flight of flights) flight.flight.cancel();
      await until(() => to.sockets.size === 0);
      await sleep(50);
      expect(to.sockets.size).to.equal(0);
      expect(flights.every((flight) => !flight.ended && flight.failure === null)).to.equal(true);
      await wide.close();
    });

    it('stops an upload', async () => {
      const to = await server({ head: () => {} });
      function* endless(): Generator<Buffer> {
        for (;;) yield Buffer.alloc(1024);
      }
      const source = new ChunkSource(endless());
      const flight = fly(upstream, to.url, { body: source });
      await until(() => source.taken > 0);
      flight.flight.cancel();
      expect(source.cancelled).to.equal(true);
      await until(() => to.sockets.size === 0);
    });
  });

  const rounds = isLong ? 40 : 6;

  it('survives anything: random bytes, pauses, resets and cancels at random points', async function () {
    this.timeout(20_000);
    const parts = [
      head('content-length: 20'),
      head('connection: close'),
      head('transfer-encoding: chunked'),
      'HTTP/1.1 103 E\r\n\r\n',
      'HTTP/1.1 100 C\r\n\r\n',
      'HTTP/1.1 101 S\r\n\r\n',
      chunk('hello'),
      '0\r\n\r\n',
      'x'.repeat(20),
      '\r\n',
      '\0',
      okReply('whole'),
      'HTTP/1.1 304 N\r\n\r\n',
    ];
    const pick = <T>(list: readonly T[]): T => list[Math.floor(Math.random() * list.length)] as T;
    const to = await server({
      request: (socket) => {
        let steps = 1 + Math.floor(Math.random() * 5);
        const step = (): void => {
          if (socket.destroyed) return;
          if (steps === 0)
            return void pick([() => socket.destroy(), () => reset(socket), () => socket.end()])();
          steps -= 1;
          socket.write(steps > 2 ? pick(parts.slice(0, 3)) : pick(parts));
          if (Math.random() < 0.5) setImmediate(step);
          else setTimeout(step, Math.random() * 3);
        };
        step();
      },
    });
    const one = async (): Promise<void> => {
      const flight = fly(
        upstream,
        to.url,
        {
          callerChosen: Math.random() < 0.2,
          timeouts: { connectMs: 500, headersMs: 60, firstTokenMs: 60, idleMs: 60 },
        },
        (recorded) => {
          recorded.onData = () => {
            if (Math.random() < 0.5) return true;
            setTimeout(() => recorded.flight.resume(), Math.random() * 10);
            return false;
          };
        },
      );
      let cancelled = false;
      if (Math.random() < 0.3) {
        setTimeout(() => {
          cancelled = true;
          flight.flight.cancel();
        }, Math.random() * 10);
      }
      await Promise.race([flight.finished, until(() => cancelled)]);
      expect(flight.misuse).to.deep.equal([]);
      if (flight.failure?.code === 'internal') throw flight.failure.cause;
      expect(flight.failure?.code ?? 'upstream').to.match(/^upstream/);
    };
    for (let round = 0; round < rounds; round++) await Promise.all(Array.from({ length: 25 }, one));
  });
});

/** A port that swallows connections: its process accepts none, and its backlog is full. */
async function blackhole(): Promise<{ port: number; close(): void }> {
  const sleeper = spawn(process.execPath, [
    '-e',
    `const server = require('node:net').createServer().listen({ port: 0, host: '127.0.0.1', backlog: 1 }, () => {
      require('node:fs').writeSync(1, String(server.address().port));
      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0);
    });`,
  ]);
  const [text] = await once(sleeper.stdout, 'data');
  const port = Number(text);
  const fill: net.Socket[] = [];
  for (;;) {
    const socket = net.connect(port, '127.0.0.1').on('error', () => {});
    fill.push(socket);
    const connected = await Promise.race([once(socket, 'connect'), sleep(60)]);
    if (connected === undefined) break;
  }
  return {
    port,
    close: () => {
      for (const socket of fill) socket.destroy();
      sleeper.kill('SIGKILL');
    },
  };
}

/** What a serializer of errors would print. */
function ownFields(error: unknown): Record<string, unknown> {
  if (!(error instanceof Error)) return {};
  return { ...error, message: error.message, cause: ownFields(error.cause) };
}
