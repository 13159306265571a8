import type { Analytics, AnalyticsQuestion, AnswerTo } from '../../control-plane/analytics/question.js';
import type { ProcessPart } from '../part-list.js';
import type { Base } from './base.js';
import type { DataDirectory } from './data-directory.js';
import type { LedgerGiven } from './ledger.js';

export interface AnalyticsGiven {
  readonly analytics: Analytics & { close(): Promise<void> };
}

/** Graphs and groups over the ledger. Nothing of it is loaded, and no process started, before the first question. */
export const analyticsPart: ProcessPart<Base & DataDirectory & LedgerGiven, AnalyticsGiven> = {
  name: 'analytics',
  start({ settings: { dataDir }, sharedLedger, log }) {
    let made: Promise<AnalyticsGiven['analytics']> | null = null;
    const make = async (): Promise<AnalyticsGiven['analytics']> => {
      if (sharedLedger !== null) {
        const { PostgresAnalytics } = await import('../../control-plane/analytics/postgres.js');
        return new PostgresAnalytics(sharedLedger.statements);
      }
      const { ProcessAnalytics } = await import('../../control-plane/analytics/process/process-analytics.js');
      return new ProcessAnalytics({ dataDir, log });
    };
    return {
      analytics: {
        async ask<Q extends AnalyticsQuestion>(question: Q): Promise<AnswerTo<Q>> {
          made ??= make();
          return (await made).ask(question);
        },
        close: async () => (await made)?.close(),
      },
    };
  },
  stop: ({ analytics }) => analytics.close(),
};
