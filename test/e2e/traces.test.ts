import { createServer, type IncomingHttpHeaders } from 'node:http';
import type { AddressInfo } from 'node:net';
import { expect } from 'chai';
import { eventually, type RunningGateway, startGateway } from '../support/gateway.js';
import { type SharedGateway, shareGateway } from '../support/shared-gateway.js';

interface Span {
  readonly traceId: string;
  readonly spanId: string;
  readonly parentSpanId?: string;
  readonly kind: number;
}

/** A provider of OpenAI's format that keeps the headers of its calls. The first calls get the statuses that are listed. */
function provider() {
  const calls: IncomingHttpHeaders[] = [];
  const statuses: number[] = [];
  const server = createServer((request, response) => {
    calls.push(request.headers);
    request.resume().on('end', () => {
      const body = {
        ...{ id: 'c', object: 'chat.completion', created: 1, model: 'gpt-4o-mini' },
        choices: [{ index: 0, message: { role: 'assistant', content: 'Hi' }, finish_reason: 'stop' }],
        usage: { prompt_tokens: 1, completion_tokens: 1, total_tokens: 2 },
      };
      response.writeHead(statuses.shift() ?? 200, { 'content-type': 'application/json' });
      response.end(JSON.stringify(body));
    });
  });
  return { calls, statuses, server };
}

const listen = async (server: ReturnType<typeof createServer>): Promise<string> => {
  await new Promise<void>((done) => server.listen(0, '127.0.0.1', done));
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
};

const traceId = '0af7651916cd43dd8448eb211c80319c';
const callers = `00-${traceId}-b7ad6b7169203331-01`;
const parts = (header: unknown): string[] => String(header).split('-');

