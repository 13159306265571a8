import { syncBuiltinESMExports } from 'node:module';
import net from 'node:net';
import os from 'node:os';
import { expect } from 'chai';
import { GatewayError } from '../../src/common/core/errors.js';
import { createEgress, type Egress } from '../../src/data-plane/upstream/address/egress.js';
import { isReserved } from '../../src/data-plane/upstream/address/reserved.js';
import type { Resolve } from '../../src/data-plane/upstream/address/resolver.js';
import { createUpstream } from '../../src/data-plane/upstream/dispatch.js';
import { HostileUpstream, okReply } from '../support/hostile-upstream.js';
import { fly, generous, sleep } from '../support/recorded-flight.js';

const publicAddress = '93.184.216.34';

/** Answers each name from a table; a list of lists is a name that changes its mind with each question. */
function table(
  names: Record<string, readonly string[] | readonly (readonly string[])[]>,
): Resolve & { asked: string[] } {
  const asked: string[] = [];
  const resolve = (host: string): Promise<readonly string[]> => {
    asked.push(host);
    const entry = names[host];
    if (entry === undefined)
      return Promise.reject(Object.assign(new Error('no such name'), { code: 'ENOTFOUND' }));
    if (entry.length > 0 && Array.isArray(entry[0])) {
      const lists = entry as readonly (readonly string[])[];
      const count = asked.filter((name) => name === host).length;
      return Promise.resolve(lists[Math.min(count, lists.length) - 1] ?? []);
    }
    return Promise.resolve(entry as readonly string[]);
  };
  return Object.assign(resolve, { asked });
}

/** `ok`, or the code it is refused with, through both checks. */
async function verdict(egress: Egress, url: string): Promise<string> {
  try {
    await egress.addresses(egress.checkUrl(url));
    return 'ok';
  } catch (thrown) {
    if (thrown instanceof GatewayError) return thrown.code;
    throw thrown;
  }
}

