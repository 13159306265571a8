import { expect } from 'chai';
import { headgateHere } from '../support/cli-bench.js';
import { headgate } from '../support/command.js';
import { type RunningGateway, startGateway } from '../support/gateway.js';
import { type SimulatedProvider, startSimulated } from '../support/simulated/index.js';

interface Told {
  readonly ok: boolean;
  readonly cells: readonly { provider: string; check: string; result: string; reason: string | null }[];
}

describe('headgate selftest', () => {
  it('without a word more tries every format, simulated, and leaves nothing behind', async function () {
    this.timeout(60_000);
    const { code, stdout, stderr } = await headgate({ HEADGATE_DATA_DIR: '/nonexistent' }, ['selftest']);
    expect(code, stdout + stderr).to.equal(0);
    const lines = stdout.split('\n');
    expect(lines[0]).to.match(/^PROVIDER +CHAT +STREAM +TOOLS +IMAGE +JSON +EMBEDDINGS$/);
    for (const name of ['openai', 'azure-openai', 'azure-ai', 'anthropic', 'google', 'bedrock', 'cohere'])
      expect(lines.find((line) => line.startsWith(`@${name} `))).to.match(/( +ok){5} +(ok|–)$/);
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

    it('asks each for all there is, and tells apart what it does not have', async () => {
      const [code, told] = await selftest(
        ...['--provider', '@mine/gpt-4o', 'claude/claude-sonnet-4-5'],
        ...['--embedding-model', 'text-embedding-3-small'],
      );
      expect(code, JSON.stringify(told)).to.equal(0);
      expect(results(told, '@mine')).to.deep.equal(['pass', 'pass', 'pass', 'pass', 'pass', 'pass']);
      expect(results(told, '@claude')).to.deep.equal(['pass', 'pass', 'pass', 'pass', 'pass', 'none']);
    });

    it('fails with the provider’s own reason in each cell', async () => {
      const [code, told] = await selftest('--provider', 'wrong', '--model', 'gpt-4o');
      expect(code).to.equal(1);
      expect(told.ok).to.equal(false);
      expect(results(told, '@wrong')).to.deep.equal(['fail', 'fail', 'fail', 'fail', 'fail', 'none']);
      expect(told.cells[0]?.reason).to.include('401').and.include('Incorrect API key');
    });

    it('notices an answer that is cut off or is not what was asked for', async () => {
      upstream.fault('/v1/chat/completions', 'eof-mid-stream');
      const [code, told] = await selftest('--provider', '@mine/gpt-4o');
      upstream.reset();
      expect(code).to.equal(1);
      expect(told.cells.find(({ check }) => check === 'stream')?.result).to.equal('fail');
    });

    it('says what is missing', async () => {
      const { code, stderr } = await headgateHere(['selftest', '--provider', 'mine'], gateway.env);
      expect(code).to.equal(2);
      expect(stderr).to.include('--model');
    });
  });
});
