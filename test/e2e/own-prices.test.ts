import { expect } from 'chai';
import { eventually, type RunningGateway, startGateway } from '../support/gateway.js';

describe('Prices of one’s own', () => {
  let gateway: RunningGateway;
  before(async function () {
    this.timeout(20_000);
    const prices = {
      openai: { 'gpt-4o-mini': { input: 1000, output: 0 }, 'ours-1': { input: 0, output: 500 } },
    };
    gateway = await startGateway({
      env: { HEADGATE_SIMULATED: 'true', HEADGATE_PRICES: JSON.stringify(prices) },
    });
  });
  after(() => gateway?.stop());

  for (const [model, costOf] of [
    ['gpt-4o-mini', (input: number) => input * 1000],
    ['ours-1', (_input: number, output: number) => output * 500],
  ] as const)
    it(`are what a call of ${model} costs in the ledger`, async () => {
      const answer = await fetch(`${gateway.url}/v1/chat/completions`, {
        method: 'POST',
        headers: {
          authorization: `Bearer ${gateway.workspaceKey}`,
          'x-gateway-provider': '@simulated',
          'content-type': 'application/json',
        },
        body: JSON.stringify({ model, messages: [{ role: 'user', content: 'Hi' }] }),
      });
      const json = (await answer.json()) as { usage: { prompt_tokens: number; completion_tokens: number } };
      expect(answer.status, JSON.stringify(json)).to.equal(200);
      const { prompt_tokens: input, completion_tokens: output } = json.usage;
      const row = await eventually('the row', async () => {
        const { data } = await gateway.admin().api.logs.listLogs({ limit: 20 });
        return data.find((one) => one.id === answer.headers.get('x-gateway-request-id'));
      });
      expect(row.cost)
        .to.equal(costOf(input, output) / 1e6)
        .and.to.be.above(0);
    });
});
