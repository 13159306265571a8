// Opens a store as a gateway does, and is gone before the statement of that number: --killAt 0 lets it live.
import knex from 'knex';
import { Secret } from '../../src/core/secret.js';
import { MasterKey } from '../../src/store/master-key.js';
import { openStore } from '../../src/store/store.js';

const [dataDir = '', key = '', killAt = '0', databaseUrl = ''] = process.argv.slice(2);
let statements = 0;
const client = knex.Client.prototype as { query(...args: unknown[]): unknown };
const { query } = client;
client.query = function (...args) {
  statements += 1;
  if (statements === Number(killAt)) process.kill(process.pid, 'SIGKILL');
  return query.apply(this, args);
};

const store = await openStore({
  dataDir,
  masterKey: new MasterKey(Buffer.from(key, 'hex')),
  databaseUrl: databaseUrl === '' ? null : new Secret(databaseUrl),
});
await store.close();
console.log(statements);
