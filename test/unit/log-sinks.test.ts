import { mkdtempSync, rmSync } from 'node:fs';
import { createServer, type IncomingMessage, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { gunzipSync } from 'node:zlib';
import { expect } from 'chai';
import type { LedgerRow } from '../../src/common/ledger/record.js';
import { unknownRow } from '../../src/common/ledger/rows.js';
import { logSinkProblems } from '../../src/common/settings/log-sinks.js';
import { sentLine } from '../../src/control-plane/administration/resources/logs/log-metrics.js';
import type { BudgetLedger } from '../../src/control-plane/ledger/ledger.js';
import { openLedger } from '../../src/control-plane/ledger/sql.js';
import { LedgerFollower } from '../../src/control-plane/telemetry/sinks/follower.js';
import { httpSink } from '../../src/control-plane/telemetry/sinks/http-sink.js';
import { s3Sink } from '../../src/control-plane/telemetry/sinks/s3-sink.js';
import type { LogSink } from '../../src/control-plane/telemetry/sinks/sink.js';
import { intentOf, org } from '../fault/journal-records.js';
import { eventually } from '../support/gateway.js';

interface Received {
  readonly url: string;
  readonly headers: IncomingMessage['headers'];
  readonly body: Buffer;
}

describe('log sinks', () => {
  let dataDir: string;
  let ledger: BudgetLedger;
  let server: Server;
  let address: string;
  let received: Received[];
  /** What the receiver does with the next requests. */
  let faults: ('refuse' | 'cut' | 'hang')[];
  let cursors: Map<string, string>;
  let stop: AbortController;
  let ended: Promise<unknown>[];

  beforeEach(async () => {
    dataDir = mkdtempSync(join(tmpdir(), 'headgate-sinks-'));
    ledger = await openLedger({ dataDir });
    [received, faults, cursors, stop, ended] = [[], [], new Map(), new AbortController(), []];
    server = createServer((request, response) => {
      const parts: Buffer[] = [];
      request.on('data', (part: Buffer) => parts.push(part));
      request.on('end', () => {
        const fault = faults.shift();
        if (fault === 'hang') return;
        if (fault === 'cut') return void request.socket.destroy();
        response.statusCode = fault === 'refuse' ? 503 : 200;
        if (fault === undefined) {
          const { url = '', headers } = request;
          received.push({ url, headers, body: Buffer.concat(parts) });
        }
        response.end();
      });
    });
    await new Promise<void>((done) => server.listen(0, '127.0.0.1', done));
    address = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  });

  afterEach(async () => {
    stop.abort();
    await Promise.all(ended);
    server.closeAllConnections();
    server.close();
    await ledger.close();
    rmSync(dataDir, { recursive: true });
  });

  const put = (...ids: string[]): Promise<void> => putAt(Date.now(), ...ids);
  const putAt = async (at: number, ...ids: string[]): Promise<void> => {
    const unknown = ids.map((id): LedgerRow => unknownRow(intentOf(id, { at }), null));
    await ledger.apply({ settled: null, unknown, positions: new Map(), opened: [], closed: [] });
  };
  const followerOf = (sink: LogSink): LedgerFollower =>
    new LedgerFollower({
      ...{ sink, ledger, waits: { first: 5, longest: 20 }, log: { info() {}, warn() {}, error() {} } },
      cursors: {
        get: async (name) => cursors.get(name) ?? null,
        set: async (name, cursor) => void cursors.set(name, cursor),
      },
    });
  const follow = (sink: LogSink): LedgerFollower => {
    const follower = followerOf(sink);
    ended.push(follower.follow(stop.signal));
    return follower;
  };
  const linesOf = ({ body }: Received): { readonly id: string }[] =>
    body
      .toString()
      .trimEnd()
      .split('\n')
      .map((line) => JSON.parse(line));
  const ids = (): string[] => received.flatMap((one) => linesOf(one).map(({ id }) => id));
  const settings = { type: 'http', url: '', batch_ms: 50, batch_rows: 3 } as const;
  const started = (name: string): Promise<unknown> =>
    eventually('a place in the ledger', async () => cursors.has(name));

  it('get each row once and in order, in batches, as JSON lines', async () => {
    await put('before');
    const sink = httpSink(
      'a',
      { ...settings, url: `${address}/in`, headers: { authorization: 'Bearer x' } },
      sentLine,
    );
    const follower = follow(sink);
    await started('a');
    await put('1', '2', '3', '4', '5', '6', '7');
    await eventually('all rows', async () => ids().length === 7);
    expect(ids()).to.deep.equal(['1', '2', '3', '4', '5', '6', '7']);
    expect(received.map((one) => linesOf(one).length)).to.deep.equal([3, 3, 1]);
    const [{ headers, url }] = received as [Received];
    expect(url).to.equal('/in');
    expect(headers).to.include({ authorization: 'Bearer x', 'content-type': 'application/x-ndjson' });
    expect(new Set(received.map((one) => one.headers['x-gateway-batch-id'])).size).to.equal(3);
    expect(linesOf(received[0]!)[0]).to.include({ state: 'unknown', organisation_id: org });
    await eventually('no lag', async () => follower.metrics()[0]?.value === 0);
    expect(follower.metrics()[1]).to.deep.include({ name: 'gateway_log_sink_rows_total', value: 7 });
  });

  it('are given up where they never answer, whatever is collected meanwhile', async () => {
    setFlagsFromString('--expose-gc');
    const collect = runInNewContext('gc') as () => void;
    faults.push('hang');
    const sink = httpSink('a', { ...settings, url: address }, sentLine, 300);
    const collecting = setInterval(collect, 20);
    const rows = [{ row: unknownRow(intentOf('1'), null), bodies: null }];
    const refused = await sink.send({ id: 'b', rows }, stop.signal).catch((error: Error) => error.message);
    clearInterval(collecting);
    expect(refused).to.equal('timeout');
  });

  it('get the rows since the gateway started, also those before the first run', async () => {
    await put('before');
    const sink = httpSink('a', { ...settings, url: address }, sentLine);
    const follower = followerOf(sink);
    await follower.begin();
    await put('1', '2');
    ended.push(follower.follow(stop.signal));
    await eventually('both rows', async () => ids().length === 2);
    expect(ids()).to.deep.equal(['1', '2']);
  });

  it('get rows whose time is to come at once, and those after them', async () => {
    const sink = httpSink('a', { ...settings, url: address }, sentLine);
    follow({ ...sink, send: (...given) => sink.send(...given), wantsBodies: true });
    await started('a');
    await putAt(Date.now() + 86_400_000, 'to come');
    await putAt(Date.now() - 10_000, 'after it');
    await eventually('both', async () => ids().length === 2);
    expect(ids()).to.deep.equal(['to come', 'after it']);
  });

  it('get every row once in order after an outage, in which the rows wait in the ledger', async () => {
    const sent = { ...settings, url: address, batch_rows: 200 };
    const follower = follow(httpSink('a', sent, sentLine));
    await started('a');
    const { port } = server.address() as AddressInfo;
    await new Promise<void>((done) => {
      server.closeAllConnections();
      server.close(() => done());
    });
    const all = Array.from({ length: 2000 }, (_, i) => String(i).padStart(4, '0'));
    // What is read of the ledger while the receiver is away: the batch that is sent again, not what comes in.
    const reads: number[] = [];
    const changes = ledger.changes.bind(ledger);
    ledger.changes = async (after, limit) => {
      const page = await changes(after, limit);
      reads.push(page.rows.length);
      return page;
    };
    await put(...all.slice(0, 1000));
    await eventually('failures', async () => (follower.metrics()[2]?.value ?? 0) >= 20);
    await put(...all.slice(1000));
    await eventually('more failures', async () => (follower.metrics()[2]?.value ?? 0) >= 40);
    expect(Math.max(...reads)).to.be.at.most(200);
    expect(reads.filter((count) => count > 0)).to.have.length(1);
    expect(follower.metrics()[0]?.value).to.be.greaterThan(0);
    faults.push('refuse', 'cut');
    await new Promise<void>((done) => server.listen(port, '127.0.0.1', done));
    await eventually('all rows', async () => ids().length >= 2000);
    expect(ids()).to.deep.equal(all);
    await eventually('no lag', async () => follower.metrics()[0]?.value === 0);
  });

  it('get a batch again, under the same id, until they accept it', async () => {
    faults.push('refuse', 'cut', 'refuse');
    const seen: unknown[] = [];
    server.on('request', (request) => seen.push(request.headers['x-gateway-batch-id']));
    const follower = follow(httpSink('a', { ...settings, url: address }, sentLine));
    await started('a');
    await put('1', '2');
    await eventually('both rows', async () => ids().length === 2);
    expect(seen).to.have.length(4);
    expect(new Set(seen).size).to.equal(1);
    expect(follower.metrics()[2]?.value).to.equal(3);
  });

  it('go on where they stopped', async () => {
    const sink = httpSink('a', { ...settings, url: address }, sentLine);
    follow(sink);
    await started('a');
    const place = cursors.get('a');
    await put('1');
    await eventually(
      'the first, and its place',
      async () => ids().length === 1 && cursors.get('a') !== place,
    );
    stop.abort();
    await Promise.all(ended);
    await put('2', '3');
    stop = new AbortController();
    follow(sink);
    await eventually('the others', async () => ids().length === 3);
    expect(ids()).to.deep.equal(['1', '2', '3']);
  });

  it('in ClickHouse are one INSERT a batch, with a token against repetitions', async () => {
    follow(httpSink('c', { ...settings, type: 'clickhouse', url: `${address}/?database=logs` }, sentLine));
    await started('c');
    await put('1');
    await eventually('the row', async () => ids().length === 1);
    const { searchParams } = new URL(received[0]!.url, address);
    expect(searchParams.get('query')).to.equal('INSERT INTO gateway_logs FORMAT JSONEachRow');
    expect(searchParams.get('database')).to.equal('logs');
    expect(searchParams.get('insert_deduplication_token')).to.equal(
      received[0]!.headers['x-gateway-batch-id'],
    );
  });

  it('in S3 are an object a batch, signed, in a folder for each day', async () => {
    const own = ['AWS_ACCESS_KEY_ID', 'AWS_SECRET_ACCESS_KEY', 'AWS_REGION'] as const;
    const before = own.map((name) => process.env[name]);
    for (const [i, value] of ['AKIDEXAMPLE', 'secret', 'eu-west-1'].entries()) process.env[own[i]!] = value;
    try {
      follow(await s3Sink('s', { ...settings, type: 's3', url: 's3://bucket/logs/' }, sentLine, address));
      await started('s');
      await put('1', '2');
      await eventually('an object', async () => received.length === 1);
    } finally {
      for (const [i, name] of own.entries()) {
        if (before[i] === undefined) delete process.env[name];
        else process.env[name] = before[i];
      }
    }
    const [{ url, headers, body }] = received as [Received];
    const day = new Date().toISOString().slice(0, 10).replaceAll('-', '/');
    expect(url).to.match(new RegExp(`^/bucket/logs/${day}/[0-9a-f]{32}\\.jsonl\\.gz`));
    expect(headers['authorization']).to.match(
      /^AWS4-HMAC-SHA256 Credential=AKIDEXAMPLE\/\d+\/eu-west-1\/s3\//,
    );
    const lines = gunzipSync(body).toString().trimEnd().split('\n');
    expect(lines.map((line) => JSON.parse(line).id)).to.deep.equal(['1', '2']);
  });

  it('are checked before anything starts, and nothing of them is quoted', () => {
    const problems = (value: unknown): readonly string[] => logSinkProblems(JSON.stringify(value));
    const http = { type: 'http', url: 'https://logs.internal/in?x=1' };
    expect(problems([http, { type: 's3', url: 's3://bucket/prefix' }])).to.deep.equal([]);
    expect(logSinkProblems('secret-token')).to.have.length(1);
    expect(problems([{ type: 'kafka', url: 'x' }]).join()).to.include('[0].type: must be one of http');
    expect(problems([{ type: 's3', url: 'https://bucket' }]).join()).to.include('[0].url');
    expect(problems([{ ...http, heders: {} }]).join()).to.include('[0]: has a name that there is not');
    expect(problems([{ ...http, headers: { a: 'secret\nx' } }]).join())
      .to.include('[0].headers')
      .and.not.include('secret');
    expect(problems([http, http]).join()).to.include('the same name');
    expect(problems([{ ...http, url: 'https://user:pass@logs' }]).join()).to.include('[0].url');
  });
});
