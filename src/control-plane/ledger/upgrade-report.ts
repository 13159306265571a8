import type { UpgradeProgress } from './sqlite-schema.js';

const everyMs = 2000;

/**
 * Reports how far rows of the ledger have been brought: at the first batch, every two seconds, and at the end. `what`: as in
 * `The ledger is upgraded`.
 */
export function upgradeReport(
  log: { info(fields: object, message: string): void },
  what = 'The ledger is upgraded',
): (progress: UpgradeProgress) => void {
  let reportedAt = Number.NEGATIVE_INFINITY;
  return ({ done, total }) => {
    const now = performance.now();
    if (done < total && now - reportedAt < everyMs) return;
    reportedAt = now;
    const percent = Math.floor((100 * done) / total);
    log.info({ done, total }, `${what}: ${percent} % of ${total} rows.`);
  };
}
