import { Secret } from '../../src/common/access/secret.js';
import { rebuildAnalytics } from '../../src/control-plane/analytics/rollups/postgres-rebuild.js';
import { openPostgresLedger } from '../../src/control-plane/ledger/postgres/ledger.js';

/** A process that rebuilds analytics of a ledger in PostgreSQL, for tests that kill it. */
const ledger = await openPostgresLedger({ url: new Secret(process.argv[2] ?? ''), node: 'n', makes: false });
await ledger.prepare();
await rebuildAnalytics(
  (work) => ledger.statements.apart(work),
  Number(process.argv[3]),
  (progress) => void process.send?.(progress),
);
await ledger.close();
process.disconnect?.();
