import { execFileSync } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { type ClientHttp2Session, type ClientHttp2Stream, connect as connectHttp2 } from 'node:http2';
import { type AddressInfo, connect as connectTcp, createServer, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { connect as connectTls } from 'node:tls';
import { Client, credentials, Server, ServerCredentials } from '@grpc/grpc-js';
import { expect } from 'chai';
import { HealthImplementation } from 'grpc-health-check';
import { ConnectionGate } from '../../src/common/http/connection-gate.js';
import { GrpcListener } from '../../src/control-plane/administration/grpc/grpc-listener.js';
import type { MetricFamily } from '../../src/control-plane/telemetry/metric-family.js';
import { clientConnections, controlConnections, descriptorLimit } from '../../src/process/descriptors.js';
import { type OpsServer, startOpsServer } from '../../src/process/health/ops-server.js';
import { eventually } from '../support/gateway.js';
import { RawClient } from '../support/raw-http.js';

const log = { info() {}, warn() {}, error() {} };
const preface = 'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n';
/** No settings of its own: SETTINGS, empty. */
const settings = '\0\0\0\x04\0\0\0\0\0';

describe('listeners of the control process', () => {
  const clients: RawClient[] = [];
  const silent = async (port: number, count: number, text = ''): Promise<RawClient[]> => {
    const opened = await Promise.all(Array.from({ length: count }, () => RawClient.connect(port)));
    for (const client of opened) if (text !== '') client.send(text);
    clients.push(...opened);
    return opened;
  };
  const open = (of: readonly RawClient[]): number => of.filter(({ closed }) => !closed).length;
  const allClosed = (of: readonly RawClient[]): Promise<boolean> =>
    eventually('all closed', async () => open(of) === 0, 8000);

  afterEach(() => {
    for (const client of clients.splice(0)) client.destroy();
  });

  describe('the health port', () => {
    let ops: OpsServer;
    const unreadable = (): readonly MetricFamily[] => {
      throw new Error('a metric that cannot be read');
    };
    const start = async (
      requestMs: number,
      maxConnections: number,
      metrics: () => readonly MetricFamily[] = unreadable,
    ): Promise<void> => {
      const checks = [
        { name: 'store', ok: () => true },
        { name: 'broken', optional: true, ok: () => Promise.reject(new Error('x')) },
      ];
      ops = await startOpsServer({
        host: '127.0.0.1',
        port: 0,
        checks,
        metrics,
        maxConnections,
        requestMs,
        log,
      });
    };
    const status = (path: string): Promise<number> =>
      fetch(`http://127.0.0.1:${ops.port}${path}`).then((answer) => answer.status);

    afterEach(() => {
      for (const socket of unread.splice(0)) socket.destroy();
      ops.close();
    });

    it('closes a connection without a complete request, and serves', async () => {
      await start(300, 100);
      const some = [
        ...(await silent(ops.port, 5)),
        ...(await silent(ops.port, 5, 'GET /livez HTTP/1.1\r\nHo')),
      ];
      expect(await status('/livez')).to.equal(200);
      await allClosed(some);
      expect(await status('/readyz')).to.equal(200);
    });

    it('at its limit closes silent connections for new ones, which are answered', async () => {
      await start(60_000, 8);
      const some = await silent(ops.port, 50);
      expect(await status('/livez')).to.equal(200);
      await eventually('only as many as allowed', async () => open(some) <= 8);
      expect(open(some)).to.be.greaterThan(0);
    });

    const unread: Socket[] = [];
    /** A client that sends `text` and takes no byte of what is answered. */
    const asking = async (text: string): Promise<Socket> => {
      const socket = connectTcp(ops.port, '127.0.0.1').pause();
      socket.on('error', () => {});
      unread.push(socket);
      await once(socket, 'connect');
      socket.write(text);
      return socket;
    };

    it('at its limit closes connections whose clients do not take their answers, for new ones', async () => {
      let asked = 0;
      const large: MetricFamily = {
        ...{ name: 'large', type: 'gauge', help: null },
        samples: [{ labels: { text: 'x'.repeat(16 * 1024 * 1024) }, value: 1 }],
      };
      await start(60_000, 4, () => {
        asked++;
        return [large];
      });
      for (let i = 0; i < 4; i++) await asking('GET /metrics HTTP/1.1\r\nHost: x\r\n\r\n');
      await eventually('all are being answered', async () => asked === 4);
      expect(await status('/livez')).to.equal(200);
      expect(await status('/readyz')).to.equal(200);
    });

    it('works for one request of a connection at a time: requests sent ahead of an answer end it', async () => {
      let asked = 0;
      await start(10_000, 100, () => {
        asked++;
        return [];
      });
      const request = 'GET /metrics HTTP/1.1\r\nHost: x\r\n\r\n';
      const ahead = await asking(request.repeat(1000));
      ahead.resume();
      await once(ahead, 'close');
      expect(asked).to.be.lessThan(10);
      const [client] = await silent(ops.port, 1, request);
      expect((await client?.answered())?.map((answer) => answer.status)).to.deep.equal([200]);
      client?.send(request);
      await eventually('the second request is answered as well', async () => asked >= 3);
      expect(client?.closed).to.equal(false);
    });

    it('answers targets that are no address, and 500 where a metric throws', async () => {
      await start(10_000, 100);
      for (const [target, expected] of [
        ['//', 404],
        ['///', 404],
        ['http://[', 404],
        ['/readyz?exclude=%ff%', 200],
        ['/readyz?verbose', 200],
        ['/metrics', 500],
      ] as const) {
        const [client] = await silent(ops.port, 1, `GET ${target} HTTP/1.1\r\nHost: x\r\n\r\n`);
        const [answer] = (await client?.answered()) ?? [];
        expect(answer?.status, target).to.equal(expected);
      }
    });
  });

  describe('the gRPC port', () => {
    let server: Server;
    let listener: GrpcListener;
    let port: number;
    const start = async (
      requestMs: number,
      maxConnections: number,
      how = ServerCredentials.createInsecure(),
    ): Promise<void> => {
      listener = new GrpcListener({ host: '127.0.0.1', port: 0, maxConnections, requestMs, log });
      server = new Server({ interceptors: [listener.interceptor] });
      new HealthImplementation({ '': 'SERVING' }).addToServer(server);
      port = await listener.listen(server, how);
    };
    const asBytes = (bytes: Buffer): Buffer => bytes;
    const isServing = (client: Client): Promise<boolean> =>
      new Promise((done) => {
        const path = '/grpc.health.v1.Health/Check';
        client.makeUnaryRequest(path, asBytes, asBytes, Buffer.alloc(0), (error, bytes) =>
          done(error === null && bytes?.toString('hex') === '0801'),
        );
      });
    const clientOf = (): Client =>
      new Client(`127.0.0.1:${port}`, credentials.createInsecure(), { 'grpc.use_local_subchannel_pool': 1 });
    const sessions: ClientHttp2Session[] = [];
    const sessionOf = (): ClientHttp2Session => {
      const session = connectHttp2(`http://127.0.0.1:${port}`);
      session.on('error', () => {});
      sessions.push(session);
      return session;
    };

    afterEach(() => {
      for (const session of sessions.splice(0)) session.destroy();
      listener.close();
      server.forceShutdown();
    });

    it('closes a connection that sends nothing, or no more than a preface; one that has called stays', async () => {
      await start(400, 100);
      const client = clientOf();
      expect(await isServing(client)).to.equal(true);
      const state = client.getChannel().getConnectivityState(false);
      const some = [...(await silent(port, 5)), ...(await silent(port, 5, preface + settings))];
      await allClosed(some);
      // The client that has called is older than those.
      expect(client.getChannel().getConnectivityState(false)).to.equal(state);
      expect(await isServing(client)).to.equal(true);
      client.close();
    });

    it('closes, with TLS, a connection that sends nothing before its handshake or after it', async () => {
      const folder = mkdtempSync(join(tmpdir(), 'headgate-tls-'));
      const [keyFile, certFile] = [join(folder, 'key.pem'), join(folder, 'cert.pem')];
      const ec = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes'];
      const files = ['-keyout', keyFile, '-out', certFile];
      execFileSync('openssl', ['req', '-x509', ...ec, '-subj', '/CN=localhost', ...files], {
        stdio: 'ignore',
      });
      const [private_key, cert_chain] = [readFileSync(keyFile), readFileSync(certFile)];
      rmSync(folder, { recursive: true });
      await start(400, 100, ServerCredentials.createSsl(null, [{ private_key, cert_chain }]));
      const before = await silent(port, 3);
      const after = connectTls({
        port,
        host: '127.0.0.1',
        ca: cert_chain,
        servername: 'localhost',
        ALPNProtocols: ['h2'],
      });
      after.on('error', () => {});
      after.resume();
      await once(after, 'secureConnect');
      await once(after, 'close');
      await allClosed(before);
    });

    it('ends a request that does not arrive whole in time; the connection, which has sent one before, stays', async () => {
      await start(300, 100);
      const session = sessionOf();
      const check = (): ClientHttp2Stream =>
        session.request({
          ':method': 'POST',
          ':path': '/grpc.health.v1.Health/Check',
          'content-type': 'application/grpc',
        });
      const statusOf = (stream: ClientHttp2Stream): Promise<unknown> =>
        new Promise((done) => {
          stream.on('error', () => {});
          stream.on('close', () => done('closed'));
          stream.on('response', (headers) => 'grpc-status' in headers && done(headers['grpc-status']));
          stream.on('trailers', (headers) => done(headers['grpc-status']));
          stream.resume();
        });
      const whole = check();
      whole.end(Buffer.alloc(5));
      expect(await statusOf(whole)).to.equal('0');
      const part = check();
      // A message of ten bytes is announced, and none of them follows.
      part.write(Buffer.from([0, 0, 0, 0, 10]));
      expect(await statusOf(part)).to.equal('4');
      expect(session.closed).to.equal(false);
    });

    for (const path of ['/grpc.health.v1.Health/Check', '/no.such.Service/Method'])
      it(`closes a connection that begins streams of ${path} only to reset them, and serves others`, async () => {
        await start(60_000, 8);
        const session = sessionOf();
        await once(session, 'remoteSettings');
        for (let i = 0; i < 1000; i++) {
          const stream = session.request({
            ':method': 'POST',
            ':path': path,
            'content-type': 'application/grpc',
          });
          stream.on('error', () => {});
          stream.close();
        }
        await once(session, 'close');
        const client = clientOf();
        expect(await isServing(client)).to.equal(true);
        client.close();
      });

    it('at its limit closes silent connections, then idle ones and endless health streams, for new ones', async () => {
      await start(60_000, 8);
      const some = await silent(port, 40);
      const client = clientOf();
      expect(await isServing(client)).to.equal(true);
      await eventually('only as many as allowed', async () => open(some) < 8);
      client.close();
      for (let i = 0; i < 20; i++) {
        const session = sessionOf();
        const stream = session.request({
          ':method': 'POST',
          ':path': '/grpc.health.v1.Health/Watch',
          'content-type': 'application/grpc',
        });
        stream.on('error', () => {});
        const answered = new Promise((done) => stream.once('data', done));
        stream.end(Buffer.alloc(5));
        await answered;
      }
      const another = clientOf();
      expect(await isServing(another)).to.equal(true);
      another.close();
    });
  });

  it('a connection whose request is being answered is not closed for a new one', async () => {
    const gate = new ConnectionGate({ listener: 'test', maxConnections: 2, firstRequestMs: 60_000, log });
    const admitted: boolean[] = [];
    const server = createServer((socket) => {
      socket.on('error', () => {});
      admitted.push(gate.admit(socket));
    }).listen(0, '127.0.0.1');
    await new Promise((listening) => server.once('listening', listening));
    const { port } = server.address() as AddressInfo;
    const busy = await silent(port, 2);
    await eventually('two connections', async () => gate.size === 2);
    const peers = busy.map(({ socket }) => `${socket.localAddress}:${socket.localPort}`);
    for (const peer of peers) gate.requestBegan(peer);
    const [third] = await silent(port, 1);
    await third?.hasClosed();
    expect(open(busy)).to.equal(2);
    gate.requestEnded(peers[1] ?? '');
    const [fourth] = await silent(port, 1);
    await busy[1]?.hasClosed();
    expect([busy[0]?.closed, fourth?.closed]).to.deep.equal([false, false]);
    expect(admitted).to.deep.equal([true, true, false, true]);
    server.close();
  });

  it('connections are bounded so that each process keeps descriptors for itself', () => {
    expect(descriptorLimit()).to.be.greaterThan(0);
    for (const limit of [128, 256, 1024, 20_000, 1_048_576]) {
      const { grpc, ops, simulated } = controlConnections(limit);
      expect(limit - grpc - ops - simulated).to.be.at.least(64);
      expect(Math.min(grpc, ops, simulated)).to.be.at.least(4);
      // Each client may need a connection to a provider.
      expect(limit - 2 * clientConnections(limit)).to.be.at.least(64);
    }
  });
});
