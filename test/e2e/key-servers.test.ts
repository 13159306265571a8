import { createServer } from 'node:net';
import { expect } from 'chai';
import { EgressAllow } from '../../src/common/http/egress-allow.js';
import { KeySetUnavailable } from '../../src/control-plane/tokens/key-sets.js';
import { createEgress } from '../../src/data-plane/upstream/address/egress.js';
import { checkedRequest, RequestFailed } from '../../src/process/node/outgoing/checked-request.js';
import { KeyServers } from '../../src/process/node/outgoing/key-server.js';
import { KeyServer } from '../support/token-issuer.js';

/** Names that a test resolves: the second answer may be another than the first. */
const names = new Map<string, string[]>();

const openTo = (...allow: string[]) => {
  const egress = createEgress({ allow, resolve: async (host) => names.get(host) ?? [] });
  return { egress, servers: new KeyServers(egress, new EgressAllow(allow)) };
};

async function away(work: Promise<unknown>): Promise<string> {
  try {
    await work;
  } catch (error) {
    if (error instanceof KeySetUnavailable || error instanceof RequestFailed) return error.message;
    throw error;
  }
  throw new Error('it was fetched');
}

describe('servers of key sets', () => {
  let server: KeyServer;
  let port: string;

  before(async () => {
    server = await new KeyServer().start();
    port = new URL(server.url).port;
  });
  after(() => server.close());
  beforeEach(() => {
    server.answer = null;
  });

  it('are called over https alone, and never at an internal address, unless the operator allows it', async () => {
    const { servers } = openTo();
    const cases: readonly (readonly [string, string | null])[] = [
      ['https://id.example.com/keys?tenant=1', null],
      ['http://id.example.com/keys', 'https'],
      ['https://127.0.0.1/keys', 'no public address'],
      ['https://[::1]/keys', 'no public address'],
      ['https://0x7f000001/keys', 'no public address'],
      ['https://169.254.169.254/latest', 'no public address'],
      ['https://metadata.google.internal/', 'internal name'],
      ['https://redis/keys', 'internal name'],
      ['https://id.example.com:6379/', 'port 6379'],
      ['https://user@id.example.com/', 'user name'],
      ['file:///etc/passwd', 'http'],
    ];
    for (const [url, problem] of cases) {
      const found = servers.problemOf(url);
      if (problem === null) expect(found, url).to.equal(null);
      else expect(found, url).to.include(problem);
    }
    expect(openTo(`127.0.0.1:${port}`).servers.problemOf(server.url)).to.equal(null);
    expect(openTo('127.0.0.0/8').servers.problemOf(server.url)).to.equal(null);
    expect(openTo('127.0.0.1:1').servers.problemOf(server.url)).to.not.equal(null);
  });

  it('are not reached through a name with an internal address, and no redirection is followed', async () => {
    names.set('id.example.com', ['127.0.0.1']);
    const before = server.asked;
    expect(await away(openTo().servers.fetch('https://id.example.com/keys'))).to.include('no public address');
    expect(server.asked).to.equal(before);
    const { servers } = openTo('127.0.0.1');
    server.answer = (_, response) => response.writeHead(302, { location: server.url }).end();
    expect(await away(servers.fetch(server.url))).to.include('status 302');
    expect(server.asked).to.equal(before + 1);
  });

  it('are refused what is too long, no JSON, or too slow, without a word of the answer', async () => {
    const { servers, egress } = openTo('127.0.0.1');
    expect(await servers.fetch(server.url)).to.deep.equal({ document: { keys: [] }, bytes: 11 });
    server.answer = (_, response) => {
      response.on('error', () => {});
      response.write(`{"keys":["${'x'.repeat(600 * 1024)}`);
    };
    expect(await away(servers.fetch(server.url))).to.include('longer than');
    server.answer = (_, response) => response.end('internal-secret: 1');
    expect(await away(servers.fetch(server.url)))
      .to.match(/not JSON/)
      .and.not.include('internal-secret');
    server.answer = (_, response) => response.write('{');
    const request = { url: server.url, maxBytes: 100, deadlineMs: 50 };
    expect(await away(checkedRequest(egress, request))).to.include('too long');
  });

  it('that refuse connections or speak no HTTP are away', async () => {
    const { servers } = openTo('127.0.0.1');
    const garbage = createServer((socket) => {
      socket.on('error', () => {});
      socket.resume().end('nonsense\r\n\r\n');
    });
    await new Promise<void>((listening) => garbage.listen(0, '127.0.0.1', listening));
    const { port: garbagePort } = garbage.address() as { port: number };
    try {
      expect(await away(servers.fetch(`http://127.0.0.1:${garbagePort}/`))).to.include('did not answer');
    } finally {
      await new Promise((closed) => garbage.close(closed));
    }
    expect(await away(servers.fetch(`http://127.0.0.1:${garbagePort}/`))).to.include('ECONNREFUSED');
  });
});
