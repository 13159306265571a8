import { readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { expect } from 'chai';
import { eventually, type RunningGateway, startGateway } from '../support/gateway.js';

/** With Redis or PostgreSQL alone, or after the first run. */
const notOfAll = new Set([
  'gateway_redis_up',
  'gateway_store_up',
  'gateway_changes_behind_seconds',
  'gateway_schedule_runs_total',
  'gateway_plugin_memory_suspected_total',
]);

describe('metrics', () => {
  let gateway: RunningGateway;
  const lines: string[] = [];
  const sink = createServer((request, response) => {
    request.setEncoding('utf8').on('data', (text: string) => lines.push(...text.trim().split('\n')));
    request.on('end', () => response.end());
  });

  before(async function () {
    this.timeout(20_000);
    await new Promise<void>((done) => sink.listen(0, '127.0.0.1', done));
    const { port } = sink.address() as AddressInfo;
    const sinks = [{ type: 'http', url: `http://127.0.0.1:${port}`, bodies: true, batch_ms: 100 }];
    gateway = await startGateway({
      env: {
        ...{ HEADGATE_SIMULATED: 'true', HEADGATE_LOG_SINKS: JSON.stringify(sinks) },
        HEADGATE_SCHEDULES: 'log-sinks=1',
      },
    });
  });

  after(async () => {
    await gateway?.stop();
    sink.close();
  });

  const metrics = async (): Promise<string> => (await fetch(`${gateway.opsUrl}/metrics`)).text();
  const ask = (): Promise<Response> =>
    fetch(`${gateway.url}/v1/chat/completions`, {
      method: 'POST',
      headers: {
        'content-type': 'application/json',
        'x-gateway-api-key': gateway.workspaceKey,
        'x-gateway-provider': '@simulated',
      },
      body: JSON.stringify({ model: 'gpt-4o-mini', messages: [{ role: 'user', content: 'Hello' }] }),
    });

  it('have a type line before each name, and each line once', async () => {
    const lines = (await metrics()).trimEnd().split('\n');
    const typed = new Set<string>();
    for (const line of lines) {
      if (line.startsWith('# HELP ')) continue;
      const [, type, kind] = /^# TYPE (\w+) (gauge|counter|histogram)$/.exec(line) ?? [];
      if (type !== undefined) {
        if (kind === 'histogram') for (const end of ['bucket', 'sum', 'count']) typed.add(`${type}_${end}`);
        expect(typed.has(type), line).to.equal(false);
        typed.add(type);
      } else {
        expect(typed.has(/^\w+/.exec(line)?.[0] ?? ''), line).to.equal(true);
        expect(line).to.match(/^\w+(\{(\w+="[^"]*",?)+\})? [\d.]+$/);
      }
    }
    expect(new Set(lines).size).to.equal(lines.length);
  });

  it('have every name of docs/telemetry.md and of the stages from the start, with its help', async () => {
    const text = await metrics();
    const page = readFileSync('docs/telemetry.md', 'utf8');
    const table = page.slice(page.indexOf('| metric |'), page.indexOf('Each stage has metrics'));
    const documented = [...table.matchAll(/`((?:gateway|gen_ai)_[a-z_]+)`/g)].map(([, name]) => name!);
    const stages = [...readFileSync('docs/stages.md', 'utf8').matchAll(/^\| `(gateway_[a-z_]+)` \|/gm)];
    const names = [...documented, ...stages.map(([, name]) => name!)];
    expect(names).to.include.members(['gateway_rate_limited_total', 'gateway_guardrail_verdicts_total']);
    // Labels of the second column.
    const missing = names.filter(
      (name) => !text.includes(`# TYPE ${name} `) && !/^gen_ai_(operation|provider)_name$/.test(name),
    );
    expect(missing.filter((name) => !notOfAll.has(name))).to.deep.equal([]);
  });

  it('count the bodies that the log had to drop', async () => {
    const dropped = async (kind: string): Promise<number> =>
      Number(
        new RegExp(`^gateway_log_dropped_total\\{worker="0",kind="${kind}"\\} (\\d+)$`, 'm').exec(
          await metrics(),
        )?.[1],
      );
    expect(await metrics()).to.include('# TYPE gateway_log_dropped_total counter');
    // A worker reports its counts once a second.
    for (const kind of ['record', 'body'])
      await eventually(`a count of ${kind}`, async () => !Number.isNaN(await dropped(kind)));
    expect([await dropped('record'), await dropped('body')]).to.deep.equal([0, 0]);
    // The worker's open journal goes on; a file for bodies, which it opens for the first of them, it cannot make.
    const journal = join(gateway.dataDir, 'journal');
    renameSync(journal, `${journal}.aside`);
    writeFileSync(journal, '');
    for (let i = 0; i < 3; i++) expect((await ask()).status).to.equal(200);
    await eventually('three bodies counted', async () => (await dropped('body')) === 3);
    expect(await dropped('record')).to.equal(0);
    rmSync(journal);
    renameSync(`${journal}.aside`, journal);
  });

  it('count requests, with their tokens, cost and durations', async () => {
    const labels = 'route="chat",status_class="2xx",provider="openai",model="gpt-4o-mini",cache="DISABLED"';
    await eventually('three requests counted', async () =>
      (await metrics()).includes(`gateway_requests_total{${labels}} 3`),
    );
    const text = await metrics();
    expect(text).to.include('gateway_upstream_attempts_total{provider="openai",outcome="success"} 3');
    expect(text).to.match(/gateway_tokens_total\{provider="openai",model="gpt-4o-mini",type="input"\} [1-9]/);
    expect(text).to.match(/gateway_cost_dollars_total\{provider="openai",model="gpt-4o-mini"\} 0\.0000/);
    expect(text).to.include('gateway_request_duration_seconds_count{route="chat",status_class="2xx"} 3');
    expect(text).to.include('gateway_overhead_seconds_bucket{route="chat",le="+Inf"} 3');
    expect(text).to.include(
      'gen_ai_client_operation_duration_seconds_count{gen_ai_operation_name="chat",gen_ai_provider_name="openai"} 3',
    );
    expect(text).to.match(/^gateway_build_info\{version="[\d.]+",node="[\d.]+"\} 1$/m);
  });

  it('have exemplars in the OpenMetrics format alone', async () => {
    const accept = { accept: 'application/openmetrics-text; version=1.0.0' };
    const answer = await fetch(`${gateway.opsUrl}/metrics`, { headers: accept });
    expect(answer.headers.get('content-type')).to.match(/^application\/openmetrics-text; version=1\.0\.0/);
    const text = await answer.text();
    expect(text).to.match(
      /^gateway_request_duration_seconds_bucket\{.+\} \d+ # \{trace_id="[\w-]+"\} [\d.e-]+ \d+(\.\d+)?$/m,
    );
    expect(text).to.match(
      /^# TYPE gateway_requests counter\ngateway_requests_total\{|^# HELP gateway_requests /m,
    );
    expect(text.endsWith('# EOF\n')).to.equal(true);
    expect(await metrics()).to.not.include('trace_id');
  });

  it('show a log sink that got every row, with its bodies', async () => {
    await ask();
    // Of the first requests the bodies were dropped.
    const found = await eventually('a row with bodies', async () => {
      const rows = lines.map((line) => JSON.parse(line));
      return rows.find((row) => row.request_body !== undefined) ?? false;
    });
    expect(found).to.include({ ai_model: 'gpt-4o-mini', response_status_code: 200, state: 'settled' });
    expect(found.created_at).to.match(/^\d{4}-\d\d-\d\dT/);
    expect(found.request_body).to.include('Hello');
    await eventually('a count', async () =>
      /^gateway_log_sink_rows_total\{sink="http-127.0.0.1-\d+"\} [1-9]/m.test(await metrics()),
    );
  });
});
