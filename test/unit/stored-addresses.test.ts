import { expect } from 'chai';
import { isMetadataHost } from '../../src/common/http/addresses.js';
import { createEgress } from '../../src/data-plane/upstream/address/egress.js';
import type { Resolve } from '../../src/data-plane/upstream/address/resolver.js';
import { createUpstream } from '../../src/data-plane/upstream/dispatch.js';
import { requestHead } from '../../src/data-plane/upstream/request-head.js';
import type { UpstreamRequest } from '../../src/data-plane/upstream/upstream.js';
import { HostileUpstream, okReply } from '../support/hostile-upstream.js';
import { fly } from '../support/recorded-flight.js';

/** Each form of an address that machines ask for their own credentials. */
const metadata = [
  '169.254.169.254',
  '169.254.0.1',
  '169.254.170.2',
  '100.100.100.200',
  '168.63.129.16',
  '192.0.0.192',
  'fe80::1',
  'febf::1',
  'fd00:ec2::254',
  'fd00:ec2::23',
  'fd20:ce::254',
  'fd00:42::42',
  'fd00:c1::a9fe:a9fe',
  '::ffff:169.254.169.254',
  '::ffff:a9fe:a9fe',
  '::169.254.169.254',
  '::ffff:0:169.254.169.254',
  '::ffff:100.100.100.200',
  '64:ff9b::a9fe:a9fe',
  '64:ff9b::168.63.129.16',
  '64:ff9b:1::a9fe:a9fe',
  '64:ff9b:1:a9fe:a9:fe00::',
  '64:ff9b:1:ffa9:fe:a9fe::',
  '64:ff9b:1:ffff:a9:fea9:fe00:0',
  '2002:a9fe:a9fe::1',
  '2001:0:a9fe:a9fe::1',
  '2001:0:808:808::5601:5601',
  '2a00:1450::5efe:a9fe:a9fe',
  '2a00:1450::200:5efe:a9fe:a9fe',
];
const others = [
  '127.0.0.1',
  '10.0.0.1',
  '172.16.0.1',
  '192.168.1.1',
  '100.64.0.1',
  '100.100.100.201',
  '168.63.129.17',
  '169.253.255.255',
  '169.255.0.0',
  '8.8.8.8',
  '::1',
  'fd00::1',
  'fd00:ec3::254',
  'fec0::1',
  '2606:4700::1111',
  '::ffff:10.0.0.1',
  '64:ff9b::a00:1',
  '2002:a00:1::1',
];

