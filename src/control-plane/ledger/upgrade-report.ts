import type { UpgradeProgress } from './sqlite-schema.js';

const everyMs = 2000;

/** Reports an upgrade of the ledger as it goes on: at its first batch, every two seconds, and at its end. */
export function upgradeReport(log: {
  info(fields: object, message: string): void;
}): (progress: UpgradeProgress) => void {
  let reportedAt = Number.NEGATIVE_INFINITY;
  return ({ done, total }) => {
    const now = performance.now();
    if (done < total && now - reportedAt < everyMs) return;
    reportedAt = now;
    const percent = Math.floor((100 * done) / total);
    log.info({ done, total }, `The ledger is upgraded: ${percent} % of ${total} rows.`);
  };
}
