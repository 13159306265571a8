// The control process's share: turns journals into the ledger, until it is killed. Arguments: the data directory, and the
// URL of PostgreSQL where the ledger is there.
import { join } from 'node:path';
import { Secret } from '../../src/common/access/secret.js';
import { startIngestion } from '../../src/control-plane/ingestion/ingest.js';
import { openPostgresLedger } from '../../src/control-plane/ledger/postgres/ledger.js';
import { openLedger } from '../../src/control-plane/ledger/sql.js';
import { nodeIdOf } from '../../src/process/node/node-id.js';

const [dataDir = '', url = ''] = process.argv.slice(2);
const ledger =
  url === ''
    ? await openLedger({ dataDir })
    : await openPostgresLedger({ url: new Secret(url), node: nodeIdOf(dataDir) });
startIngestion({
  dir: join(dataDir, 'journal'),
  ledger,
  intervalMs: 5,
  onProblem: (error) => console.error(error),
});
console.log('ingesting');
setInterval(() => {}, 1000);