describe('traces', () => {
  const upstream = provider();
  let base: string;

  before(async () => {
    base = `${await listen(upstream.server)}/v1`;
  });
  after(() => upstream.server.close());
  beforeEach(() => {
    upstream.calls.length = 0;
    upstream.statuses.length = 0;
  });

  const ask = (
    { url, workspaceKey }: Pick<RunningGateway, 'url' | 'workspaceKey'>,
    headers: Record<string, string>,
    path = 'chat/completions',
  ): Promise<Response> =>
    fetch(`${url}/v1/${path}`, {
      method: 'POST',
      headers: {
        ...{ 'content-type': 'application/json', 'x-gateway-api-key': workspaceKey },
        ...{ 'x-gateway-provider': '@traced', ...headers },
      },
      body: JSON.stringify({ model: 'gpt-4o-mini', messages: [{ role: 'user', content: 'Hello' }] }),
    });

  describe('without an exporter', () => {
    let gateway: SharedGateway;

    before(async function () {
      this.timeout(20_000);
      gateway = await shareGateway();
      const { api } = gateway.admin();
      const own = { provider: 'openai', key: 'sk-x', custom_host: base };
      await api.providers.createProvider({ ...own, slug: 'traced' });
      await api.providers.createProvider({ ...own, slug: 'untraced', send_trace_context: false });
      await gateway.organisation().api.integrations.createIntegration({
        ...{ slug: 'no-traces', name: 'No traces', ai_provider_id: 'openai', key: 'sk-x' },
        configurations: { custom_host: base, send_trace_context: false },
      });
      await gateway.organisation().api.integrations.updateIntegrationWorkspaces({
        ...{ slug: 'no-traces', workspaces: [{ id: gateway.workspaceId, enabled: true }] },
      });
    });
    after(() => gateway?.stop());

    it('are continued to the provider where the caller has one, each call as a span of its own', async () => {
      const state = 'congo=t61rcWkgMzE,rojo=00f067aa0ba902b7';
      for (let i = 0; i < 3; i++) await ask(gateway, { traceparent: callers, tracestate: state });
      expect(upstream.calls.map(({ tracestate }) => tracestate)).to.deep.equal([state, state, state]);
      const sent = upstream.calls.map(({ traceparent }) => parts(traceparent));
      for (const [version, trace, span, flags] of sent) {
        expect([version, trace, flags]).to.deep.equal(['00', traceId, '01']);
        expect(span)
          .to.match(/^[0-9a-f]{16}$/)
          .and.not.equal('b7ad6b7169203331');
      }
      expect(new Set(sent.map(([, , span]) => span)).size).to.equal(3);
    });

    it('keep the trace of the caller also under a trace id of its own, and whether it is sampled', async () => {
      const unsampled = callers.replace(/01$/, '00');
      await ask(gateway, { traceparent: unsampled, 'x-gateway-trace-id': 'order-17' });
      const [, trace, , flags] = parts(upstream.calls[0]!['traceparent']);
      expect([trace, flags]).to.deep.equal([traceId, '00']);
    });

    it('are not begun, and what is no traceparent is not sent', async () => {
      await ask(gateway, {});
      await ask(gateway, { traceparent: 'broken', tracestate: 'a=b', baggage: 'user=1' });
      await ask(gateway, { traceparent: 'broken', tracestate: 'a=b', baggage: 'user=1' }, 'unknown/path');
      expect(upstream.calls).to.have.length(3);
      for (const call of upstream.calls)
        expect(call).to.not.have.any.keys('traceparent', 'tracestate', 'baggage');
    });

    it('are continued by what is passed through', async () => {
      await ask(gateway, { traceparent: callers, baggage: 'user=1' }, 'unknown/path');
      const [call] = upstream.calls as [IncomingHttpHeaders];
      expect(parts(call['traceparent'])[1]).to.equal(traceId);
      expect(call['traceparent']).to.not.equal(callers);
      expect(call).to.not.have.property('baggage');
    });

    it('are not sent to a provider whose setting turns that off, be it its own or its integration’s', async () => {
      const forwarded = { traceparent: callers, 'x-gateway-forward-headers': 'traceparent,tracestate' };
      for (const slug of ['@untraced', '@no-traces'])
        for (const headers of [{ traceparent: callers }, forwarded])
          expect((await ask(gateway, { ...headers, 'x-gateway-provider': slug })).status).to.equal(200);
      expect(upstream.calls).to.have.length(4);
      for (const call of upstream.calls) expect(call).to.not.have.any.keys('traceparent', 'tracestate');
    });

    it('show the setting of a provider, and take it back', async () => {
      const { api } = gateway.admin();
      await api.providers.updateProvider({ slug: 'untraced', send_trace_context: true });
      await ask(gateway, { traceparent: callers, 'x-gateway-provider': '@untraced' });
      expect(upstream.calls[0]).to.have.property('traceparent');
      await api.providers.updateProvider({ slug: 'untraced', send_trace_context: false });
    });
  });

  describe('with an exporter', () => {
    let gateway: RunningGateway;
    const spans: Span[] = [];
    const collector = createServer((request, response) => {
      const pieces: Buffer[] = [];
      request.on('data', (piece: Buffer) => pieces.push(piece));
      request.on('end', () => {
        const { resourceSpans } = JSON.parse(Buffer.concat(pieces).toString());
        for (const { scopeSpans } of resourceSpans)
          for (const scope of scopeSpans) spans.push(...scope.spans);
        response.writeHead(200, { 'content-type': 'application/json' }).end('{}');
      });
    });

    before(async function () {
      this.timeout(20_000);
      const endpoint = await listen(collector);
      gateway = await startGateway({
        env: {
          ...{ OTEL_EXPORTER_OTLP_ENDPOINT: endpoint, OTEL_EXPORTER_OTLP_PROTOCOL: 'http/json' },
          HEADGATE_SCHEDULES: 'log-sinks=1',
        },
      });
      const own = { workspace_id: gateway.workspaceId, provider: 'openai', key: 'sk-x', custom_host: base };
      await gateway.admin().api.providers.createProvider({ ...own, slug: 'traced' });
    });
    after(async () => {
      await gateway?.stop();
      collector.close();
    });

    const spanOf = async (id: string): Promise<Span> => {
      await eventually('the span is exported', async () => spans.some(({ spanId }) => spanId === id));
      return spans.find(({ spanId }) => spanId === id)!;
    };

    it('have the span that the provider was sent, for every attempt', async () => {
      upstream.statuses.push(500);
      const config = JSON.stringify({ provider: '@traced', retry: { attempts: 1 } });
      await ask(gateway, { traceparent: callers, 'x-gateway-config': config });
      expect(upstream.calls).to.have.length(2);
      const ids = upstream.calls.map(({ traceparent }) => parts(traceparent)[2]!);
      const [first, second] = [await spanOf(ids[0]!), await spanOf(ids[1]!)];
      expect([first.kind, second.kind]).to.deep.equal([3, 3]);
      expect([first.traceId, second.traceId]).to.deep.equal([traceId, traceId]);
      const server = await spanOf(first.parentSpanId!);
      expect(server).to.include({ kind: 2, parentSpanId: 'b7ad6b7169203331' });
      expect(second.parentSpanId).to.equal(server.spanId);
    });

    it('are begun by the gateway where the caller has none', async () => {
      await ask(gateway, {});
      await ask(gateway, { 'x-gateway-trace-id': 'order-17' });
      for (const call of upstream.calls) {
        const [, trace, span, flags] = parts(call['traceparent']);
        expect(flags).to.equal('01');
        expect((await spanOf(span!)).traceId).to.equal(trace);
      }
    });

    it('that the caller does not sample are not exported', async () => {
      const unsampled = '00-1af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-00';
      await ask(gateway, { traceparent: unsampled });
      await ask(gateway, {});
      await spanOf(parts(upstream.calls[1]!['traceparent'])[2]!);
      expect(spans.map(({ traceId: id }) => id)).to.not.include(unsampled.slice(3, 35));
    });
  });
});
