// Rotates the master key of a store, and is gone before the statement of that number: killAt 0 lets it live.
import { Secret } from '../../src/common/access/secret.js';
import { MasterKey } from '../../src/control-plane/store/secrets/master-key.js';
import { rotateMasterKey } from '../../src/control-plane/store/store.js';
import { killBefore } from '../support/statements.js';

const [dataDir = '', old = '', next = '', killAt = '0', databaseUrl = ''] = process.argv.slice(2);
const count = killBefore(Number(killAt));

const options = {
  dataDir,
  masterKey: new MasterKey(Buffer.from(old, 'hex')),
  databaseUrl: databaseUrl === '' ? null : new Secret(databaseUrl),
};
await rotateMasterKey(options, new MasterKey(Buffer.from(next, 'hex')));
console.log(count());
