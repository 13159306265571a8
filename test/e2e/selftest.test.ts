import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'chai';
import { type SimulatedProvider, startSimulated } from '../../src/simulated/index.js';
import { headgateHere } from '../support/cli-bench.js';
import { headgate } from '../support/command.js';
import { eventually, type RunningGateway, startGateway } from '../support/gateway.js';

interface Told {
  readonly ok: boolean;
  readonly cells: readonly { provider: string; check: string; result: string; reason: string | null }[];
}

describe('headgate selftest', () => {
  it('without arguments tries every format, simulated, and leaves no file', async function () {
    this.timeout(60_000);
    const { code, stdout, stderr } = await headgate({ HEADGATE_DATA_DIR: '/nonexistent' }, ['selftest']);
    expect(code, stdout + stderr).to.equal(0);
    const lines = stdout.split('\n');
    expect(lines[0]).to.match(
      /^PROVIDER +CHAT +STREAM +TOOLS +IMAGE +JSON +EMBEDDINGS +RERANK +RESPONSES +MESSAGES +GEMINI$/,
    );
    const tested = [
      'openai',
      'azure-openai',
      'azure-ai',
      'anthropic',
      'google',
      'vertex-ai',
      'bedrock',
      'cohere',
    ];
    for (const name of tested)
      expect(lines.find((line) => line.startsWith(`@${name} `))).to.match(
        /( +ok){5} +(ok|–) +(ok|–)( +ok){3} *$/,
      );
    expect(lines.find((line) => line.startsWith('@cohere '))).to.match(/( +ok){10} *$/);
    const progress = stderr.trim().split('\n');
    expect(progress[0]).to.match(/^\[1\/100\] @openai chat: ok, \d+ ms$/);
    expect(progress.at(-1)).to.match(/^\[100\/100\] /);
    expect(stdout).to.include('Everything that providers have works.');
  });

  describe('of providers of a running gateway', () => {
    let gateway: RunningGateway;
    let upstream: SimulatedProvider;

    before(async function () {
      this.timeout(30_000);
      [gateway, upstream] = await Promise.all([startGateway(), startSimulated()]);
      const base_url = `${upstream.url}/v1`;
      const { providers } = gateway.admin();
      await providers.create({ slug: 'mine', provider: 'openai', key: 'sk-x', base_url });
      await providers.create({ slug: 'claude', provider: 'anthropic', key: 'sk-x', base_url });
      await providers.create({
        slug: 'ranks',
        provider: 'cohere',
        key: 'sk-x',
        base_url: `${upstream.url}/v2`,
      });
      await providers.create({ slug: 'wrong', provider: 'openai', key: 'sk-invalid', base_url });
    });
    after(async () => {
      await gateway?.stop();
      await upstream?.close();
    });

    const selftest = async (...args: string[]): Promise<[number | null, Told]> => {
      const { code, stdout, stderr } = await headgateHere(['selftest', '--json', ...args], gateway.env);
      return [code, JSON.parse(stdout || `{"told":${JSON.stringify(stderr)}}`) as Told];
    };
    const results = ({ cells }: Told, provider: string): string[] =>
      cells.filter((cell) => cell.provider === provider).map(({ result }) => result);

    it('asks each for all capabilities, and marks those that it lacks', async () => {
      const [code, told] = await selftest(
        ...['--provider', '@mine/gpt-4o', 'claude/claude-sonnet-4-5'],
        ...['--embedding-model', 'text-embedding-3-small'],
      );
      expect(code, JSON.stringify(told)).to.equal(0);
      const chats = ['pass', 'pass', 'pass', 'pass', 'pass'];
      const formats = ['pass', 'pass', 'pass'];
      expect(results(told, '@mine')).to.deep.equal([...chats, 'pass', 'none', ...formats]);
      expect(results(told, '@claude')).to.deep.equal([...chats, 'none', 'none', ...formats]);
    });

    it('fails with the provider’s own reason in each cell', async () => {
      const [code, told] = await selftest('--provider', 'wrong', '--model', 'gpt-4o');
      expect(code).to.equal(1);
      expect(told.ok).to.equal(false);
      const failed = ['fail', 'fail', 'fail', 'fail', 'fail'];
      expect(results(told, '@wrong')).to.deep.equal([...failed, 'none', 'none', 'fail', 'fail', 'fail']);
      expect(told.cells[0]?.reason).to.include('401').and.include('Incorrect API key');
    });

    it('notices an answer that is cut off or is not what was asked for', async () => {
      upstream.fault('/v1/chat/completions', 'eof-mid-stream');
      const [code, told] = await selftest('--provider', '@mine/gpt-4o');
      upstream.reset();
      expect(code).to.equal(1);
      expect(told.cells.find(({ check }) => check === 'stream')?.result).to.equal('fail');
    });

    it('reranks where it is given a model for it', async () => {
      const [code, told] = await selftest(
        ...['--provider', '@ranks/command-a-03-2025', '--rerank-model', 'rerank-v3.5'],
      );
      expect(code, JSON.stringify(told)).to.equal(0);
      expect(told.cells.find(({ check }) => check === 'rerank')?.result).to.equal('pass');
    });

    it('stops at a slug that the gateway does not have, before any call, and suggests the nearest', async () => {
      const { code, stdout, stderr } = await headgateHere(
        ['selftest', '--provider', 'mine/gpt-4o', '@cluade/claude-sonnet-4-5'],
        gateway.env,
      );
      expect([code, stdout]).to.deep.equal([3, '']);
      expect(stderr).to.include('no provider @cluade').and.include('Did you mean @claude?');
      expect(stderr).to.not.include('@mine chat');
      const far = await headgateHere(['selftest', '--provider', 'something-else/x'], gateway.env);
      expect(far.code).to.equal(3);
      expect(far.stderr).to.include('There are: ').and.include('@mine');
    });

    it('stops at an unknown slug at its first call, with a key that may not list providers', async () => {
      const { key } = await gateway.admin().api.apiKeys.createApiKey({
        type: 'workspace',
        sub_type: 'service',
        name: 'calls alone',
        workspace_id: gateway.workspaceId,
        scopes: ['completions.write'],
      });
      const file = join(gateway.dataDir, 'key-of-calls');
      writeFileSync(file, key, { mode: 0o600 });
      const { code, stdout, stderr } = await headgateHere(
        ['selftest', '--provider', 'nothing/gpt-4o', '--key-file', file],
        gateway.env,
      );
      expect([code, stdout]).to.deep.equal([3, '']);
      expect(stderr).to.include('no provider @nothing');
    });

    it('marks its rows in the log as tests', async () => {
      await selftest('--provider', '@claude/claude-sonnet-4-5');
      const rows = await eventually('rows of the log', async () => {
        const { data } = await gateway.admin().logs.list({ limit: 1000 });
        return data.length > 0 && data;
      });
      for (const { metadata } of rows) expect(metadata).to.deep.include({ _selftest: 'true' });
    });

    it('reports what is missing', async () => {
      const { code, stderr } = await headgateHere(['selftest', '--provider', 'mine'], gateway.env);
      expect(code).to.equal(2);
      expect(stderr).to.include('--model');
    });
  });
});
