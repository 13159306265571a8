import { type LogRetention, retentionAt } from '../../common/ledger/logs/retention.js';
import type { Settings } from '../../common/settings/settings.js';
import type { Store } from '../../control-plane/store/store.js';
import type { ProcessPart } from '../part-list.js';
import type { Base } from './base.js';
import type { LedgerGiven } from './ledger.js';
import type { SchedulesGiven } from './schedules.js';
import type { Records } from './store.js';

/** What holds now: the settings, and what workspaces have set. */
async function retentionNow(
  settings: Pick<Settings, 'logRetentionDays' | 'logBodyRetentionDays'>,
  store: Pick<Store, 'workspaces'>,
  now: number,
): Promise<LogRetention> {
  const usual = { rows: settings.logRetentionDays, bodies: settings.logBodyRetentionDays };
  const own = await store.workspaces.withLogRetention();
  return retentionAt(
    now,
    usual,
    own.map(({ id, organisationId, settings: set }) => ({
      org: organisationId,
      workspace: id,
      rows: set.log_retention_days ?? 0,
      bodies: set.log_body_retention_days ?? 0,
    })),
  );
}

/** Deletes logs whose time is over: when the gateway starts, and every minute. Feedback whose request was missed gets its place. */
export const retentionPart: ProcessPart<Base & Records & LedgerGiven & SchedulesGiven, void> = {
  name: 'retention of logs',
  start({ settings, store, ledger, schedules, log }) {
    if (settings.role !== 'all') return;
    let running: Promise<void> = Promise.resolve();
    const expire = async (): Promise<void> => {
      const now = Date.now();
      await ledger.feedbacks.placeMissed(now);
      const retention = await retentionNow(settings, store, now);
      const { rowsBefore, bodiesBefore, workspaces } = retention;
      if (rowsBefore === null && bodiesBefore === null && workspaces.length === 0) return;
      const rows = await ledger.expire(retention);
      if (rows > 0) log.info({ rows }, 'Logs whose time was over were deleted.');
    };
    const inTurn = (): Promise<void> => {
      const done = running.then(expire);
      running = done.catch(() => {});
      return done;
    };
    schedules.add('retention', inTurn);
    // The gateway does not wait for it. What fails is repeated by the schedule.
    inTurn().catch((error: unknown) => log.warn({ err: error }, 'Logs whose time is over are still there.'));
  },
};