describe('egress: addresses that a caller had a word in', () => {
  const anyName: Resolve = () => Promise.resolve([publicAddress]);
  const strict = createEgress({ allow: [], resolve: anyName });

  describe('are refused', () => {
    const refusedUrls: Record<string, readonly string[]> = {
      loopback: [
        'http://127.0.0.1/',
        'http://localhost/',
        'http://localhost./',
        'http://127.8.9.10/',
        'http://LOCALHOST:8080/',
        'http://a.localhost/',
      ],
      'in any notation': [
        'http://0x7f000001/',
        'http://0177.0.0.1/',
        'http://0x7f.1/',
        'http://2130706433/',
        'http://127.1/',
        'http://017700000001/',
        'http://0x7f.0x0.0x0.0x1/',
        'http://%31%32%37.0.0.1/',
      ],
      'this host': ['http://0/', 'http://0.0.0.0/', 'http://[::]/'],
      mapped: [
        'http://[::ffff:127.0.0.1]/',
        'http://[::ffff:7f00:1]/',
        'http://[::ffff:10.0.0.1]/',
        'http://[::ffff:8.8.8.8]/',
        'http://[::127.0.0.1]/',
      ],
      NAT64: [
        'http://[64:ff9b::7f00:1]/',
        'http://[64:ff9b:1::]/',
        'http://[64:ff9b:1::a00:1]/',
        'http://[64:ff9b::808:808]/',
      ],
      'translated, 6to4 and Teredo': [
        'http://[::ffff:0:7f00:1]/',
        'http://[2002:7f00:1::]/',
        'http://[2001::1]/',
        'http://[2001:0:1:2::]/',
      ],
      'local IPv6': [
        'http://[::1]/',
        'http://[fc00::1]/',
        'http://[fdff::1]/',
        'http://[fec0::1]/',
        'http://[feff::1]/',
        'http://[fe80::1]/',
        'http://[ff02::1]/',
      ],
      metadata: [
        'http://169.254.169.254/latest/meta-data/',
        'http://[fd00:ec2::254]/',
        'http://100.100.100.200/',
        'http://metadata.google.internal/',
        'http://metadata.google.internal./',
        'http://168.63.129.16/',
        'http://metadata/',
        'http://metadata.goog/',
        'http://192.0.0.192/',
        'http://169.254.170.2/',
      ],
      'private and shared': [
        'http://10.0.0.1/',
        'http://172.16.0.1/',
        'http://172.31.255.255/',
        'http://192.168.1.1/',
        'http://100.64.0.1/',
        'http://100.127.255.255/',
      ],
      'documentation, benchmarks, multicast, reserved': [
        'http://192.0.2.1/',
        'http://198.51.100.1/',
        'http://203.0.113.1/',
        'http://198.18.0.1/',
        'http://198.19.255.255/',
        'http://224.0.0.1/',
        'http://240.0.0.1/',
        'http://255.255.255.255/',
        'http://192.88.99.1/',
        'http://[2001:db8::1]/',
        'http://[3fff::1]/',
        'http://[100::1]/',
        'http://[2001:20::1]/',
        'http://[5f00::1]/',
        'http://[4000::1]/',
      ],
      'internal names': [
        'http://redis/',
        'http://printer.local/',
        'http://vault.internal/',
        'http://db.corp/',
        'http://kubernetes.default.svc/',
        'http://x.svc.cluster.local/',
        'http://router.lan./',
        'http://1.0.0.127.in-addr.arpa/',
        'http://HOST.DOCKER.INTERNAL/',
      ],
      'repaired by the parser': [
        'http:/127.0.0.1',
        'http:127.0.0.1',
        'http:/api.example.org/',
        'http:api.example.org',
        'http:///api.example.org/',
        'http:\\\\api.example.org\\',
        'http://api.example.org\\@127.0.0.1/',
        ' http://api.example.org/',
        'http://api.exa\tmple.org/',
        'http://api.example.org/\n',
        'http://\0api.example.org/',
      ],
      ports: [
        'http://api.example.org:0/',
        'http://api.example.org:22/',
        'http://api.example.org:25/',
        'http://api.example.org:6379/',
        'http://api.example.org:5432/',
        'http://api.example.org:65536/',
        'http://api.example.org:2375/',
        'http://api.example.org:3306/',
        'http://api.example.org:9200/',
        'http://api.example.org:11211/',
        'http://api.example.org:27017/',
        'http://api.example.org:1023/',
        'http://api.example.org:-1/',
        'http://api.example.org:8a/',
      ],
      'other schemes': [
        'ftp://api.example.org/',
        'file:///etc/passwd',
        'gopher://api.example.org/',
        'javascript:alert(1)',
        'data:,x',
        'ws://api.example.org/',
        'api.example.org',
        '//api.example.org/',
        '',
        'http://',
        'https://?x',
        'unix:/run/docker.sock',
      ],
      'user names': [
        'http://user@api.example.org/',
        'http://user:pass@api.example.org/',
        'http://:@api.example.org/',
        'http://@api.example.org/',
        'http://api.example.org@127.0.0.1/',
        'http://api.example.org%40127.0.0.1/',
      ],
      'look-alikes of what is refused': [
        'http://\u24db\u24de\u24d2\u24d0\u24db\u24d7\u24de\u24e2\u24e3/',
        'http://\uff11\uff12\uff17.0.0.1/',
        'http://127\u30020\u30020\u30021/',
        'http://loc\u00adalhost/',
      ],
      'names that are none': [
        'http://api..example.org/',
        'http://.example.org/',
        'http://example.org../',
        'http://-/',
        `http://${'a'.repeat(64)}.org/`,
        `http://${'a.'.repeat(130)}org/`,
        'http://[::1/',
        'http://[fe80::1%25eth0]/',
        'http://1.2.3.4.5/',
        'http://a b.org/',
      ],
    };
    for (const [group, urls] of Object.entries(refusedUrls)) {
      it(group, async () => {
        for (const url of urls)
          expect(await verdict(strict, url), JSON.stringify(url)).to.equal('invalid_custom_host');
      });
    }

    it('this machine, at whatever address it has', async () => {
      const real = os.networkInterfaces;
      // An address of its own that is public, as a machine without a private network has.
      const [four, six] = ['93.184.216.40', '2606:2800:220:1::40'];
      os.networkInterfaces = () => ({ ...real(), eth9: [{ address: four }, { address: six }] as never });
      syncBuiltinESMExports();
      try {
        const egress = createEgress({ allow: [], resolve: () => Promise.resolve([four]) });
        const own = Object.values(os.networkInterfaces()).flatMap((entries) => entries ?? []);
        for (const address of own.map((entry) => entry.address.replace(/%.*/, ''))) {
          const host = net.isIPv6(address) ? `[${address}]` : address;
          expect(await verdict(egress, `http://${host}:8787/`), host).to.equal('invalid_custom_host');
        }
        const longer = 'http://[2606:2800:220:1:0:0:0:40]/';
        expect(await verdict(egress, longer)).to.equal('invalid_custom_host');
        expect(await verdict(egress, 'https://api.example.org/')).to.equal('invalid_custom_host');
      } finally {
        os.networkInterfaces = real;
        syncBuiltinESMExports();
      }
    });

    it('an address in the URL, before anything is resolved', () => {
      for (const url of ['http://127.0.0.1/', 'http://[::1]/', 'http://10.0.0.1:8080/', 'http://2130706433/'])
        expect(() => strict.checkUrl(url), url).to.throw(GatewayError, 'no public address');
    });

    it('a name with any address that is not public', async () => {
      const mixed: readonly (readonly string[])[] = [
        ['10.0.0.1'],
        [publicAddress, '127.0.0.1'],
        ['::1'],
        ['2606:4700::1111', 'fd00::1'],
        ['169.254.169.254'],
        ['::ffff:10.0.0.1'],
        ['64:ff9b::a00:1'],
        [],
        ['not an address'],
        ['100.64.0.1', publicAddress],
      ];
      for (const addresses of mixed) {
        const egress = createEgress({ allow: [], resolve: () => Promise.resolve(addresses) });
        expect(await verdict(egress, 'https://api.example.org/'), addresses.join()).to.equal(
          'invalid_custom_host',
        );
      }
    });

    it('with one message for a name that does not exist and one that is internal', async () => {
      const resolve = table({ 'inside.example.org': ['10.0.0.1'] });
      const egress = createEgress({ allow: [], resolve });
      const messages = await Promise.all(
        ['inside', 'missing'].map((name) =>
          egress
            .addresses(egress.checkUrl(`https://${name}.example.org/`))
            .catch((error: Error) => error.message),
        ),
      );
      expect(messages[0]).to.equal(messages[1]);
    });
  });

  it('are taken where they are public', async () => {
    for (const url of [
      'https://api.openai.com/v1',
      'http://api.example.org',
      'https://api.example.org:8443/x?y',
      'http://api.example.org:11434/',
      'http://8.8.8.8/',
      'https://[2606:4700:4700::1111]/',
      'https://b\u00fccher.example.org/',
      'https://my_host.example.org:3000/',
    ]) {
      expect(await verdict(strict, url), url).to.equal('ok');
    }
  });

  it('come back normalised: no trailing dot, no fragment, punycode', () => {
    expect(strict.checkUrl('https://API.OpenAI.com./v1?a=b#c').href).to.equal(
      'https://api.openai.com/v1?a=b',
    );
    expect(strict.checkUrl('https://b\u00fccher.example.org/').hostname).to.equal(
      'xn--bcher-kva.example.org',
    );
  });

  describe('the allow-list', () => {
    const resolve = table({
      'inside.corp': ['10.1.2.3'],
      'other.corp': ['10.9.9.9'],
      'xn--bcher-kva.corp': ['10.9.9.9'],
      'api.openai.com': ['10.0.0.5'],
      'api.openai.com.evil.com': ['10.0.0.5'],
      'evilapi.openai.com': ['10.0.0.5'],
      'x.api.openai.com': ['10.0.0.5'],
      'ranged.example.org': ['10.20.0.7'],
      'half.example.org': ['10.20.0.7', '10.21.0.7'],
    });
    const egress = createEgress({
      allow: [
        'inside.corp',
        'API.openai.com.',
        'localhost:6379',
        '127.0.0.1:9999',
        '10.20.0.0/16',
        '192.168.7.7',
        '[fd00::7]:8080',
        'fd00:5::/32',
        '10.30.0.9/16',
        'b\u00fccher.corp',
      ],
      resolve: (host) => (host === 'localhost' ? Promise.resolve(['127.0.0.1', '::1']) : resolve(host)),
    });
    const cases: [string, boolean][] = [
      ['http://inside.corp/', true],
      ['http://INSIDE.corp.:8080/', true],
      ['http://inside.corp:6379/', false],
      ['http://other.corp/', false],
      ['https://api.openai.com/', true],
      ['https://api.openai.com./', true],
      ['https://api.openai.com.evil.com/', false],
      ['https://evilapi.openai.com/', false],
      ['https://x.api.openai.com/', false],
      ['http://localhost:6379/', true],
      ['http://localhost:6380/', false],
      ['http://localhost/', false],
      ['http://127.0.0.1:9999/', true],
      ['http://0x7f.1:9999/', true],
      ['http://127.0.0.1:9998/', false],
      ['http://ranged.example.org/', true],
      ['http://half.example.org/', false],
      ['http://10.20.255.255/', true],
      ['http://10.21.0.1/', false],
      ['http://[::ffff:10.20.0.1]/', false],
      ['http://192.168.7.7/', true],
      ['http://192.168.7.8/', false],
      ['http://[fd00::7]:8080/', true],
      ['http://[fd00:0:0:0::7]:8080/', true],
      ['http://[fd00::7]/', false],
      ['http://[fd00:5::9]/', true],
      ['http://10.30.255.1/', true],
      ['http://10.31.0.9/', false],
      ['http://B\u00dcCHER.corp/', true],
      ['http://user@inside.corp/', false],
      ['ftp://inside.corp/', false],
    ];
    for (const [url, allowed] of cases) {
      it(`${allowed ? 'lets through' : 'keeps out'} ${url}`, async () => {
        expect(await verdict(egress, url)).to.equal(allowed ? 'ok' : 'invalid_custom_host');
      });
    }
  });

  it('isReserved counts what is no address as reserved', () => {
    for (const text of ['', 'x', '1.2.3', '::g', '1.2.3.4.5']) expect(isReserved(text), text).to.equal(true);
  });

  describe('a caller-chosen request', () => {
    let to: HostileUpstream;
    const body = 'secret page of the inside';

    beforeEach(async () => {
      to = await new HostileUpstream({ request: (socket) => void socket.write(okReply(body)) }).listen();
    });
    afterEach(() => to.close());

    const send = async (allow: string[], url: string, resolve?: Resolve) => {
      const upstream = createUpstream({
        connectionsPerOrigin: 4,
        keepAliveMs: 5_000,
        egressAllow: allow,
        resolve,
      });
      const flight = await fly(upstream, url, { callerChosen: true, headers: ['authorization', 'Bearer k'] })
        .finished;
      await upstream.close();
      return flight;
    };

    it('to a refused address makes no connection and shows nothing', async () => {
      const names = table({ 'inside.example.org': ['127.0.0.1'] });
      for (const host of ['127.0.0.1', 'localhost', '[::ffff:127.0.0.1]', 'inside.example.org']) {
        const flight = await send([], `http://${host}:${to.port}/`, names);
        expect(flight.failure?.code).to.equal('invalid_custom_host');
        expect(flight.failure?.message).to.not.include(body);
      }
      expect(to.connections).to.equal(0);
    });

    it('resolves once and connects to the checked address, whatever the name resolves to next', async () => {
      const rebinding = table({ 'rebind.example.org': [['127.0.0.1'], ['127.0.0.2'], ['127.0.0.2']] });
      const flight = await send(['127.0.0.1/32'], `http://rebind.example.org:${to.port}/`, rebinding);
      expect(flight.text).to.equal(body);
      expect(rebinding.asked).to.deep.equal(['rebind.example.org']);

      const turning = table({ 'rebind.example.org': [[publicAddress], ['127.0.0.1'], ['127.0.0.1']] });
      const upstream = createUpstream({
        connectionsPerOrigin: 4,
        keepAliveMs: 5_000,
        egressAllow: [],
        resolve: turning,
      });
      const second = await fly(upstream, `http://rebind.example.org:${to.port}/`, {
        callerChosen: true,
        timeouts: { ...generous, connectMs: 200 },
      }).finished;
      await upstream.close();
      expect(second.failure?.code).to.match(/^upstream_connect/);
      expect(turning.asked).to.deep.equal(['rebind.example.org']);
      expect(to.connections).to.equal(1);
    });

    it('carries the name in Host, on a kept connection to the address that was checked', async () => {
      const names = table({ 'model.example.org': ['127.0.0.1'] });
      const upstream = createUpstream({
        connectionsPerOrigin: 4,
        keepAliveMs: 5_000,
        egressAllow: ['127.0.0.0/8'],
        resolve: names,
      });
      for (let i = 1; i <= 3; i++) {
        const flight = await fly(upstream, `http://model.example.org:${to.port}/v1/x?y=1`, {
          callerChosen: true,
        }).finished;
        expect(flight.text).to.equal(body);
        expect(to.connections).to.equal(1);
        expect(to.heads).to.have.length(i);
      }
      expect(names.asked).to.deep.equal(['model.example.org']);
      expect(to.heads[0])
        .to.include(`host: model.example.org:${to.port}`)
        .and.match(/^POST \/v1\/x\?y=1 /)
        .and.include('connection: keep-alive');
      await upstream.close();
    });

    it('is never redirected', async () => {
      const trap = await new HostileUpstream({
        request: (socket) => void socket.write(okReply('trap')),
      }).listen();
      const from = await new HostileUpstream({
        request: (socket) =>
          void socket.write(`HTTP/1.1 307 Go\r\nlocation: ${trap.url}/\r\ncontent-length: 0\r\n\r\n`),
      }).listen();
      const flight = await send([`127.0.0.1:${from.port}`], `${from.url}/`);
      expect(flight.status).to.equal(307);
      expect(trap.connections).to.equal(0);
      await from.close();
      await trap.close();
    });

    it('takes no proxy from the environment', async () => {
      const proxy = net.createServer((socket) => socket.destroy()).listen(0, '127.0.0.1');
      let proxied = 0;
      proxy.on('connection', () => {
        proxied += 1;
      });
      await sleep(10);
      const { port } = proxy.address() as net.AddressInfo;
      const names = ['HTTP_PROXY', 'http_proxy', 'HTTPS_PROXY', 'ALL_PROXY'];
      for (const name of names) process.env[name] = `http://127.0.0.1:${port}`;
      try {
        expect((await send(['127.0.0.0/8'], `${to.url}/`)).text).to.equal(body);
      } finally {
        for (const name of names) delete process.env[name];
        proxy.close();
      }
      expect(proxied).to.equal(0);
    });

    it('is cancelled while its name is still being resolved', async () => {
      let answer: (addresses: string[]) => void = () => {};
      const resolve: Resolve = () =>
        new Promise((resolved) => {
          answer = resolved;
        });
      const upstream = createUpstream({
        connectionsPerOrigin: 4,
        keepAliveMs: 5_000,
        egressAllow: ['127.0.0.0/8'],
        resolve,
      });
      const flight = fly(upstream, `http://slow.example.org:${to.port}/`, { callerChosen: true });
      flight.flight.cancel();
      answer(['127.0.0.1']);
      await sleep(30);
      expect(to.connections).to.equal(0);
      const closed = fly(upstream, `http://slow.example.org:${to.port}/`, { callerChosen: true });
      await upstream.close();
      expect((await closed.finished).failure?.code).to.equal('draining');
    });
  });
});
