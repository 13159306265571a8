// lane: shared gateway
import { gzipSync } from 'node:zlib';
import { SpanKind } from '@opentelemetry/api';
import { OTLPTraceExporter as JsonExporter } from '@opentelemetry/exporter-trace-otlp-http';
import { OTLPTraceExporter as ProtobufExporter } from '@opentelemetry/exporter-trace-otlp-proto';
import { resourceFromAttributes } from '@opentelemetry/resources';
import {
  BasicTracerProvider,
  InMemorySpanExporter,
  SimpleSpanProcessor,
} from '@opentelemetry/sdk-trace-base';
import { expect } from 'chai';
import protobuf from 'protobufjs';
import { type SharedGateway, shareGateway } from '../support/shared-gateway.js';

// biome-ignore lint/suspicious/noExplicitAny: JSON of many shapes.
type Json = any;

const hex = (length: number): string =>
  Array.from({ length }, () => Math.floor(Math.random() * 16).toString(16)).join('');
const attribute = (key: string, value: unknown) => ({
  key,
  value: typeof value === 'number' ? { intValue: String(value) } : { stringValue: value },
});

describe('spans of an application over OTLP', () => {
  let gateway: SharedGateway;

  before(async function () {
    this.timeout(20_000);
    gateway = await shareGateway();
  });
  after(() => gateway?.stop());

  const url = (): string => `${gateway.url}/v1/otel/v1/traces`;
  async function post(body: unknown, headers: Record<string, string> = {}, key = gateway.workspaceKey) {
    const answer = await fetch(url(), {
      method: 'POST',
      headers: { 'x-gateway-api-key': key, 'content-type': 'application/json', ...headers },
      body: body instanceof Uint8Array || typeof body === 'string' ? (body as string) : JSON.stringify(body),
    });
    const bytes = Buffer.from(await answer.arrayBuffer());
    const type = answer.headers.get('content-type');
    return {
      status: answer.status,
      type,
      bytes,
      json: type === 'application/json' ? JSON.parse(bytes.toString()) : null,
    };
  }
  const get = async (path: string): Promise<Json> =>
    (await fetch(`${gateway.url}${path}`, { headers: { 'x-gateway-api-key': gateway.workspaceKey } })).json();
  const rowsOf = async (trace: string): Promise<Json[]> => (await get(`/v1/logs?trace_id=${trace}`)).data;

  const spanOf = (attributes: Record<string, unknown>, more: object = {}) => ({
    traceId: hex(32),
    spanId: hex(16),
    name: 'chat gpt-4o-mini',
    kind: 3,
    startTimeUnixNano: `${Date.now() - 5000}000000`,
    endTimeUnixNano: `${Date.now() - 4000}500000`,
    attributes: Object.entries(attributes).map(([key, value]) => attribute(key, value)),
    ...more,
  });
  const request = (...spans: object[]) => ({ resourceSpans: [{ scopeSpans: [{ spans }] }] });
  const chat = {
    ...{ 'gen_ai.operation.name': 'chat', 'gen_ai.provider.name': 'openai' },
    ...{
      'gen_ai.request.model': 'gpt-4o-mini',
      'gen_ai.usage.input_tokens': 1000,
      'gen_ai.usage.output_tokens': 100,
    },
  };

  for (const [name, Exporter] of [
    ['JSON', JsonExporter],
    ['protobuf', ProtobufExporter],
  ] as const)
    for (const compression of ['none', 'gzip'] as const)
      it(`become logs, from the official exporter in ${name}, compressed by ${compression}`, async () => {
        const kept = new InMemorySpanExporter();
        const tracer = new BasicTracerProvider({
          resource: resourceFromAttributes({ 'service.name': 'shop' }),
          spanProcessors: [new SimpleSpanProcessor(kept)],
        }).getTracer('app');
        const start = Date.now() - 2000;
        const parent = tracer.startSpan('GET /cart', { kind: SpanKind.SERVER });
        const call = tracer.startSpan('chat gpt-4o-mini', {
          kind: SpanKind.CLIENT,
          startTime: start,
          attributes: {
            ...chat,
            ...{
              'gen_ai.response.model': 'gpt-4o-mini-2024-07-18',
              'gen_ai.response.finish_reasons': ['stop'],
            },
            ...{ 'gen_ai.request.temperature': 0.5, team: 'search', 'user.id': 'ann' },
            'gen_ai.input.messages': JSON.stringify([
              { role: 'user', parts: [{ type: 'text', content: 'Hello' }] },
            ]),
            'gen_ai.output.messages': JSON.stringify([
              { role: 'assistant', parts: [{ type: 'text', content: 'Hi' }], finish_reason: 'stop' },
            ]),
          },
        });
        call.end(start + 500);
        parent.end();
        const exporter = new Exporter({
          url: url(),
          headers: { 'x-gateway-api-key': gateway.workspaceKey },
          compression: compression as never,
        });
        const spans = kept.getFinishedSpans();
        const { traceId, spanId } = call.spanContext();
        for (const _ of ['sent', 'sent again']) {
          const result = await new Promise<{ code: number; error?: Error }>((done) =>
            exporter.export(spans, done),
          );
          expect(result.code, result.error?.message).to.equal(0);
        }
        const rows = await rowsOf(traceId);
        expect(rows).to.have.length(1);
        const [row] = rows;
        expect(row).to.include({
          ...{ ai_org: 'openai', ai_model: 'gpt-4o-mini-2024-07-18', req_units: 1000, res_units: 100 },
          ...{ response_status_code: 200, trace_id: traceId, span_id: spanId, span_name: 'chat gpt-4o-mini' },
          ...{ mode: 'chat', response_time: 500 },
        });
        // gpt-4o-mini: 0.15 and 0.6 dollars for a million tokens.
        expect(row.cost).to.be.closeTo(0.00021, 1e-9);
        expect(row.metadata).to.deep.equal({ team: 'search', _user: 'ann', 'service.name': 'shop' });
        const log = await get(`/v1/logs/${row.id}`);
        expect(JSON.parse(log.request.body)).to.deep.equal({
          ...{ model: 'gpt-4o-mini', temperature: 0.5, messages: [{ role: 'user', content: 'Hello' }] },
        });
        expect(JSON.parse(log.response.body).choices).to.deep.equal([
          { index: 0, message: { role: 'assistant', content: 'Hi' }, finish_reason: 'stop' },
        ]);
      });

  it('are read in the names of older conventions and of other instrumentations', async () => {
    const older = spanOf({
      ...{
        'gen_ai.system': 'az.ai.openai',
        'gen_ai.request.model': 'gpt-4o',
        'gen_ai.usage.prompt_tokens': 7,
      },
      ...{
        'gen_ai.usage.completion_tokens': 3,
        'gen_ai.prompt.0.role': 'user',
        'gen_ai.prompt.0.content': 'Old',
      },
      ...{ 'gen_ai.completion.0.role': 'assistant', 'gen_ai.completion.0.content': 'New' },
      'traceloop.association.properties.team': 'ads',
    });
    const inference = spanOf({
      ...{
        'openinference.span.kind': 'LLM',
        'llm.model_name': 'claude-3-5-haiku-20241022',
        'llm.provider': 'anthropic',
      },
      ...{ 'llm.token_count.prompt': 20, 'llm.token_count.completion': 4, metadata: '{"team":"ml"}' },
      ...{ 'llm.input_messages.0.message.role': 'user', 'llm.input_messages.0.message.content': 'Hej' },
    });
    expect((await post(request(older, inference))).json).to.deep.equal({});
    const [first] = await rowsOf(older.traceId);
    expect(first).to.include({ ai_org: 'azure-openai', ai_model: 'gpt-4o', req_units: 7, res_units: 3 });
    expect(first.metadata).to.deep.equal({ team: 'ads' });
    const { request: asked, response } = await get(`/v1/logs/${first.id}`);
    expect(JSON.parse(asked.body).messages).to.deep.equal([{ role: 'user', content: 'Old' }]);
    expect(JSON.parse(response.body).choices[0].message).to.deep.equal({ role: 'assistant', content: 'New' });
    const [second] = await rowsOf(inference.traceId);
    expect(second).to.include({ ai_org: 'anthropic', req_units: 20, res_units: 4, mode: 'chat' });
    expect(second.cost).to.be.greaterThan(0);
    expect(second.metadata).to.deep.equal({ team: 'ml' });
  });

  it('that failed have the error, and those around calls of models no usage of their own', async () => {
    const failed = spanOf(
      { ...chat, 'error.type': 'RateLimitError' },
      { status: { code: 2, message: 'Slow down.' }, parentSpanId: 'b7ad6b7169203331' },
    );
    const agent = spanOf({ ...chat, 'gen_ai.operation.name': 'invoke_agent' }, { traceId: failed.traceId });
    expect((await post(request(failed, agent))).status).to.equal(200);
    const rows = await rowsOf(failed.traceId);
    const row = rows.find(({ span_id }) => span_id === failed.spanId);
    expect(row).to.include({ response_status_code: 500, is_success: false, error: 'RateLimitError' });
    expect(row).to.include({ error_message: 'Slow down.', parent_span_id: 'b7ad6b7169203331' });
    const around = rows.find(({ span_id }) => span_id === agent.spanId);
    expect(around).to.include({ req_units: 0, res_units: 0, cost: null });
  });

  it('that are about something else are ignored, and those that cannot be kept are counted', async () => {
    const other = spanOf({ 'http.request.method': 'GET' });
    const bad = spanOf(chat, { spanId: '12' });
    const late = spanOf(chat, { startTimeUnixNano: `${Date.now() + 3 * 86_400_000}000000` });
    const good = spanOf(chat);
    const { status, json } = await post(request(other, bad, late, good));
    expect(status).to.equal(200);
    expect(json.partialSuccess.rejectedSpans).to.equal('2');
    expect(json.partialSuccess.errorMessage).to.include('spanId');
    expect(await rowsOf(good.traceId)).to.have.length(1);
    expect(await rowsOf(other.traceId)).to.have.length(0);
    expect((await post(request(spanOf({ a: 'b' })))).json).to.deep.equal({});
  });

  it('are refused with the reason in the form of OTLP where they are no request', async () => {
    const cases: [unknown, RegExp][] = [
      ['{', /not JSON/],
      ['[]', /must be an object/],
      [{ resourceSpans: {} }, /resourceSpans.*must be a list/],
      [
        request(spanOf(chat, { attributes: [{ key: 5 }] })),
        /resourceSpans\[0\]\.scopeSpans\[0\]\.spans\[0\]\.attributes\[0\]\.key/,
      ],
      [Buffer.from([0x1f, 0x8b, 1, 2, 3]), /not valid gzip/],
    ];
    for (const [body, reason] of cases) {
      const { status, json } = await post(body);
      expect(status, String(reason)).to.equal(400);
      expect(json).to.include({ code: 3 });
      expect(json.message).to.match(reason);
    }
    const { status, type, bytes } = await post(Buffer.from('not protobuf'), {
      'content-type': 'application/x-protobuf',
    });
    expect([status, type]).to.deep.equal([400, 'application/x-protobuf']);
    const Status = new protobuf.Type('Status')
      .add(new protobuf.Field('code', 1, 'int32'))
      .add(new protobuf.Field('message', 2, 'string'));
    expect(Status.decode(bytes)).to.include({ code: 3 });
    expect((await post('', { 'content-type': 'text/plain' })).status).to.equal(415);
    expect((await post('x', { 'content-encoding': 'br' })).status).to.equal(415);
  });

  it('are bounded: a small body that becomes a large one is refused', async () => {
    const large = gzipSync(Buffer.alloc(64 * 1024 * 1024, ' '));
    expect((await post(large, { 'content-encoding': 'gzip' })).status).to.equal(413);
    const deep = `${'{"arrayValue":{"values":['.repeat(40)}{"intValue":1}${']}}'.repeat(40)}`;
    const span = { ...spanOf({}), attributes: [{ key: 'gen_ai.x', value: JSON.parse(deep) }] };
    expect((await post(request(span))).json.message).to.include('nested deeper');
  });

  it('are for keys of a workspace', async () => {
    const { status, json } = await post(request(spanOf(chat)), {}, gateway.adminKey);
    expect(status).to.equal(403);
    expect(json.code).to.equal(7);
    expect((await post(request(spanOf(chat)), {}, '')).status).to.equal(401);
  });
});