describe('An address that an administrator stored', () => {
  let to: HostileUpstream;

  beforeEach(async () => {
    to = await new HostileUpstream({
      request: (socket) => socket.end(okReply('fine', 'connection: close')),
    }).listen();
  });
  afterEach(() => to.close());

  const local: Resolve = () => Promise.resolve(['127.0.0.1']);
  const send = async (
    url: string,
    {
      allow = [],
      resolve = local,
      ...more
    }: { allow?: string[]; resolve?: Resolve } & Partial<UpstreamRequest>,
  ) => {
    const upstream = createUpstream({
      connectionsPerOrigin: 2,
      keepAliveMs: 1000,
      egressAllow: allow,
      resolve,
    });
    const flight = await fly(upstream, url, {
      timeouts: { connectMs: 300, headersMs: 300, firstTokenMs: 300, idleMs: 300 },
      ...more,
    }).finished;
    await upstream.close();
    return flight;
  };

  const inUrl = (address: string): string => (address.includes(':') ? `[${address}]` : address);

  it('is judged by whether a cloud gives machines their credentials there', () => {
    for (const address of metadata) expect(isMetadataHost(address), address).to.equal(true);
    for (const address of others) expect(isMetadataHost(address), address).to.equal(false);
    for (const name of ['metadata.google.internal', 'metadata', 'instance-data.ec2.internal'])
      expect(isMetadataHost(name), name).to.equal(true);
    expect(isMetadataHost('models.internal')).to.equal(false);
  });

  it('is not connected to where it is link-local or a metadata service, and the refusal names the setting', async () => {
    const hosts = [
      ...metadata.map(inUrl),
      '2852039166',
      '0xa9.0xfe.0xa9.0xfe',
      'metadata.google.internal',
      'METADATA.google.internal.',
    ];
    for (const host of hosts) {
      const { failure } = await send(`http://${host}:${to.port}/`, {});
      expect(failure?.code, host).to.equal('invalid_custom_host');
      expect(failure?.message).to.include('(HEADGATE_EGRESS_ALLOW)');
    }
    expect(to.connections).to.equal(0);
  });

  it('is not connected to where its name leads there, with any of its addresses', async () => {
    for (const addresses of [...metadata.map((one) => [one]), ['127.0.0.1', '169.254.169.254']]) {
      const { failure } = await send(`http://model.example.org:${to.port}/`, {
        resolve: () => Promise.resolve(addresses),
      });
      expect(failure?.code, addresses.join()).to.equal('invalid_custom_host');
      expect(failure?.message).to.include(`model.example.org:${to.port} leads to`);
    }
    expect(
      (await send('https://model.example.org/', { resolve: async () => ['169.254.169.254'] })).failure?.code,
    ).to.equal('invalid_custom_host');
    expect(to.connections).to.equal(0);
  });

  it('is checked again with each connection', async () => {
    const answers = [['127.0.0.1'], ['169.254.169.254']];
    const upstream = createUpstream({
      connectionsPerOrigin: 2,
      keepAliveMs: 1000,
      egressAllow: [],
      resolve: async () => answers.shift()!,
    });
    const url = `http://model.example.org:${to.port}/`;
    expect((await fly(upstream, url).finished).text).to.equal('fine');
    expect((await fly(upstream, url).finished).failure?.code).to.equal('invalid_custom_host');
    await upstream.close();
  });

  it('may be loopback or private', async () => {
    expect((await send(to.url, {})).text).to.equal('fine');
    expect((await send(`http://localhost:${to.port}`, {})).text).to.equal('fine');
    expect((await send(`http://redis:${to.port}`, {})).text).to.equal('fine');
  });

  it('may be anything that the operator allows, by name, by name and port, by address or range', async () => {
    const name = 'metadata.google.internal';
    for (const allow of [name, `${name}:${to.port}`])
      expect((await send(`http://${name}:${to.port}/`, { allow: [allow] })).text).to.equal('fine');
    expect((await send(`http://${name}:${to.port}/`, { allow: [`${name}:1`] })).failure?.code).to.equal(
      'invalid_custom_host',
    );
    for (const allow of ['169.254.7.7', '169.254.7.7:9', '169.254.0.0/16']) {
      const egress = createEgress({ allow: [allow], resolve: local });
      expect(() => egress.stored(new URL('http://169.254.7.7:9/')), allow).to.not.throw();
      expect(() => egress.stored(new URL('http://100.100.100.200:9/')), allow).to.throw(
        'HEADGATE_EGRESS_ALLOW',
      );
    }
  });

  describe('and the gateway’s own questions to a metadata service', () => {
    const name = 'metadata.google.internal';
    const headers = ['metadata', 'true', 'X-aws-ec2-metadata-token', 't', 'x-one', '1'];

    it('go there, with its headers', async () => {
      const flight = await send(`http://${name}:${to.port}/latest?x=1`, {
        ownIdentity: true,
        headers: [...headers],
      });
      expect(flight.text).to.equal('fine');
      expect(to.heads[0]).to.include('\r\nmetadata: true\r\nX-aws-ec2-metadata-token: t\r\nx-one: 1');
    });

    it('open no way for anyone else', async () => {
      const upstream = createUpstream({
        connectionsPerOrigin: 2,
        keepAliveMs: 1000,
        egressAllow: [],
        resolve: local,
      });
      const url = `http://${name}:${to.port}/`;
      expect((await fly(upstream, url, { ownIdentity: true }).finished).text).to.equal('fine');
      expect((await fly(upstream, url).finished).failure?.code).to.equal('invalid_custom_host');
      await upstream.close();
    });
  });
});

describe('Headers of metadata services', () => {
  const line = { method: 'GET', path: '/', host: 'h', length: 0, keep: true };
  const names = [
    'metadata',
    'Metadata-Flavor',
    'x-google-metadata-request',
    'X-aws-ec2-metadata-token',
    'x-aws-ec2-metadata-token-ttl-seconds',
    'x-aliyun-ecs-metadata-token',
  ];

  it('are sent with no request, however they are spelt', () => {
    for (const name of names) {
      const head = requestHead(line, [name, '1', 'x-metadata', '2'])!;
      expect(head.text, name).to.equal(
        'GET / HTTP/1.1\r\nhost: h\r\nconnection: keep-alive\r\nx-metadata: 2\r\n\r\n',
      );
    }
  });

  it('are sent where the gateway asks about its own identity', () => {
    for (const name of names)
      expect(requestHead({ ...line, ownIdentity: true }, [name, '1'])!.text).to.include(`\r\n${name}: 1\r\n`);
  });
});
