import { type ChildProcess, spawn } from 'node:child_process';
import { createHmac } from 'node:crypto';
import { once } from 'node:events';
import { createServer, type IncomingHttpHeaders, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { expect } from 'chai';
import { Secret } from '../../src/common/access/secret.js';
import { budgetName } from '../../src/common/core/budget-rules.js';
import type { SentAlert } from '../../src/common/ledger/alerts.js';
import {
  type Alerting,
  type AlertingOptions,
  startAlerting,
} from '../../src/control-plane/alerts/alerting.js';
import type { BudgetLedger } from '../../src/control-plane/ledger/ledger.js';
import { openPostgresLedger } from '../../src/control-plane/ledger/postgres/ledger.js';
import { openLedger } from '../../src/control-plane/ledger/sql.js';
import { MasterKey } from '../../src/control-plane/store/secrets/master-key.js';
import { openStore, type Store } from '../../src/control-plane/store/store.js';
import { builtProgram, eventually } from '../support/gateway.js';
import { folder, forEachStore } from '../support/stores.js';
import { scaled } from '../support/time-limits.js';
import { settlementOf } from './journal-records.js';

interface Call {
  readonly headers: IncomingHttpHeaders;
  readonly body: string;
  readonly path: string;
}

const secret = `whsec_${Buffer.alloc(24, 7).toString('base64')}`;
const path = '/hooks/t0ken-in-the-path';
const hourMs = 3_600_000;

/** Waits for it. */
const soon = async (condition: () => boolean | Promise<boolean>): Promise<void> => {
  await eventually('what the test waits for', async () => condition());
};

/** A receiver of webhooks. */
class Receiver {
  readonly calls: Call[] = [];
  answer: (response: ServerResponse) => void = (response) => response.writeHead(204).end();
  readonly #server: Server;

  constructor() {
    this.#server = createServer(async (request, response) => {
      let body = '';
      for await (const piece of request) body += piece;
      this.calls.push({ headers: request.headers, body, path: request.url ?? '' });
      this.answer(response);
    });
  }

  async start(): Promise<this> {
    this.#server.listen(0, '127.0.0.1');
    await once(this.#server, 'listening');
    return this;
  }

  get url(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}${path}`;
  }

  get ids(): unknown[] {
    return this.calls.map(({ headers }) => headers['webhook-id']);
  }

  stop(): void {
    this.#server.closeAllConnections();
    this.#server.close();
  }
}

const budgetOf = (alert: SentAlert): string | null => (alert.event === 'anomaly' ? null : alert.budget);

describe('the webhook of alerts', function () {
  this.timeout(scaled(20_000));
  let dataDir: string;
  let store: Store;
  let ledger: BudgetLedger;
  let receiver: Receiver;
  let org: string;
  let budget: string;
  const running: Alerting[] = [];
  const logged: string[] = [];

  before(async () => {
    dataDir = folder();
    store = await openStore({ dataDir, masterKey: new MasterKey(Buffer.alloc(32, 1)) });
    await store.establish(() => {});
    org = (await store.first())!.organisationId;
    await store.users.create(org, { email: 'owner@example.com', role: 'owner' });
    ledger = await openLedger({ dataDir });
  });
  after(async () => {
    await ledger?.close();
    await store?.close();
  });
  beforeEach(async () => {
    receiver = await new Receiver().start();
    logged.length = 0;
  });
  afterEach(async () => {
    receiver.stop();
    for (const one of running.splice(0)) await one.stop();
  });

  const log = (fields: object, message: string): void =>
    void logged.push(`${message} ${JSON.stringify(fields)}`);
  const alerting = (options: Partial<AlertingOptions> = {}): Alerting => {
    const webhook = { url: new Secret(receiver.url), secret: new Secret(secret) };
    const logger = { info: log, warn: log, error: log };
    const parts = { alerts: ledger.alerts, store, webhook, log: logger, everyMs: 20, firstWaitMs: 20 };
    const one = startAlerting({ ...parts, ...options });
    running.push(one);
    return one;
  };
  let made = 0;
  /** Writes an alert `exhausted`, of a budget of its own. */
  async function exhaust(to: BudgetLedger = ledger): Promise<string> {
    budget = budgetName(org, 'workspace', `w${++made}`, 'cost');
    const charges = [[budget, 1, null, 5e9, null, 6e9]] as const;
    const id = `0190a1b2-0000-7000-8000-${String(made).padStart(12, '0')}`;
    const row = {
      ...settlementOf(id, { org, workspace: null, charges }),
      state: 'settled' as const,
      node: null,
    };
    const nothing = { unknown: [], positions: new Map(), opened: [], closed: [] };
    await to.apply({ ...nothing, settled: { packed: null, rows: [row] } });
    return budget;
  }
  const alertOf = async (of: string, from: BudgetLedger = ledger): Promise<SentAlert | undefined> =>
    (await from.alerts.list(org, {}, { offset: 0, limit: 100 })).alerts.find(
      (alert) => budgetOf(alert) === of,
    );
  const isSettled = (of: string, is: string) => async (): Promise<boolean> =>
    (await alertOf(of))?.delivery === is;

  it('gets each alert once, signed as Standard Webhooks does, with what it is about and whom it concerns', async () => {
    await exhaust();
    alerting();
    await soon(isSettled(budget, 'sent'));
    const [call, ...others] = receiver.calls;
    expect(others).to.deep.equal([]);
    const { headers, body } = call!;
    const alert = await alertOf(budget);
    expect(alert).to.include({ tries: 1 });
    const signed = `${headers['webhook-id']}.${headers['webhook-timestamp']}.${body}`;
    const hmac = createHmac('sha256', Buffer.alloc(24, 7)).update(signed).digest('base64');
    expect(headers).to.include({ 'webhook-id': alert?.id, 'webhook-signature': `v1,${hmac}` });
    expect(headers['content-type']).to.equal('application/json');
    expect(Math.abs(Number(headers['webhook-timestamp']) - Date.now() / 1000)).to.be.lessThan(60);
    const { type, timestamp, data } = JSON.parse(body);
    expect([type, timestamp]).to.deep.equal(['budget.exhausted', new Date(alert!.at).toISOString()]);
    expect(data).to.deep.include({
      ...{ id: alert?.id, event: 'exhausted', organisation_id: org, holder_type: 'workspace', type: 'cost' },
      ...{ credit_limit: 5, usage: 6, alert_threshold: null, recipients: ['owner@example.com'] },
    });
    expect(data).to.not.have.any.keys('delivery', 'delivery_attempts', 'sent_at');
  });

  for (const [what, answer] of [
    ['answers 500', (response: ServerResponse) => response.writeHead(500).end('no')],
    ['resets the connection', (response: ServerResponse) => response.socket?.destroy()],
    ['redirects', (response: ServerResponse) => response.writeHead(307, { location: '/elsewhere' }).end()],
    ['sends half an answer', (response: ServerResponse) => response.socket?.end('HTTP/1.1 2')],
  ] as const) {
    it(`gets an alert again under the same id where it ${what}, and neither its URL nor the secret is logged`, async () => {
      receiver.answer = answer;
      const id = await exhaust();
      alerting();
      await soon(() => receiver.calls.length >= 3);
      receiver.answer = (response) => response.writeHead(200).end('ok');
      await soon(isSettled(id, 'sent'));
      expect(new Set(receiver.ids).size).to.equal(1);
      expect(new Set(receiver.calls.map(({ body }) => body)).size).to.equal(1);
      expect(receiver.calls.map((call) => call.path)).to.include.members([path]);
      expect(receiver.calls.filter((call) => call.path !== path)).to.deep.equal([]);
      expect((await alertOf(id))?.tries).to.equal(receiver.calls.length);
      expect(logged.join()).to.match(/The webhook of alerts did not accept one; it is tried again\./);
      expect(logged.join()).to.not.match(/t0ken|whsec|BwcH|127\.0\.0\.1/);
    });
  }

  it('accepts an alert by its status, though the body of its answer never ends', async () => {
    receiver.answer = (response) => response.writeHead(200).write('and so on');
    const id = await exhaust();
    alerting();
    await soon(isSettled(id, 'sent'));
  });

  it('delays nothing else while it is silent', async () => {
    receiver.answer = () => {};
    const hanging = await exhaust();
    const one = alerting();
    await soon(() => receiver.calls.length === 1);
    const next = await exhaust();
    const [found] = await ledger.budgets.usage(org, [{ budget: next, startsAt: 1 }]);
    expect(found?.used).to.equal(6e9);
    expect((await alertOf(hanging))?.delivery).to.equal('pending');
    const began = performance.now();
    await one.stop();
    expect(performance.now() - began).to.be.lessThan(scaled(3000));
    receiver.answer = (response) => response.writeHead(200).end();
    // What was cut off is claimed for a while: it may have arrived.
    const claimed = await ledger.alerts.claim(Date.now() + hourMs, Date.now(), 10);
    expect(claimed.map(budgetOf)).to.include(hanging);
    alerting();
    await soon(isSettled(hanging, 'sent'));
    await soon(isSettled(next, 'sent'));
  });

  it('gets an alert that was sent by a process which was killed before it noted that, under the same id', async () => {
    receiver.answer = () => {};
    const id = await exhaust();
    const args = [builtProgram('fault/alert-sender'), dataDir, receiver.url, secret];
    const child: ChildProcess = spawn(process.execPath, args, { stdio: 'inherit' });
    try {
      await soon(() => receiver.calls.length === 1);
    } finally {
      child.kill('SIGKILL');
    }
    await once(child, 'exit');
    receiver.answer = (response) => response.writeHead(200).end();
    alerting();
    await soon(isSettled(id, 'sent'));
    expect(receiver.ids).to.have.length(2);
    expect(new Set(receiver.ids).size).to.equal(1);
    expect((await alertOf(id))?.tries).to.equal(2);
  });

  it('gets no alert that it has not accepted for 24 hours, which is then marked as failed', async () => {
    receiver.answer = (response) => response.writeHead(500).end();
    const id = await exhaust();
    alerting();
    await soon(() => receiver.calls.length >= 1);
    await running.pop()!.stop();
    receiver.answer = (response) => response.writeHead(200).end();
    const of = await alertOf(id);
    await ledger.alerts.settle(of!.id, { is: 'sent', at: 1 });
    receiver.calls.length = 0;
    receiver.answer = (response) => response.writeHead(500).end();
    // Its alert is as old as its period's end.
    await ledger.budgets.ended(org, id, Date.now() - 25 * hourMs);
    alerting();
    await soon(async () => {
      const { alerts } = await ledger.alerts.list(org, { event: 'reset' }, { offset: 0, limit: 10 });
      return alerts.some((alert) => budgetOf(alert) === id && alert.delivery === 'failed');
    });
    expect(receiver.calls).to.have.length(1);
    expect(logged.join()).to.match(/An alert was not accepted by the webhook for 24 hours\./);
  });

  it('gets nothing of alerts that were written while none was set', async () => {
    const id = await exhaust();
    alerting({ webhook: null });
    await soon(isSettled(id, 'none'));
    await running.pop()!.stop();
    await alerting().runNow();
    expect(receiver.calls).to.deep.equal([]);
  });

  forEachStore(({ dialect, options }) => {
    if (dialect !== 'postgres') return;
    it('gets each alert once from three nodes', async () => {
      const shared = folder();
      const { databaseUrl } = await options(shared);
      const ledgers = await Promise.all(
        [1, 2, 3].map((n) => openPostgresLedger({ url: databaseUrl!, node: `n${n}` })),
      );
      await ledgers[0]!.prepare();
      for (const one of ledgers) alerting({ alerts: one.alerts });
      const budgets: string[] = [];
      for (let i = 0; i < 30; i++) budgets.push(await exhaust(ledgers[i % 3]));
      await soon(async () => {
        const { alerts } = await ledgers[0]!.alerts.list(org, {}, { offset: 0, limit: 100 });
        return alerts.filter(({ delivery }) => delivery === 'sent').length === budgets.length;
      });
      expect(receiver.ids).to.have.length(30);
      expect(new Set(receiver.ids).size).to.equal(30);
      for (const one of running.splice(0)) await one.stop();
      for (const one of ledgers) await one.close();
    });
  });
});
