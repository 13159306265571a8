import { Secret } from '../../src/common/access/secret.js';
import { startAlerting } from '../../src/control-plane/alerts/alerting.js';
import { openLedger } from '../../src/control-plane/ledger/sql.js';
import { MasterKey } from '../../src/control-plane/store/secrets/master-key.js';
import { openStore } from '../../src/control-plane/store/store.js';

/** Sends the alerts of a data directory to a webhook until it is killed. */
const [dataDir = '', url = '', secret = ''] = process.argv.slice(2);
const log = (): void => {};
startAlerting({
  alerts: (await openLedger({ dataDir })).alerts,
  store: await openStore({ dataDir, masterKey: new MasterKey(Buffer.alloc(32, 1)) }),
  webhook: { url: new Secret(url), secret: new Secret(secret) },
  log: { info: log, warn: log, error: log },
  claimMs: 1000,
});
// What it does keeps no process alive.
setInterval(() => {}, 1000);
