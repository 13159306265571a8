// Opens a store as a gateway does, and is gone before the statement of that number: --killAt 0 lets it live.
import { Secret } from '../../src/common/access/secret.js';
import { MasterKey } from '../../src/control-plane/store/secrets/master-key.js';
import { openStore } from '../../src/control-plane/store/store.js';
import { killBefore } from '../support/statements.js';

const [dataDir = '', key = '', killAt = '0', databaseUrl = ''] = process.argv.slice(2);
const count = killBefore(Number(killAt));

const store = await openStore({
  dataDir,
  masterKey: new MasterKey(Buffer.from(key, 'hex')),
  databaseUrl: databaseUrl === '' ? null : new Secret(databaseUrl),
});
await store.close();
console.log(count());
