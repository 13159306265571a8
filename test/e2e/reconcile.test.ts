import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { expect } from 'chai';
import { type SimulatedProvider, startSimulated } from '../../src/simulated/index.js';
import { headgateHere } from '../support/cli-bench.js';
import { run } from '../support/command.js';
import { examplesOf } from '../support/examples.js';
import { eventually, mainFile, type RunningGateway, startGateway } from '../support/gateway.js';

const header =
  'start_time,end_time,start_time_iso,end_time_iso,project_id,num_model_requests,user_id,api_key_id,model,batch,service_tier,input_tokens,output_tokens,input_cached_tokens';

describe('headgate reconcile', function () {
  this.timeout(30_000);
  let gateway: RunningGateway;
  let upstream: SimulatedProvider;
  let folder: string;
  const day = new Date().toISOString().slice(0, 10);
  const used = { input: 0, output: 0, cost: 0 };

  const command = (args: readonly string[]) => headgateHere(['reconcile', ...args], gateway.env, folder);
  const usage = (
    rows: readonly (readonly [key: string, model: string, input: number, output: number])[],
  ): string =>
    [
      header,
      ...rows.map(
        ([key, model, input, output]) =>
          `0,0,${day}T00:00:00+00:00,,proj_1,2,,${key},${model},False,default,${input},${output},0`,
      ),
    ].join('\n');

  before(async () => {
    folder = mkdtempSync(join(tmpdir(), 'headgate-reconcile-'));
    upstream = await startSimulated({ record: false });
    gateway = await startGateway();
    const { api } = gateway.admin();
    await api.integrations.createIntegration({
      name: 'Main',
      slug: 'openai-main',
      ai_provider_id: 'openai',
      key: 'sk-simulated',
      configurations: { custom_host: `${upstream.url}/v1` },
    });
    await api.integrations.updateIntegrationModels({
      slug: 'openai-main',
      allow_all_models: true,
      models: [],
    });
    await api.integrations.updateIntegrationWorkspaces({
      slug: 'openai-main',
      workspaces: [
        {
          id: gateway.workspaceId,
          enabled: true,
          create_default_provider: true,
          default_provider_slug: 'prod',
        },
      ],
    });
    for (const message of ['Hi', 'And again']) {
      const answer = await fetch(`${gateway.url}/v1/chat/completions`, {
        method: 'POST',
        headers: {
          authorization: `Bearer ${gateway.workspaceKey}`,
          'x-gateway-provider': '@prod',
          'content-type': 'application/json',
        },
        body: JSON.stringify({ model: 'gpt-4o-mini', messages: [{ role: 'user', content: message }] }),
      });
      expect(answer.status).to.equal(200);
      const json = (await answer.json()) as { usage: { prompt_tokens: number; completion_tokens: number } };
      used.input += json.usage.prompt_tokens;
      used.output += json.usage.completion_tokens;
    }
    await eventually('both rows', async () => {
      const { data } = await api.logs.listLogs({ limit: 10 });
      used.cost = data.reduce((sum, row) => sum + (row.cost ?? 0), 0);
      return data.length === 2 || undefined;
    });
  });
  after(async () => {
    await gateway?.stop();
    await upstream?.close();
    rmSync(folder, { recursive: true, force: true });
  });

  it('has an example that works as it is typed', async () => {
    const [{ text } = { text: '' }] = examplesOf('docs/reconciliation.md');
    writeFileSync(
      join(folder, 'completions_usage.csv'),
      usage([['key_8RkN1', 'gpt-4o-mini', used.input, used.output]]),
    );
    const typed = text.replaceAll('npx headgate', `"${process.execPath}" "${mainFile}"`);
    const { code, stdout, stderr } = await run('bash', ['-euo', 'pipefail', '-c', typed], {
      env: gateway.env,
      cwd: folder,
    });
    expect(code, stdout + stderr).to.equal(0);
    expect(stdout).to.include(`${day} to ${day}: 1 groups of a day, a key and a model, 0 with differences`);
  });

  it('names what differs and by how much, from a packed file too, and ends with 1', async () => {
    const rows = [
      ['key_8RkN1', 'gpt-4o-mini', used.input + 750, used.output],
      ['key_Zz9', 'gpt-4o', 4, 0],
    ] as const;
    writeFileSync(join(folder, 'usage.csv.gz'), gzipSync(usage(rows)));
    const given = ['--provider', 'openai', '-f', 'usage.csv.gz', '--key-map', 'key_8RkN1=prod'];
    const { code, stdout } = await command(given);
    expect(code, stdout).to.equal(1);
    expect(stdout)
      .to.include(`${day}  prod  gpt-4o-mini: input ${used.input} → ${used.input + 750} (+750)`)
      .and.include(`${day}  key_Zz9  gpt-4o: not in the ledger, input 0 → 4 (+4)`)
      .and.include('alarm: There are differences.');
    const json = JSON.parse((await command([...given, '--json', '--threshold', '99.9'])).stdout) as object;
    expect(json).to.deep.include({ alarm: false, token_difference: 754, groups: 2 });
  });

  it('compares costs to the last digit in the generic shape, and lines that the export lacks', async () => {
    const cost = used.cost.toFixed(12);
    const line = `{"date":"${day}","model":"gpt-4o-mini","key":"openai-main","input_tokens":${used.input},"output_tokens":${used.output},"cost_usd":"${cost}"}`;
    writeFileSync(join(folder, 'same.jsonl'), line);
    const same = await command(['--provider', 'generic', '-f', 'same.jsonl']);
    expect(same.code, same.stdout + same.stderr).to.equal(0);
    writeFileSync(join(folder, 'more.jsonl'), line.replace(cost, `${cost}1`));
    const more = await command(['--provider', 'generic', '-f', 'more.jsonl']);
    expect(more.code).to.equal(1);
    expect(more.stdout).to.include('(+0.0000000000001)');
    const tolerated = await command([
      '--provider',
      'generic',
      '-f',
      'more.jsonl',
      '--tolerance-usd',
      '0.000001',
    ]);
    expect(tolerated.code, tolerated.stdout).to.equal(0);
    writeFileSync(join(folder, 'none.csv'), 'date,model,key,input_tokens,output_tokens,cost_usd\n');
    const none = await command(['--provider', 'generic', '-f', 'none.csv', '--from', day, '--to', day]);
    expect(none.stdout).to.include('*  gpt-4o-mini: not in the export');
  });

  it('refuses a file that is no such export, and days that are none', async () => {
    writeFileSync(join(folder, 'wrong.csv'), 'a,b\n1,2\n');
    const wrong = await command(['--provider', 'anthropic', '-f', 'wrong.csv']);
    expect([wrong.code, wrong.stderr]).to.deep.equal([
      2,
      'headgate: wrong.csv: is no export of anthropic: it needs the columns usage_date_utc, usage_output_tokens; or usage_date_utc, cost_usd; or uncached_input_tokens; or amount, currency, cost_type.\n',
    ]);
    writeFileSync(join(folder, 'twice.csv'), 'date,model,cost_usd,cost_usd\n2026-10-07,m,1,2\n');
    const twice = await command(['--provider', 'generic', '-f', 'twice.csv']);
    expect([twice.code, twice.stderr]).to.deep.equal([
      2,
      'headgate: twice.csv: has two columns named cost_usd: remove one of them.\n',
    ]);
    const missing = await command(['--provider', 'openai', '-f', 'missing.csv']);
    expect([missing.code, missing.stderr]).to.deep.equal([
      2,
      'headgate: missing.csv cannot be read: there is no such file.\n',
    ]);
    const days = await command(['--provider', 'generic', '-f', 'none.csv', '--from', 'x', '--to', 'y']);
    expect([days.code, days.stderr]).to.deep.equal([
      2,
      'headgate: none.csv has no usage.\nheadgate: --from and --to must be days in their order, such as 2026-10-07.\n',
    ]);
  });

  it('refuses unknown providers, and suggests the nearest name', async () => {
    writeFileSync(join(folder, 'none.csv'), 'date,model,key,input_tokens,output_tokens,cost_usd\n');
    const given = ['-f', 'none.csv', '--from', day, '--to', day];
    const of = await command(['--provider', 'generic', ...given, '--of', 'openai', '--of', 'antropic']);
    expect([of.code, of.stderr.split('\n')[1]]).to.deep.equal([
      2,
      'headgate: --of is no provider that the gateway can call: "antropic": did you mean anthropic?',
    ]);
    const kind = await command(['--provider', 'openia', ...given]);
    expect([kind.code, kind.stderr]).to.deep.equal([
      2,
      'headgate: --provider must be one of openai, anthropic, generic; did you mean openai?\n',
    ]);
    const known = await command(['--provider', 'generic', ...given, '--of', 'open-ai']);
    expect(known.stdout).to.include('*  gpt-4o-mini: not in the export');
  });

  it('is a call of the administration too, for keys of the organisation alone', async () => {
    const call = async (key: string) => {
      const answer = await fetch(`${gateway.url}/v1/reconciliations`, {
        method: 'POST',
        headers: { 'x-gateway-api-key': key, 'content-type': 'application/json' },
        body: JSON.stringify({
          provider: 'openai',
          file: usage([['k', 'gpt-4o-mini', used.input, used.output + 1]]),
          key_map: { k: 'openai-main' },
        }),
      });
      return { status: answer.status, json: (await answer.json()) as Record<string, unknown> };
    };
    const { status, json } = await call(gateway.adminKey);
    expect(status, JSON.stringify(json)).to.equal(200);
    expect(json).to.deep.include({ object: 'reconciliation', alarm: true, token_difference: 1 });
    expect(json['differences']).to.have.nested.property('[0].output_tokens.difference', 1);
    expect((await call(gateway.workspaceKey)).status).to.equal(403);
  });

  it('compares providers that only logs of other gateways name', async () => {
    const logged = await fetch(`${gateway.url}/v1/logs`, {
      method: 'POST',
      headers: { 'x-gateway-api-key': gateway.workspaceKey, 'content-type': 'application/json' },
      body: JSON.stringify({
        request: {
          url: 'https://llm.example/v1/chat/completions',
          headers: { 'x-gateway-provider': 'house-llm' },
          body: { model: 'house-model', messages: [] },
        },
        response: {
          status: 200,
          body: { model: 'house-model', usage: { prompt_tokens: 3, completion_tokens: 4, total_tokens: 7 } },
        },
      }),
    });
    expect(logged.status, await logged.text()).to.equal(200);
    await eventually('the row', async () => {
      const given = ['--provider', 'generic', '-f', 'none.csv', '--from', day, '--to', day];
      const { code, stdout } = await command([...given, '--of', 'house-llm']);
      return (code === 1 && stdout.includes('house-model: not in the export')) || undefined;
    });
  });
});
