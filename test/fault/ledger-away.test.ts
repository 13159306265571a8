import { randomBytes } from 'node:crypto';
import { expect } from 'chai';
import { FaultyProxy } from '../support/faulty-proxy.js';
import { eventually, type RunningGateway, startGateway } from '../support/gateway.js';
import { folder, forEachStore, server } from '../support/stores.js';
import { expectWithinMs, scaled } from '../support/time-limits.js';

const chat = JSON.stringify({
  model: '@simulated/gpt-4o-mini',
  messages: [{ role: 'user', content: 'Hello' }],
});
/** The client's name of the gRPC code 14. */
const unavailable = 'unavailable';

describe('a gateway whose ledger is in a database of its own', function () {
  this.timeout(scaled(60_000));

  forEachStore(({ options, dialect }) => {
    if (dialect !== 'postgres') return;
    let ofLedger: FaultyProxy;
    let ofRecords: FaultyProxy;
    let gateway: RunningGateway;

    before(async () => {
      const { hostname, port } = new URL(server);
      const open = () => FaultyProxy.start(Number(port || 5432), hostname);
      [ofLedger, ofRecords] = [await open(), await open()];
      const [records, ledger] = [await options(folder()), await options(folder())];
      gateway = await startGateway({
        env: {
          DATABASE_URL: ofRecords.through(records.databaseUrl?.reveal() ?? ''),
          LEDGER_DATABASE_URL: ofLedger.through(ledger.databaseUrl?.reveal() ?? ''),
          HEADGATE_MASTER_KEY: randomBytes(32).toString('hex'),
          HEADGATE_SIMULATED: 'true',
        },
      });
    });
    after(async () => {
      for (const proxy of [ofLedger, ofRecords]) await proxy?.pass();
      await gateway?.stop();
      for (const proxy of [ofLedger, ofRecords]) await proxy?.close();
    });

    const send = (path: string, text?: string) =>
      fetch(`${gateway.url}${path}`, {
        method: text === undefined ? 'GET' : 'POST',
        headers: {
          'x-gateway-api-key': text === undefined ? gateway.adminKey : gateway.workspaceKey,
          'content-type': 'application/json',
        },
        ...(text !== undefined && { body: text }),
      });
    const grpcCode = (asked: Promise<unknown>): Promise<unknown> =>
      asked.then(
        () => null,
        (error: { code?: unknown }) => error.code,
      );

    it('answers 503 where logs are asked for while that is away, and serves requests and records', async () => {
      await ofLedger.refuse();
      const began = performance.now();
      const response = await send('/v1/logs');
      expect(response.status).to.equal(503);
      expect(await response.json())
        .to.have.nested.property('data.message')
        .that.matches(/ledger|store/i);
      expectWithinMs(performance.now() - began, 6000);
      expect(await grpcCode(gateway.admin().logs.list({ limit: 1 }))).to.equal(unavailable);
      expect((await send('/v1/chat/completions', chat)).status).to.equal(200);
      expect((await send('/v1/providers')).status).to.equal(200);
      await ofLedger.pass();
      await eventually(
        'the row is in the ledger',
        async () => {
          const answer = await send('/v1/logs');
          return answer.status === 200 && ((await answer.json()) as { data: unknown[] }).data.length > 0;
        },
        15_000,
      );
    });

    it('answers UNAVAILABLE over gRPC while the records are away', async () => {
      await ofRecords.refuse();
      expect(await grpcCode(gateway.admin().providers.list({}))).to.equal(unavailable);
      expect((await send('/v1/chat/completions', chat)).status).to.equal(200);
      await ofRecords.pass();
      await eventually(
        'the records are back',
        async () => (await grpcCode(gateway.admin().providers.list({}))) === null,
        15_000,
      );
    });
  });
});
