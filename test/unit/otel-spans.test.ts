import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { expect } from 'chai';
import type { AttemptRecord } from '../../src/common/core/exchange.js';
import type { LedgerRow, Settlement } from '../../src/common/ledger/record.js';
import { otlpSink } from '../../src/control-plane/telemetry/otel/otlp-sink.js';
import { settlementOf } from '../fault/journal-records.js';

interface OtlpSpan {
  readonly traceId: string;
  readonly spanId: string;
  readonly parentSpanId?: string;
  readonly name: string;
  readonly kind: number;
  readonly startTimeUnixNano: string;
  readonly endTimeUnixNano: string;
  readonly attributes: readonly { readonly key: string; readonly value: Record<string, unknown> }[];
  readonly status: { readonly code?: number; readonly message?: string };
}

const rowOf = (id: string, change: Partial<Settlement> = {}): LedgerRow => ({
  ...settlementOf(id, change),
  ...{ state: 'settled', node: 'node' },
});

describe('spans for OpenTelemetry', () => {
  let server: Server;
  let endpoint: string;
  let status = 200;
  const received: {
    readonly url: string;
    readonly headers: Record<string, unknown>;
    readonly body: Buffer;
  }[] = [];

  before(async () => {
    server = createServer((request, response) => {
      const parts: Buffer[] = [];
      request.on('data', (part: Buffer) => parts.push(part));
      request.on('end', () => {
        received.push({ url: request.url ?? '', headers: request.headers, body: Buffer.concat(parts) });
        response.writeHead(status, { 'content-type': 'application/json' }).end('{}');
      });
    });
    await new Promise<void>((done) => server.listen(0, '127.0.0.1', done));
    endpoint = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  });
  after(() => {
    server.closeAllConnections();
    server.close();
  });
  beforeEach(() => {
    received.length = 0;
    status = 200;
  });

  const send = async (rows: readonly LedgerRow[], protocol: 'http/json' | 'http/protobuf'): Promise<void> => {
    const sink = await otlpSink({
      ...{ endpoint: `${endpoint}/`, protocol, headers: 'authorization=Bearer%20x,x-team=a' },
      ...{ serviceName: 'gw', resourceAttributes: 'deployment.environment=test', version: '1.2.3' },
    });
    const sent = rows.map((row) => ({ row, bodies: null }));
    await sink.send({ id: 'batch', rows: sent }, new AbortController().signal);
  };
  const spans = (): OtlpSpan[] => {
    const { resourceSpans } = JSON.parse(received[0]!.body.toString());
    return resourceSpans.flatMap((resource: { scopeSpans: { spans: OtlpSpan[] }[] }) =>
      resource.scopeSpans.flatMap((scope) => scope.spans),
    );
  };
  const attributesOf = ({ attributes }: OtlpSpan): Record<string, unknown> =>
    Object.fromEntries(attributes.map(({ key, value }) => [key, Object.values(value)[0]]));

  it('are one for the request and one for each call, with the conventions of generative AI', async () => {
    const traceId = '0af7651916cd43dd8448eb211c80319c';
    const [attempt] = settlementOf('r').attempts as [AttemptRecord];
    const failed = {
      ...attempt,
      ...{ provider: 'bedrock', status: 0, error: 'upstream_timeout', usage: null },
    };
    const answered = { ...attempt, startedAt: 200 };
    const row = rowOf('r', {
      ...{ trace: traceId, span: '00f067aa0ba902b7', parentSpan: 'b7ad6b7169203331', at: 1_700_000_000_000 },
      ...{ totalMs: 812.345, firstByteMs: 400, stream: true, attempts: [failed as AttemptRecord, answered] },
    });
    await send([row], 'http/json');
    const [{ url, headers }] = received as [(typeof received)[0]];
    expect(url).to.equal('/v1/traces');
    expect(headers).to.include({ authorization: 'Bearer x', 'x-team': 'a' });
    const [request, first, second] = spans() as [OtlpSpan, OtlpSpan, OtlpSpan];
    expect(request).to.include({
      traceId,
      spanId: '00f067aa0ba902b7',
      parentSpanId: 'b7ad6b7169203331',
      kind: 2,
    });
    expect(request.startTimeUnixNano).to.equal('1700000000000000000');
    expect(request.endTimeUnixNano).to.equal('1700000000812345000');
    expect([first.parentSpanId, second.parentSpanId]).to.deep.equal(['00f067aa0ba902b7', '00f067aa0ba902b7']);
    expect(first.status).to.include({ code: 2, message: 'upstream_timeout' });
    expect(second).to.include({ name: 'chat gpt-4o-mini', kind: 3 });
    expect(attributesOf(first)).to.include({
      'gen_ai.provider.name': 'aws.bedrock',
      'error.type': 'upstream_timeout',
    });
    expect(attributesOf(second)).to.include({
      ...{ 'gen_ai.operation.name': 'chat', 'gen_ai.provider.name': 'openai' },
      ...{ 'gen_ai.request.model': 'gpt-4o-mini', 'gen_ai.response.model': 'gpt-4o-mini-2024-07-18' },
      ...{ 'gen_ai.usage.input_tokens': row.usage.input, 'gen_ai.response.time_to_first_chunk': 0.2 },
    });
    const { resource } = JSON.parse(received[0]!.body.toString()).resourceSpans[0];
    expect(attributesOf(resource)).to.include({ 'service.name': 'gw', 'deployment.environment': 'test' });
  });

  it('are one for the look into the cache and one for each guardrail too, below the request', async () => {
    const runs = 'pg-pii before + 2 7; pg-tone after - 40 3';
    const row = rowOf('s', {
      ...{ at: 1_700_000_000_000, span: '00f067aa0ba902b7', cache: 'MISS', steps: [90, 9_500, 1_250, 0] },
      stages: { guardrails: { ms: 7, verdict: false, failed: 'pg-tone (default.contains)', runs } },
    });
    await send([row], 'http/json');
    const inner = spans().filter(({ kind }) => kind === 1);
    expect(
      inner.map(({ name, parentSpanId, startTimeUnixNano, endTimeUnixNano }) => [
        ...[name, parentSpanId],
        ...[startTimeUnixNano.slice(10), endTimeUnixNano.slice(10)],
      ]),
    ).to.deep.equal([
      ['cache lookup', '00f067aa0ba902b7', '009500000', '010750000'],
      ['guardrail pg-pii', '00f067aa0ba902b7', '002000000', '009000000'],
      ['guardrail pg-tone', '00f067aa0ba902b7', '040000000', '043000000'],
    ]);
    expect(new Set(spans().map(({ spanId }) => spanId)).size).to.equal(5);
    expect(attributesOf(inner[0]!)).to.deep.equal({ 'gateway.cache_status': 'MISS' });
    expect(attributesOf(inner[2]!)).to.deep.equal({
      ...{ 'gateway.guardrail.id': 'pg-tone', 'gateway.guardrail.phase': 'after' },
      'gateway.guardrail.verdict': false,
    });
    const again = spans();
    received.length = 0;
    await send([row], 'http/json');
    expect(spans()).to.deep.equal(again);
  });

  it('are not sent for what was only added to the log, nor where the caller does not sample the trace', async () => {
    const unsampled = `${'a'.repeat(32)}-00`;
    await send([{ ...rowOf('added'), node: null }, rowOf('u', { traceContext: unsampled })], 'http/json');
    expect(received).to.be.empty;
  });

  it('of requests with a trace id of another form stay together, and are the same when they are sent again', async () => {
    await send([rowOf('a', { trace: 'order 17' }), rowOf('b', { trace: 'order 17' })], 'http/json');
    const first = spans();
    expect(new Set(first.map(({ traceId }) => traceId)).size).to.equal(1);
    expect(new Set(first.map(({ spanId }) => spanId)).size).to.equal(first.length);
    expect(attributesOf(first[0]!)).to.include({ 'gateway.trace_id': 'order 17' });
    received.length = 0;
    await send([rowOf('a', { trace: 'order 17' }), rowOf('b', { trace: 'order 17' })], 'http/json');
    expect(spans().map(({ spanId }) => spanId)).to.deep.equal(first.map(({ spanId }) => spanId));
  });

  it('are sent as protobuf too, and a refusal does not quote what the collector answered', async () => {
    await send([rowOf('a')], 'http/protobuf');
    expect(received[0]!.headers['content-type']).to.equal('application/x-protobuf');
    expect(received[0]!.body.includes('gen_ai.request.model')).to.equal(true);
    status = 400;
    const refusal = await send([rowOf('a')], 'http/protobuf').catch((error: Error) => error);
    expect(refusal).to.be.an('error').with.property('message', '400');
  });
});
