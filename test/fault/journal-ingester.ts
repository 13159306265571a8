// The control process's share: turns journals into the ledger, until it is killed. Argument: the data directory.
import { join } from 'node:path';
import { startIngestion } from '../../src/control-plane/ingestion/ingest.js';
import { openLedger } from '../../src/control-plane/ledger/sql.js';

const [dataDir = ''] = process.argv.slice(2);
const ledger = await openLedger({ dataDir });
startIngestion({
  dir: join(dataDir, 'journal'),
  ledger,
  intervalMs: 5,
  onProblem: (error) => console.error(error),
});
console.log('ingesting');
setInterval(() => {}, 1000);
