import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { expect } from 'chai';
import { budgetName } from '../../src/common/core/budget-rules.js';
import { openJournal } from '../../src/data-plane/journal/journal.js';
import { settlementOf } from '../fault/journal-records.js';
import { headgateHere } from '../support/cli-bench.js';
import { eventually, type RunningGateway, startGateway } from '../support/gateway.js';
import { scaled } from '../support/time-limits.js';

const secret = `whsec_${Buffer.alloc(32, 9).toString('base64')}`;

/** Waits for it. */
const soon = async (condition: () => boolean | Promise<boolean>): Promise<void> => {
  await eventually('what the test waits for', async () => condition());
};

describe('alerts of budgets', function () {
  this.timeout(scaled(30_000));
  let gateway: RunningGateway;
  let receiver: Server;
  const sent: { type: string; data: Record<string, unknown> }[] = [];
  let keyId: string;

  before(async () => {
    receiver = createServer(async (request, response) => {
      let body = '';
      for await (const piece of request) body += piece;
      sent.push(JSON.parse(body));
      response.end();
    });
    receiver.listen(0, '127.0.0.1');
    await once(receiver, 'listening');
    const url = `http://127.0.0.1:${(receiver.address() as AddressInfo).port}/t0ken`;
    gateway = await startGateway({
      env: { HEADGATE_ALERT_WEBHOOK: url, HEADGATE_ALERT_WEBHOOK_SECRET: secret },
    });
    const { api } = gateway.admin();
    const made = await api.apiKeys.createApiKey({
      ...{
        type: 'workspace',
        sub_type: 'service',
        name: 'Shop',
        scopes: ['completions.write', 'analytics.view'],
      },
      ...{ workspace_id: gateway.workspaceId, alert_emails: ['shop@example.com'] },
    });
    keyId = made.id;
    const { organisationId: org, workspaceId: workspace } = gateway;
    const journal = openJournal({
      dir: join(gateway.dataDir, 'journal'),
      worker: 'test',
      onProblem: () => {},
    });
    const day = Date.UTC(2026, 0, 1);
    const budgets = [
      [budgetName(org, 'api_key', keyId, 'cost'), day, null, 10e9, 8e9, 8.5e9],
      [budgetName(org, 'workspace', workspace, 'tokens'), day, day + 1, 500, 400, 700],
    ] as const;
    for (const [i, charge] of budgets.entries()) {
      const id = `0190a1b2-0000-7000-8000-00000000000${i}`;
      journal.settle(settlementOf(id, { org, workspace, charges: [charge] }));
    }
    await new Promise((turn) => setImmediate(turn));
    journal.close();
  });
  after(async () => {
    await gateway?.stop();
    receiver?.close();
  });

  const get = async (query = '', key = gateway.adminKey) => {
    const headers = { 'x-gateway-api-key': key };
    const answer = await fetch(`${gateway.url}/v1/alerts${query}`, { headers });
    return (await answer.json()) as { data: Record<string, unknown>[]; total: number };
  };

  it('are listed over REST and gRPC, and sent to the webhook, soon after the request that caused them', async () => {
    await soon(async () => (await get()).total >= 3 && sent.length >= 3);
    const { data } = await get(`?holder_type=api_key&holder_id=${keyId}`);
    expect(data).to.have.length(1);
    expect(data[0]).to.deep.include({
      ...{
        object: 'alert',
        event: 'threshold',
        type: 'cost',
        holder_name: 'Shop',
        workspace_id: gateway.workspaceId,
      },
      ...{ credit_limit: 10, alert_threshold: 8, usage: 8.5, period_start: '2026-01-01T00:00:00.000Z' },
    });
    expect(data[0]?.['recipients']).to.include('shop@example.com');
    const { api } = gateway.admin();
    const listed = await api.alerts.listAlerts({ event: 'exhausted', page_size: 1 });
    expect(listed.total).to.equal(1);
    expect(listed.data[0]).to.include({ holder_type: 'workspace', usage: 700, type: 'tokens' });
    expect(sent.map(({ type }) => type)).to.include.members(['budget.threshold', 'budget.exhausted']);
  });

  it('are those of its own workspace for a key of a workspace, without the addresses of people', async () => {
    const { data } = await get('', gateway.workspaceKey);
    expect(data.length).to.be.at.least(3);
    expect(data.filter(({ recipients }) => (recipients as unknown[]).length > 0)).to.deep.equal([]);
    const other = await gateway.admin().api.workspaces.createWorkspace({ name: 'Other' });
    expect((await get(`?workspace_id=${other.id}`)).data).to.deep.equal([]);
  });

  it('are shown by headgate alerts', async () => {
    const { code, stdout } = await headgateHere(['alerts', 'list', '--event', 'threshold'], {
      ...gateway.env,
    });
    expect(code).to.equal(0);
    expect(stdout).to.match(/EVENT\s+HOLDER\s+NAME/);
    expect(stdout).to.match(/threshold\s+api_key\s+Shop\s.*cost\s+8\.5\s+10\s+(sent|pending)/);
  });

  it('print neither the URL nor the secret of the webhook', () => {
    expect(gateway.output()).to.not.match(/t0ken|whsec/);
  });
});
