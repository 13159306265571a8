import { execFileSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { connect, createServer, type Server, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createServer as createTlsServer } from 'node:tls';
import { expect } from 'chai';
import {
  createUndiciUpstream,
  type UndiciOptions,
} from '../../src/data-plane/upstream/undici/undici-upstream.js';
import type { Upstream } from '../../src/data-plane/upstream/upstream.js';
import { HostileUpstream, okReply } from '../support/hostile-upstream.js';
import { fly, generous, sleep } from '../support/recorded-flight.js';
import { forEachUpstream } from '../support/upstreams.js';

const portOf = (server: Server): number => (server.address() as { port: number }).port;

/** A forward proxy that knows where every name leads, and records what it was asked for. */
class RecordingProxy {
  readonly asked: string[] = [];
  readonly heads: string[] = [];
  answer = 'HTTP/1.1 200 Connection established\r\n\r\n';
  readonly #sockets = new Set<Socket>();
  readonly #server: Server;

  constructor(port: () => number) {
    this.#server = createServer((socket) => {
      this.#sockets.add(socket);
      socket.on('error', () => {});
      socket.once('data', (bytes) => {
        const head = bytes.toString('latin1');
        this.heads.push(head);
        this.asked.push(/^CONNECT (\S+) HTTP/.exec(head)?.[1] ?? head);
        socket.write(this.answer);
        if (!this.answer.startsWith('HTTP/1.1 200')) return;
        const through = connect(port(), '127.0.0.1').on('error', () => {});
        this.#sockets.add(through);
        socket.pipe(through).pipe(socket);
      });
    });
  }

  async listen(): Promise<this> {
    await new Promise<void>((done) => this.#server.listen(0, '127.0.0.1', done));
    return this;
  }

  get url(): string {
    return `http://127.0.0.1:${portOf(this.#server)}`;
  }

  close(): void {
    for (const socket of this.#sockets) socket.destroy();
    this.#server.close();
  }
}

describe('upstream: a forward proxy', () => {
  let provider: HostileUpstream;
  let proxy: RecordingProxy;
  const open: Upstream[] = [];

  const upstream = (options: Partial<UndiciOptions> = {}): Upstream => {
    const made = createUndiciUpstream({
      connectionsPerOrigin: 4,
      keepAliveMs: 5_000,
      egressAllow: ['127.0.0.0/8'],
      proxy: proxy.url,
      ...options,
    });
    open.push(made);
    return made;
  };

  beforeEach(async () => {
    provider = await new HostileUpstream({
      request: (socket) => void socket.write(okReply('fine')),
    }).listen();
    proxy = await new RecordingProxy(() => provider.port).listen();
  });
  afterEach(async () => {
    for (const one of open.splice(0)) await one.close();
    proxy.close();
    await provider.close();
  });

  it('is asked for a tunnel to a stored provider, whose name it resolves; the connection is kept', async () => {
    const by = upstream({ resolve: () => Promise.reject(new Error('resolved here')) });
    const requests = [fly(by, 'http://api.provider.example/v1/a')];
    await requests[0]!.finished;
    await sleep(5);
    requests.push(fly(by, 'http://api.provider.example/v1/b'));
    await requests[1]!.finished;
    for (const { text, failure } of requests) expect([text, failure]).to.deep.equal(['fine', null]);
    expect(proxy.asked).to.deep.equal(['api.provider.example:80']);
    expect(provider.heads[1]).to.match(/^POST \/v1\/b HTTP\/1\.1\r\nhost: api\.provider\.example\r\n/);
    expect(provider.heads.join('')).to.not.include('proxy-');
  });

  it('gets its own credentials, and the provider does not', async () => {
    const url = proxy.url.replace('http://', 'http://user:p%40ss@');
    await fly(upstream({ proxy: url }), 'http://api.provider.example/').finished;
    expect(proxy.heads[0]).to.include(
      `\r\nproxy-authorization: Basic ${Buffer.from('user:p@ss').toString('base64')}\r\n`,
    );
    expect(provider.heads[0]).to.not.include('authorization');
  });

  it('sees TLS of a provider with https, whose certificate is checked', async function () {
    this.timeout(20_000);
    const folder = mkdtempSync(join(tmpdir(), 'headgate-proxy-'));
    const [key, cert] = [join(folder, 'key.pem'), join(folder, 'cert.pem')];
    const subject = [
      '-subj',
      '/CN=api.provider.example',
      '-addext',
      'subjectAltName=DNS:api.provider.example',
    ];
    const form = ['-x509', '-newkey', 'rsa:2048', '-nodes', '-days', '2', '-keyout', key, '-out', cert];
    execFileSync('openssl', ['req', ...form, ...subject], { stdio: 'ignore' });
    const [keyText, certText] = [readFileSync(key, 'utf8'), readFileSync(cert, 'utf8')];
    rmSync(folder, { recursive: true });
    const secure = createTlsServer({ key: keyText, cert: certText }, (socket) => {
      socket.on('error', () => {}).once('data', () => socket.end(okReply('secret')));
    });
    await new Promise<void>((done) => secure.listen(0, '127.0.0.1', done));
    const through = await new RecordingProxy(() => portOf(secure)).listen();
    try {
      const trusting = upstream({ proxy: through.url, ca: certText });
      const flight = await fly(trusting, 'https://api.provider.example/v1').finished;
      expect([flight.text, flight.failure]).to.deep.equal(['secret', null]);
      const strict = await fly(upstream({ proxy: through.url }), 'https://api.provider.example/v1').finished;
      expect(strict.failure?.code).to.equal('upstream_tls');
      expect(through.asked).to.deep.equal(['api.provider.example:443', 'api.provider.example:443']);
    } finally {
      through.close();
      secure.close();
    }
  });

  it('is not used for custom hosts, nor for what the gateway asks about its own identity', async () => {
    const by = upstream();
    for (const how of [{ callerChosen: true }, { ownIdentity: true }] as const) {
      const flight = await fly(by, provider.url, how).finished;
      expect([flight.text, flight.failure]).to.deep.equal(['fine', null]);
    }
    expect(proxy.asked).to.deep.equal([]);
  });

  it('is not asked for link-local addresses and metadata services', async () => {
    for (const host of ['169.254.169.254', 'metadata.google.internal', '[fe80::1]']) {
      const flight = await fly(upstream(), `http://${host}/latest/`).finished;
      expect(flight.failure?.code, host).to.equal('invalid_custom_host');
    }
    expect(proxy.asked).to.deep.equal([]);
  });

  it('that refuses, answers something else, or is not there, is named in the error', async () => {
    const failureBy = async (by: Upstream) =>
      (await fly(by, 'http://api.provider.example/').finished).failure;
    proxy.answer = 'HTTP/1.1 407 Proxy Authentication Required\r\n\r\n';
    const refused = await failureBy(upstream());
    expect(refused).to.include({ code: 'upstream_connect_failed' });
    expect(refused?.message).to.equal('The proxy (upstream_proxy) refused the connection with status 407.');
    proxy.answer = 'SSH-2.0-OpenSSH_9.2\r\n\r\n';
    expect((await failureBy(upstream()))?.message).to.include('did not answer CONNECT with HTTP/1.1');
    proxy.answer = 'HTTP/1.1 200 OK\r\n\r\nHTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n';
    expect((await failureBy(upstream()))?.message).to.include('sent bytes after its answer');
    const gone = upstream();
    proxy.close();
    expect((await failureBy(gone))?.message).to.include('cannot be reached');
  });

  it('that does not answer is waited for as long as a connection may take', async () => {
    proxy.answer = '';
    const timeouts = { ...generous, connectMs: 150 };
    const { failure } = await fly(upstream(), 'http://api.provider.example/', { timeouts }).finished;
    expect(failure?.code).to.equal('upstream_connect_timeout');
  });

  forEachUpstream(({ create }) => {
    it('of the environment is ignored', async () => {
      const names = [
        'HTTP_PROXY',
        'http_proxy',
        'HTTPS_PROXY',
        'https_proxy',
        'ALL_PROXY',
        'NODE_USE_ENV_PROXY',
      ];
      const before = names.map((name) => process.env[name]);
      for (const name of names) process.env[name] = name.startsWith('NODE') ? '1' : proxy.url;
      const direct = create({ connectionsPerOrigin: 1, keepAliveMs: 1_000, egressAllow: ['127.0.0.0/8'] });
      try {
        for (const callerChosen of [false, true])
          expect((await fly(direct, provider.url, { callerChosen }).finished).text).to.equal('fine');
        expect(proxy.asked).to.deep.equal([]);
      } finally {
        await direct.close();
        for (const [i, name] of names.entries()) {
          if (before[i] === undefined) delete process.env[name];
          else process.env[name] = before[i];
        }
      }
    });
  });
});
