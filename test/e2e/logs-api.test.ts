// lane: shared gateway
import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { expect } from 'chai';
import type { SimulatedProvider } from '../../src/simulated/index.js';
import { examplesOf } from '../support/examples.js';
import { eventually, mainFile } from '../support/gateway.js';
import { addSimulated, type SharedGateway, shareGateway } from '../support/shared-gateway.js';

// biome-ignore lint/suspicious/noExplicitAny: JSON of many shapes.
type Json = any;

describe('logs and feedback over REST', () => {
  let gateway: SharedGateway;
  let provider: SimulatedProvider;
  let folder: string;

  before(async function () {
    this.timeout(20_000);
    gateway = await shareGateway();
    provider = await addSimulated(gateway);
    folder = mkdtempSync(join(tmpdir(), 'logs-api-'));
  });
  after(async () => {
    rmSync(folder, { recursive: true, force: true });
    await provider?.close();
    await gateway?.stop();
  });

  async function call(verb: string, path: string, body?: unknown, headers: Record<string, string> = {}) {
    const answer = await fetch(`${gateway.url}${path}`, {
      method: verb,
      headers: {
        'x-gateway-api-key': gateway.workspaceKey,
        'content-type': 'application/json',
        ...headers,
      },
      ...(body !== undefined && { body: JSON.stringify(body) }),
    });
    const text = await answer.text();
    const isJson = answer.headers.get('content-type')?.includes('json') === true;
    return { status: answer.status, json: (isJson ? JSON.parse(text) : text) as Json };
  }
  const get = async (path: string): Promise<Json> => (await call('GET', path)).json;
  const chat = (headers: Record<string, string>) =>
    call(
      'POST',
      '/v1/chat/completions',
      { model: '@simulated/gpt-4o', messages: [{ role: 'user', content: 'hello' }] },
      headers,
    );
  const rowsOf = (trace: string, count: number): Promise<Json> =>
    eventually('rows of the trace', async () => {
      const { data } = await get(`/v1/logs?trace_id=${trace}`);
      return data.length >= count ? data : null;
    });
  const logOf = async (trace: string): Promise<Json> => {
    const [row] = await rowsOf(trace, 1);
    return row;
  };

  it('accepts the query fields that name how a log is kept, and refuses others', async () => {
    await chat({ 'x-gateway-trace-id': 'path-format' });
    const { id, created_at: time } = (await rowsOf('path-format', 1))[0];
    for (const query of ['path_format=v1', `path_format=v2&created_at=${time}`, 'type=hooks'])
      expect((await get(`/v1/logs/${id}?${query}`)).id, query).to.equal(id);
    for (const query of ['path_format=v3', 'path_format=v2', 'created_at=noon', 'type=other', 'colour=red']) {
      const { status, json } = await call('GET', `/v1/logs/${id}?${query}`);
      expect([status, json.data?.errorCode], query).to.deep.equal([400, 'AB01']);
    }
  });

  it('a log has its headers, with credentials and named ones masked, and its feedback', async () => {
    const headers = {
      'x-gateway-trace-id': 'masked-1',
      'x-gateway-metadata': '{"team":"red"}',
      'x-gateway-sensitive-headers': 'x-patient',
      'x-patient': 'canary-ann',
      'x-ward': '7',
      cookie: 'canary-cookie',
    };
    expect((await chat(headers)).status).to.equal(200);
    const { id } = await logOf('masked-1');
    const given = await call('POST', '/v1/feedback', [
      { trace_id: 'masked-1', value: 5, weight: 7 },
      { trace_id: 'masked-1', value: -10, weight: 0.5, metadata: { by: 'ann' } },
    ]);
    expect(given.json.status).to.equal('success');
    expect(given.json.feedback_ids).to.have.length(2);
    const log: Json = await eventually('bodies', async () => {
      const found = await get(`/v1/logs/${id}`);
      return found.request.body === null ? null : found;
    });
    expect(log.request.body).to.include('hello');
    expect(JSON.stringify(log)).to.not.include('canary').and.not.include(gateway.workspaceKey);
    expect(log._id).to.equal(id);
    expect(log.request.headers).to.include({ 'x-patient': '***', 'x-ward': '7', cookie: '***' });
    expect(log.request.gatewayHeaders).to.include({ 'x-gateway-api-key': '***' });
    expect(log.response).to.include({ status: 200, responseTime: log.metrics.response_time });
    expect(log.metrics).to.include({
      is_success: true,
      trace_id: 'masked-1',
      workspace_slug: log.metrics.workspace_slug,
    });
    expect(log.metrics['metadata.key']).to.deep.equal(['team']);
    expect(log.feedbacks.map(({ value, weight, metadata }: Json) => [value, weight, metadata])).to.deep.equal(
      [
        [5, 1, {}],
        [-10, 0.5, { by: 'ann' }],
      ],
    );
  });

  const wholeLog = (id: string): Promise<Json> =>
    eventually('bodies', async () => {
      const found = await get(`/v1/logs/${id}`);
      return found.request.body === null ? null : found;
    });

  it('a log has what the provider was sent and answered, where that was converted or changed', async () => {
    await gateway.admin().providers.create({
      ...{ slug: 'claude', provider: 'anthropic', key: 'sk-ant-canary-4711' },
      base_url: `${provider.url}/v1`,
    });
    const config = JSON.stringify({
      ...{ provider: '@claude', override_params: { model: 'claude-sonnet-4-5', max_tokens: 20 } },
    });
    const body = { model: 'any', messages: [{ role: 'user', content: 'hello' }] };
    for (const stream of [false, true]) {
      const headers = { 'x-gateway-trace-id': `converted-${stream}`, 'x-gateway-config': config };
      const { status } = await call('POST', '/v1/chat/completions', { ...body, stream }, headers);
      expect(status).to.equal(200);
      const { id } = await logOf(`converted-${stream}`);
      const log = await wholeLog(id);
      expect(JSON.stringify(log)).to.not.include('canary');
      const { transformedRequest: sent, originalResponse: original, finalUntransformedRequest: final } = log;
      expect(sent).to.include({ url: `${provider.url}/v1/messages`, method: 'POST' });
      expect(sent.headers).to.include({ 'x-api-key': '***', 'anthropic-version': '2023-06-01' });
      expect(JSON.parse(sent.body)).to.include({ model: 'claude-sonnet-4-5', max_tokens: 20 });
      expect(original.status).to.equal(200);
      expect(original.headers).to.have.property('anthropic-organization-id');
      if (stream) expect(original.body).to.include('event: message_start');
      else expect(JSON.parse(original.body)).to.include({ type: 'message', role: 'assistant' });
      expect(JSON.parse(log.request.body).model).to.equal('any');
      expect(JSON.parse(final.body)).to.deep.equal({
        ...{ ...body, stream },
        ...{ model: 'claude-sonnet-4-5', max_tokens: 20 },
      });
      expect(log.response.headers).to.have.property('content-type');
      expect(log.response.headers).to.have.property('anthropic-organization-id');
    }
  });

  it('a log has them too where all was passed on as it was, and with an error of the provider', async () => {
    const headers = { 'x-gateway-trace-id': 'as-it-was', 'x-gateway-provider': '@simulated' };
    const plain = { model: 'gpt-4o', messages: [{ role: 'user', content: 'hello' }] };
    await call('POST', '/v1/chat/completions', plain, headers);
    const log = await wholeLog((await logOf('as-it-was')).id);
    expect(log.transformedRequest).to.include({ url: `${provider.url}/v1/chat/completions` });
    expect(log.transformedRequest.body).to.equal(log.request.body);
    expect(log.finalUntransformedRequest.body).to.equal(log.request.body);
    expect(log.originalResponse).to.include({ status: 200, body: log.response.body });
    await gateway.admin().providers.create({
      ...{ slug: 'locked', provider: 'anthropic', key: 'sk-invalid-4711' },
      base_url: `${provider.url}/v1`,
    });
    const refused = { ...plain, model: '@locked/claude-sonnet-4-5', max_tokens: 9 };
    await call('POST', '/v1/chat/completions', refused, { 'x-gateway-trace-id': 'an-error' });
    const failed = await wholeLog((await logOf('an-error')).id);
    expect(failed.response.status).to.equal(401);
    expect(failed.originalResponse.status).to.equal(401);
    expect(JSON.parse(failed.originalResponse.body)).to.include({ type: 'error' });
    expect(failed.transformedRequest.body).to.include('"max_tokens":9');
  });

  it('a log has the times of the steps', async () => {
    const config = '{"provider":"@simulated","cache":{"mode":"simple"}}';
    const headers = { 'x-gateway-trace-id': 'steps', 'x-gateway-config': config };
    await chat(headers);
    const row = await logOf('steps');
    const { request_parsing_time, pre_processing_time, cache_processing_time, response_parsing_time } =
      row.exact_times;
    const steps = { request_parsing_time, pre_processing_time, cache_processing_time, response_parsing_time };
    for (const [name, ms] of Object.entries(steps)) expect(ms, name).to.be.above(0).and.below(1000);
    const before = request_parsing_time + pre_processing_time + cache_processing_time;
    expect(before).to.be.closeTo(row.attempts[0].started_at_ms, 0.01);
  });

  it('times are whole milliseconds wherever a log is shown, with their fractions beside them', async () => {
    await chat({ 'x-gateway-trace-id': 'whole-times' });
    const row = await logOf('whole-times');
    const { response, metrics } = await get(`/v1/logs/${row.id}`);
    expect(Object.keys(row.exact_times)).to.include.members(['response_time', 'gateway_processing_time']);
    for (const [name, ms] of Object.entries(row.exact_times as Record<string, number>)) {
      expect(row[name], name).to.equal(Math.round(ms));
      expect(metrics[name], name).to.equal(Math.round(ms));
    }
    expect(row.exact_times.response_time).to.not.equal(row.response_time);
    expect(response.responseTime).to.equal(row.response_time);
    expect(response.response_time).to.equal(row.response_time);
    // A copy of the row that is imported keeps the fractions.
    const copy = { ...row, id: 'whole-times-copy', trace_id: 'whole-times-copy' };
    const { status, json } = await call(
      'POST',
      '/v1/logs/import',
      { lines: Buffer.from(JSON.stringify(copy)).toString('base64') },
      { 'x-gateway-api-key': gateway.adminKey },
    );
    expect(status, JSON.stringify(json)).to.equal(200);
    expect((await logOf('whole-times-copy')).exact_times).to.deep.equal(row.exact_times);
  });

  it('feedback counts at the first request of its trace, weighted', async () => {
    await chat({ 'x-gateway-trace-id': 'weighted' });
    await logOf('weighted');
    await chat({ 'x-gateway-trace-id': 'weighted' });
    await rowsOf('weighted', 2);
    const { json } = await call('POST', '/v1/feedback', { trace_id: 'weighted', value: 10 });
    await call('POST', '/v1/feedback', { trace_id: 'weighted', value: 1, weight: 0.5 });
    const found = async (min: number) =>
      (await get(`/v1/logs?trace_id=weighted&weighted_feedback_min=${min}&page_size=5`)).total;
    expect(await found(7)).to.equal(1);
    expect(await found(7.1)).to.equal(0);
    await call('PUT', `/v1/feedback/${json.feedback_ids[0]}`, { value: -2 });
    expect(await found(-1)).to.equal(1);
    expect(await found(0)).to.equal(0);
    expect((await call('PUT', '/v1/feedback/none', { value: 1 })).status).to.equal(404);
  });

  for (const [body, path] of [
    [{ value: 1 }, 'trace_id'],
    [{ trace_id: 't' }, 'value'],
    [{ trace_id: 't', value: 1.5 }, 'value'],
    [{ trace_id: 't', value: 11 }, 'value'],
    [{ trace_id: 't', value: '5' }, 'value'],
    [
      [
        { trace_id: 't', value: 1 },
        { trace_id: '', value: 1 },
      ],
      'feedbacks[1].trace_id',
    ],
    [[], 'feedbacks'],
  ] as const) {
    it(`feedback is refused with its path: ${JSON.stringify(body)}`, async () => {
      const { status, json } = await call('POST', '/v1/feedback', body);
      expect(status).to.equal(400);
      expect(json.data).to.include({ errorCode: 'AB01' });
      expect(json.data.message).to.include(path);
    });
  }

  it('requests that went another way are kept, with the usage and cost of their bodies', async () => {
    const custom = (trace: string, usage: object) => ({
      request: {
        url: 'https://api.openai.com/v1/chat/completions',
        headers: { Authorization: 'Bearer canary' },
        body: { model: 'gpt-4o', messages: [] },
      },
      response: {
        status: 200,
        body: { model: 'gpt-4o-2024-08-06', usage },
        response_time: 412,
      },
      metadata: { trace_id: trace, span_id: 's-1', team: 'blue' },
    });
    const one = await call(
      'POST',
      '/v1/logs',
      custom('custom-1', { prompt_tokens: 1000, completion_tokens: 10 }),
    );
    expect(one).to.deep.equal({ status: 200, json: 'ok' });
    const two = [custom('custom-2', { input_tokens: 5, output_tokens: 2 }), custom('custom-3', {})];
    expect((await call('POST', '/v1/logs', two)).json).to.equal('ok');
    const row = await logOf('custom-1');
    expect(row).to.include({
      ai_org: 'openai',
      ai_model: 'gpt-4o-2024-08-06',
      req_units: 1000,
      res_units: 10,
      response_time: 412,
      span_id: 's-1',
      is_success: true,
    });
    expect(row.cost).to.be.closeTo(0.0026, 1e-9);
    expect(row.metadata).to.deep.equal({ team: 'blue' });
    expect(await logOf('custom-2')).to.include({ req_units: 5, res_units: 2 });
    expect(await logOf('custom-3')).to.include({ usage_source: 'none', cost: null });
    const log = await get(`/v1/logs/${row.id}`);
    expect(JSON.parse(log.request.body)).to.deep.equal({ model: 'gpt-4o', messages: [] });
    expect(log.request.headers).to.deep.equal({ authorization: '***' });
    const wrong = await call('POST', '/v1/logs', [two[0], { request: { url: 'x', body: {} } }]);
    expect(wrong.status).to.equal(400);
    expect(wrong.json.data.message).to.include('logs[1].response');
    const many = Array.from({ length: 1001 }, () => two[0]);
    expect((await call('POST', '/v1/logs', many)).status).to.equal(400);
  });

  it('the page about logs has examples that work as they are typed', () => {
    const examples = examplesOf('docs/logs.md').filter(({ language }) => language === 'sh');
    expect(examples).to.have.length(5);
    for (const { text } of examples) {
      const typed = text
        .replaceAll('http://127.0.0.1:8787', gateway.url)
        .replaceAll('npx headgate', `${process.execPath} ${mainFile}`)
        .replace(/\bcurl /g, 'curl -sS --fail-with-body ');
      const env = {
        ...process.env,
        ...gateway.env,
        GATEWAY_KEY: gateway.workspaceKey,
        HEADGATE_ADMIN_KEY: gateway.adminKey,
      };
      const { status, stdout, stderr } = spawnSync('bash', ['-euo', 'pipefail', '-c', typed], {
        encoding: 'utf8',
        env,
      });
      expect(status, `${text}\n${stdout}${stderr}`).to.equal(0);
    }
  });

  it('pages have a total, in the order that is asked for', async () => {
    const path = '/v1/logs?metadata=%7B%22team%22%3A%22paged%22%7D';
    const units = [30, 10, 20];
    await call(
      'POST',
      '/v1/logs',
      units.map((prompt_tokens) => ({
        request: { url: 'https://x.example/', body: {} },
        response: { body: { usage: { prompt_tokens } } },
        metadata: { team: 'paged' },
      })),
    );
    const page = async (more: string) => {
      const { data, total } = await get(`${path}${more}`);
      return [data.map((row: Json) => row.total_units), total];
    };
    expect(await page('&page_size=2&order_by=total_units')).to.deep.equal([[30, 20], 3]);
    expect(await page('&page_size=2&current_page=1&order_by=total_units&order_by_type=desc')).to.deep.equal([
      [10],
      3,
    ]);
    expect(await page('&order_by=total_units&order_by_type=asc&limit=2')).to.deep.equal([[10, 20], null]);
    for (const wrong of [
      '&order_by=model',
      '&page_size=1001',
      '&current_page=-1',
      '&status=1',
      '&cost_min=-1',
    ])
      expect((await call('GET', path + wrong)).status, wrong).to.equal(400);
  });

  describe('headgate logs import', () => {
    const logs = (args: readonly string[], input?: Buffer) => {
      const at = ['--address', `127.0.0.1:${gateway.grpcPort}`, '--admin-key-file', join(folder, 'key')];
      const { status, stdout, stderr } = spawnSync(process.execPath, [mainFile, 'logs', ...args, ...at], {
        encoding: 'utf8',
        ...(input && { input }),
      });
      return { status, stdout, stderr };
    };
    const run = (file: string, input?: Buffer) => logs(['import', '-f', file], input);
    const line = (id: string, more: object = {}) =>
      JSON.stringify({
        id,
        created_at: '2026-05-01T00:00:00+02:00',
        workspace_id: gateway.workspaceId,
        ...more,
      });

    it('takes rows of a list back in, once, from a file, compressed or standard input', async () => {
      writeFileSync(join(folder, 'key'), gateway.adminKey);
      const [row] = (await get('/v1/logs?limit=1')).data;
      const lines = `${JSON.stringify({ ...row, id: 'again-1', trace_id: 'again' })}\n\n${line('again-2', { trace_id: 'again', cost: 0.25 })}`;
      writeFileSync(join(folder, 'rows.jsonl.gz'), gzipSync(lines));
      expect(run(join(folder, 'rows.jsonl.gz')).stdout).to.equal('2 imported, 0 skipped.\n');
      expect(run('-', Buffer.from(lines)).stdout).to.equal('0 imported, 2 skipped.\n');
      const { data } = await get('/v1/logs?trace_id=again&order_by=cost');
      expect(data).to.have.length(2);
      const [, again] = [...data].sort((a, b) => (a.id < b.id ? 1 : -1));
      expect({
        ...again,
        id: row.id,
        trace_id: row.trace_id,
        internal_trace_id: row.internal_trace_id,
      }).to.deep.equal({ ...row, decisions: [] });
      expect(data.find(({ id }: Json) => id === 'again-2')).to.include({
        cost: 0.25,
        created_at: '2026-04-30T22:00:00.000Z',
      });
    });

    it('takes what headgate logs --json prints', () => {
      writeFileSync(join(folder, 'key'), gateway.adminKey);
      const { stdout } = logs(['--limit', '2', '--json']);
      expect(run('-', Buffer.from(stdout)).stdout).to.equal('0 imported, 2 skipped.\n');
    });

    it('has a list beside it that is a table for people', () => {
      writeFileSync(join(folder, 'key'), gateway.adminKey);
      const lines = logs(['list', '--page-size', '2']).stdout.trimEnd().split('\n');
      expect(lines).to.have.length(3);
      expect(lines[0]).to.match(/^TIME +STATUS +MS /);
    });

    it('ends at a bad line, and names it with its path', () => {
      writeFileSync(join(folder, 'key'), gateway.adminKey);
      writeFileSync(
        join(folder, 'bad.jsonl'),
        `${line('a')}\n${line('b', { cost: 'much' })}\n${line('c')}\n`,
      );
      const { status, stderr } = run(join(folder, 'bad.jsonl'));
      expect(status, stderr).to.equal(1);
      expect(stderr).to.include('line 2: cost must be a number');
    });

    for (const [bad, message] of [
      [{ model: 'x' }, 'line 8: "model" is no field'],
      [{ workspace_id: 'nowhere' }, 'line 8: workspace_id'],
      [{ created_at: null }, 'line 8: created_at is required'],
      [{ created_at: '2999-01-01T00:00:00Z' }, 'line 8: created_at'],
      [{ attempts: [{ status: 'x' }] }, 'line 8: attempts[0] status'],
      [{ metadata: { a: 1 } }, 'line 8: metadata.a'],
      [{ cache_status: 'WARM' }, 'line 8: cache_status'],
    ] as const) {
      it(`refuses a line with ${JSON.stringify(bad)}`, async () => {
        const lines = Buffer.from(`${line('d')}\n${line('e', bad)}\n`);
        const refused = await gateway
          .organisation()
          .api.logs.importLogs({ lines, first_line: 7 })
          .catch((error: Error) => error.message);
        expect(refused).to.include(message);
        expect((await call('GET', '/v1/logs/d')).status).to.equal(404);
      });
    }
  });
});
