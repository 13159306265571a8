import { expect } from 'chai';
import type { LedgerRow } from '../../src/common/ledger/record.js';
import { RequestMetrics } from '../../src/control-plane/telemetry/request-metrics.js';
import { metricsText } from '../../src/process/health/metrics-text.js';
import { isLong } from '../support/long-forms.js';

const rowOf = (change: Partial<LedgerRow>): LedgerRow =>
  ({
    ...{ id: 'id', at: 1_700_000_000_000, trace: 'trace', endpoint: 'chat', provider: 'openai', status: 200 },
    ...{ modelUsed: 'm', modelAsked: 'm', error: null, stream: false, cache: 'MISS', cost: 2e9 },
    ...{ totalMs: 30, upstreamMs: 29, firstByteMs: 12, attempts: [{ provider: 'openai', error: null }] },
    usage: { input: 5, output: 70, cached: 0, cacheWrite: 0, reasoning: 0, source: 'provider' },
    ...change,
  }) as LedgerRow;

const textOf = (rows: readonly LedgerRow[], isOpen = false): string => {
  const metrics = new RequestMetrics();
  metrics.count({ packed: null, rows });
  return metricsText(metrics.read(), isOpen);
};

describe('metrics of requests', () => {
  it('add up to what the rows have', () => {
    const failed = rowOf({
      ...{ status: 502, error: 'upstream_connect_failed', cost: null },
      attempts: [
        { provider: 'openai', error: 'upstream_timeout' },
        { provider: 'anthropic', error: 'upstream_connect_failed' },
      ] as unknown as LedgerRow['attempts'],
    });
    const text = textOf([rowOf({}), rowOf({ stream: true }), failed]);
    const requests = (statusClass: string): string =>
      `gateway_requests_total{route="chat",status_class="${statusClass}",provider="openai",model="m",cache="MISS"}`;
    expect(text)
      .to.include(`${requests('2xx')} 2\n`)
      .and.include(`${requests('5xx')} 1\n`);
    expect(text).to.include('gateway_cost_dollars_total{provider="openai",model="m"} 0.004\n');
    expect(text).to.include('gateway_tokens_total{provider="openai",model="m",type="output"} 210\n');
    expect(text).to.include('gateway_upstream_attempts_total{provider="openai",outcome="success"} 2\n');
    expect(text).to.include('{provider="anthropic",outcome="upstream_connect_failed"} 1\n');
    // 30 ms in all, of which the provider was waited for 29.
    expect(text).to.include('gateway_overhead_seconds_bucket{route="chat",le="0.0005"} 0\n');
    expect(text).to.include('gateway_overhead_seconds_bucket{route="chat",le="0.002"} 3\n');
    const call = 'gen_ai_operation_name="chat",gen_ai_provider_name="openai"';
    expect(text).to.include(`gen_ai_client_operation_time_to_first_chunk_seconds_count{${call}} 1\n`);
    expect(text).to.include(`gen_ai_client_token_usage_sum{${call},gen_ai_token_type="input"} 15\n`);
  });

  it('have short lines, however long the name of a model is', () => {
    const lines = textOf([rowOf({ modelUsed: 'm'.repeat(900_000) })]).split('\n');
    expect(Math.max(...lines.map(({ length }) => length))).to.be.below(400);
  });

  it('stay below 5,000 lines, whatever callers ask for', () => {
    const rows: LedgerRow[] = [];
    for (let i = 0; i < 20_000; i++) {
      const provider = `provider-${i % 90}`;
      const attempts = [{ provider, error: i % 3 === 0 ? `code_${i % 40}` : null }];
      rows.push(
        rowOf({
          ...{ provider, modelUsed: `model-${i}`, stream: i % 2 === 0, status: 100 * (1 + (i % 5)) },
          ...{ endpoint: ['chat', 'embeddings', 'passthrough'][i % 3]!, trace: `trace-${i}` },
          attempts: attempts as unknown as LedgerRow['attempts'],
          error: i % 3 === 0 ? 'upstream_timeout' : null,
        } as Partial<LedgerRow>),
      );
    }
    const text = textOf(rows);
    expect(text.trimEnd().split('\n').length).to.be.lessThan(5000);
    expect(text).to.include('model="other"');
    // Nothing is lost: the sum over all lines is the number of requests.
    const counted = [...text.matchAll(/^gateway_requests_total\{.*\} (\d+)$/gm)].map(([, n]) => Number(n));
    expect(counted.reduce((sum, n) => sum + n)).to.equal(20_000);
    expect(text).to.not.include('trace-');
  });

  it('stay below 5,000 lines with a million models, users and keys', () => {
    const metrics = new RequestMetrics();
    const row = { ...rowOf({}), modelUsed: '', user: '', key: '', trace: '' };
    const batch = { packed: null, rows: [row] };
    const count = isLong ? 1_000_000 : 100_000;
    for (let i = 0; i < count; i++) {
      row.modelUsed = row.user = row.key = row.trace = `name-${i}`;
      metrics.count(batch);
    }
    const text = metricsText(metrics.read(), true);
    expect(text.trimEnd().split('\n').length).to.be.lessThan(5000);
    const [, others] = /^gateway_requests_total\{.*model="other".*\} (\d+)$/m.exec(text) ?? [];
    expect(Number(others)).to.equal(count - 100);
  });

  it('name a request of each bucket where the format has exemplars', () => {
    expect(textOf([rowOf({ trace: 'a"b' })], true)).to.include(
      'gateway_request_duration_seconds_bucket{route="chat",status_class="2xx",le="0.04"} 1 # {trace_id="a\\"b"} 0.03 1700000000\n',
    );
    expect(textOf([rowOf({ trace: 'x'.repeat(128) })], true)).to.not.include('trace_id');
  });
});
