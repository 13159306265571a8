import { expect } from 'chai';
import type { LedgerRow } from '../../src/common/ledger/record.js';
import { checkAnomalies, slotMs } from '../../src/control-plane/analytics/anomalies/check.js';
import type { Analytics } from '../../src/control-plane/analytics/question.js';
import { org, randomRows } from '../support/analytics-rows.js';
import { type AskedLedger, batchOf, openAskedLedger } from '../support/asked-ledgers.js';
import { folder, forEachStore } from '../support/stores.js';
import { scaled } from '../support/time-limits.js';

const now = Date.parse('2026-09-23T12:00:00Z');
const weekMs = 7 * 24 * 3_600_000;
const cent = 1e10;
const [template] = randomRows(3, 1, now, 1) as [LedgerRow];

let number = 0;
/** So many requests of a workspace in each five minutes of a stretch. */
function requests(workspace: string, from: number, to: number, perSlot: number, cost: number): LedgerRow[] {
  const rows: LedgerRow[] = [];
  for (let at = from; at < to; at += slotMs / perSlot) {
    const id = `0190a1b2-0000-7000-8000-${String(number++).padStart(12, '0')}`;
    rows.push({
      ...template,
      ...{ id, trace: id, org, workspace, at: Math.round(at), state: 'settled', status: 200, error: null },
      ...{ cost: cost * (0.9 + 0.2 * ((number * 7) % 10) * 0.1), totalMs: 100 + ((number * 13) % 40) },
    });
  }
  return rows;
}

/** The same time of past weeks. */
const past = (workspace: string, weeks: number): LedgerRow[] =>
  Array.from({ length: weeks }, (_, i) => now - (i + 1) * weekMs).flatMap((at) =>
    requests(workspace, at - 45 * 60_000, at + 45 * 60_000, 20, cent),
  );

describe('anomalies', function () {
  this.timeout(scaled(30_000));
  forEachStore(({ dialect, options }) => {
    let opened: AskedLedger;
    const check = (at = now): Promise<number> =>
      opened.ledger
        .times()
        .then((all) =>
          checkAnomalies(
            { analytics: opened.analytics, alerts: opened.ledger.alerts },
            all.find((one) => one.org === org)!,
            at,
          ),
        );
    const listed = (workspaces: readonly string[] | null, keys: readonly string[] | null = null) =>
      opened.ledger.alerts.listAnomalies({ org, workspaces, except: [], keys }, {}, { offset: 0, limit: 10 });

    before(async () => {
      const dataDir = folder();
      const { databaseUrl = null } = dialect === 'sqlite' ? {} : await options(dataDir);
      opened = await openAskedLedger(dataDir, databaseUrl);
    });
    after(() => opened?.close());

    it('are not looked for, and nothing is asked, without two weeks to compare with', async () => {
      await opened.ledger.apply(batchOf(requests('young', now - weekMs, now - weekMs + slotMs, 5, cent)));
      await opened.ledger.apply(batchOf(requests('young', now - 2 * slotMs, now, 200, 9 * cent)));
      const analytics: Analytics = {
        ask: () => {
          throw new Error('it was asked');
        },
      };
      const [known] = await opened.ledger.times();
      expect(await checkAnomalies({ analytics, alerts: opened.ledger.alerts }, known!, now)).to.equal(0);
    });

    it('are written once, with one alert, however often and by how many nodes they are found', async () => {
      await opened.ledger.apply(batchOf(past('shop', 3)));
      await opened.ledger.apply(batchOf(requests('shop', now - 20 * 60_000, now - slotMs, 20, cent)));
      await opened.ledger.apply(batchOf(requests('shop', now - slotMs, now, 20, 3 * cent)));
      await opened.ledger.apply(batchOf(past('calm', 2)));
      await opened.ledger.apply(batchOf(requests('calm', now - 20 * 60_000, now, 20, cent)));
      const found = await Promise.all([check(), check(), check(now + 1000)]);
      expect(found.reduce((sum, count) => sum + count, 0)).to.equal(1);
      expect(await check(now + 30_000)).to.equal(0);
      const { anomalies, total } = await listed(null);
      expect(total).to.equal(1);
      const [one] = anomalies;
      expect(one).to.include({ org, workspace: 'shop', metric: 'cost', event: 'anomaly' });
      expect(one!.value / one!.expected).to.be.closeTo(3, 0.4);
      expect(one!.expected).to.be.closeTo(20, 1);
      expect(one!.to).to.equal(now + 30_000 - 3000);
      const unaddressed = await opened.ledger.alerts.unaddressed(10);
      expect(unaddressed.map(({ event }) => event)).to.deep.equal(['anomaly']);
      await opened.ledger.alerts.address(
        unaddressed[0]!.id,
        { name: 'Shop', recipients: ['a@b.example'] },
        true,
      );
      const [claimed] = await opened.ledger.alerts.claim(Date.now() + weekMs, Date.now(), 10);
      expect(claimed).to.include({ event: 'anomaly', metric: 'cost', name: 'Shop' });
      const { alerts } = await opened.ledger.alerts.list(org, { event: 'anomaly' }, { offset: 0, limit: 10 });
      expect(alerts.map(({ id }) => id)).to.deep.equal([one!.id]);
    });

    it('are listed for those who see all requests of their workspace', async () => {
      expect((await listed(['shop', 'calm'])).total).to.equal(1);
      expect((await listed(['calm'])).total).to.equal(0);
      expect((await listed(['shop'], ['k-1'])).total).to.equal(0);
      const other = { org: 'org-9', workspaces: null, except: [], keys: null };
      expect((await opened.ledger.alerts.listAnomalies(other, {}, { offset: 0, limit: 10 })).total).to.equal(
        0,
      );
    });

    it('begin again an hour after the figure was as usual', async () => {
      const later = now + 90 * 60_000;
      for (const week of [1, 2, 3]) {
        const at = later - week * weekMs;
        await opened.ledger.apply(batchOf(requests('shop', at - 40 * 60_000, at + 40 * 60_000, 20, cent)));
      }
      await opened.ledger.apply(batchOf(requests('shop', later - slotMs, later, 20, 3 * cent)));
      expect(await check(later)).to.equal(1);
      expect((await listed(['shop'])).total).to.equal(2);
    });
  });
});
