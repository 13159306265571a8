import { checkAnomalies } from '../../control-plane/analytics/anomalies/check.js';
import type { ProcessPart } from '../part-list.js';
import type { AnalyticsGiven } from './analytics.js';
import type { Base } from './base.js';
import type { LedgerGiven } from './ledger.js';
import type { SchedulesGiven } from './schedules.js';

/** Looks every minute whether cost, errors, latency or traffic differ from past weeks. */
export const anomaliesPart: ProcessPart<Base & LedgerGiven & AnalyticsGiven & SchedulesGiven, void> = {
  name: 'anomalies',
  start({ settings, ledger, analytics, schedules, log }) {
    if (settings.role !== 'all') return;
    const options = { analytics, alerts: ledger.alerts };
    schedules.add('anomalies', async () => {
      for (const organisation of await ledger.times()) {
        const found = await checkAnomalies(options, organisation, Date.now());
        if (found > 0) log.info({ organisation: organisation.org, found }, 'Anomalies were found.');
      }
    });
  },
};
