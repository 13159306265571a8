import { expect } from 'chai';
import { RefusalLog } from '../../src/control-plane/administration/audit/refusals.js';
import type { AuditEntry, Store } from '../../src/control-plane/store/store.js';

const entry = (more: Partial<AuditEntry> = {}): AuditEntry => ({
  organisationId: 'o1',
  workspaceId: null,
  method: 'PUT',
  uri: '/v1/configs/a',
  requestId: 'r',
  requestBody: '{"name":"x"}',
  queryParams: '',
  requestHeaders: '{}',
  userId: 'key-1',
  userType: 'api_key',
  actorName: 'Key',
  responseStatusCode: 403,
  resourceType: 'config',
  resourceId: 'a',
  action: 'update',
  clientIp: '127.0.0.1',
  country: null,
  allowed: false,
  ...more,
});

describe('the log of refusals', () => {
  let rows: AuditEntry[];
  let problems: string[];
  let now: number;
  let isBroken: boolean;
  let log: RefusalLog;

  beforeEach(() => {
    [rows, problems, now, isBroken] = [[], [], 1_000_000, false];
    const store = {
      unit: async (_: string, work: () => Promise<unknown>) => {
        if (isBroken) throw new Error('away');
        return work();
      },
      audit: { append: async (row: AuditEntry) => void rows.push(row) },
    } as unknown as Store;
    const say = (_: object, message: string): void => void problems.push(message);
    log = new RefusalLog(store, { info: say, warn: say, error: say }, () => now);
  });
  afterEach(() => log.close());

  const add = (row: AuditEntry, method = 'Configs.UpdateConfig'): Promise<void> => log.add(method, row);
  const bodies = (): unknown[] => rows.map(({ requestBody }) => JSON.parse(requestBody));

  it('writes the first refusal as it is, and the number of repeats when the minute ends', async () => {
    for (let i = 0; i < 500; i++) {
      await add(entry({ requestId: `r${i}`, uri: '/v1/configs/a' }));
      now += 10;
    }
    expect(bodies()).to.deep.equal([{ name: 'x' }]);
    now += 60_000;
    await add(entry({ requestId: 'later' }));
    expect(bodies()).to.deep.equal([
      { name: 'x' },
      { repeated: 499, since: '1970-01-01T00:16:40.000Z', until: '1970-01-01T00:16:44.990Z' },
      { name: 'x' },
    ]);
    expect(rows[1]).to.include({
      requestId: 'r499',
      responseStatusCode: 403,
      allowed: false,
      resourceId: 'a',
    });
    expect(rows[2]).to.include({ requestId: 'later' });
  });

  it('writes no count where nothing was repeated', async () => {
    await add(entry());
    await log.close();
    expect(rows).to.have.length(1);
  });

  it('counts actors, methods and records separately', async () => {
    const kinds = [
      {},
      { userId: 'key-2' },
      { organisationId: 'o2' },
      { resourceId: 'b' },
      { resourceId: null },
    ];
    for (const kind of [...kinds, ...kinds]) await add(entry(kind));
    expect(rows).to.have.length(kinds.length);
    await log.close();
    expect(rows).to.have.length(2 * kinds.length);
  });

  it('counts methods separately that change the same record in the same way', async () => {
    for (const method of ['Integrations.UpdateIntegration', 'Integrations.UpdateIntegrationModels'])
      await add(entry(), method);
    expect(rows).to.have.length(2);
  });

  it('writes the first refusal from each address, so that repeats from one do not hide another', async () => {
    await add(entry());
    await add(entry({ clientIp: '203.0.113.9' }));
    await add(entry());
    expect(rows.map(({ clientIp }) => clientIp)).to.deep.equal(['127.0.0.1', '203.0.113.9']);
    await log.close();
    expect(rows.map(({ clientIp }) => clientIp).slice(2)).to.deep.equal(['127.0.0.1']);
  });

  it('names no address where a row counts refusals from several', async () => {
    for (let i = 0; i < 100; i++) await add(entry({ clientIp: `10.0.0.${i}` }));
    await log.close();
    expect(rows.length).to.be.below(50);
    expect(rows.at(-1)).to.include({ clientIp: null, resourceId: 'a' });
  });

  it('writes other refusals one by one', async () => {
    for (const responseStatusCode of [400, 404, 409, 400, 404, 409]) await add(entry({ responseStatusCode }));
    expect(rows).to.have.length(6);
  });

  it('counts refusals that arrive at the same moment', async () => {
    await Promise.all(Array.from({ length: 50 }, () => add(entry())));
    expect(rows).to.have.length(1);
    await log.close();
    expect(bodies()[1]).to.include({ repeated: 49 });
  });

  it('writes few rows for one actor, however many records the calls name', async () => {
    for (let i = 0; i < 5000; i++) await add(entry({ resourceId: `c${i}`, uri: `/v1/configs/c${i}` }));
    expect(rows.length).to.be.below(40);
    await log.close();
    expect(rows.length).to.be.below(50);
    const counted = bodies().reduce<number>(
      (sum, body) => sum + ((body as { repeated?: number }).repeated ?? 0),
      0,
    );
    expect(counted + 33).to.equal(5000);
    expect(rows.at(-1)).to.include({ resourceId: null });
  });

  it('keeps a bounded number of windows, each of a bounded size', async () => {
    const huge = 'x'.repeat(60_000);
    for (let i = 0; i < 6000; i++)
      await add(entry({ userId: `key-${i}`, uri: huge, requestBody: huge, resourceId: huge }));
    expect(log.size).to.be.at.most(4096);
    await add(entry({ userId: 'key-5999', uri: huge, requestBody: huge, resourceId: huge }));
    await log.close();
    expect(JSON.stringify(rows.at(-1)).length).to.be.below(3000);
    expect(log.size).to.equal(0);
  });

  it('writes each refusal at once after it was closed', async () => {
    await add(entry());
    await add(entry());
    await log.close();
    expect(rows).to.have.length(2);
    await add(entry());
    await add(entry());
    expect(rows).to.have.length(4);
  });

  it('continues after the clock was set back, and logs that the store is unavailable', async () => {
    await add(entry());
    await add(entry());
    now -= 3_600_000;
    await add(entry());
    expect(rows).to.have.length(3);
    isBroken = true;
    await add(entry({ resourceId: 'b' }));
    expect(problems).to.deep.equal(['refusals are not in the audit log']);
  });
});
