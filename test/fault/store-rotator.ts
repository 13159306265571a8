// Rotates the master key of a store, and is gone before the statement of that number: killAt 0 lets it live.
import knex from 'knex';
import { Secret } from '../../src/core/secret.js';
import { MasterKey } from '../../src/store/master-key.js';
import { rotateMasterKey } from '../../src/store/store.js';

const [dataDir = '', old = '', next = '', killAt = '0', databaseUrl = ''] = process.argv.slice(2);
let statements = 0;
const client = knex.Client.prototype as { query(...args: unknown[]): unknown };
const { query } = client;
client.query = function (...args) {
  statements += 1;
  if (statements === Number(killAt)) process.kill(process.pid, 'SIGKILL');
  return query.apply(this, args);
};

const options = {
  dataDir,
  masterKey: new MasterKey(Buffer.from(old, 'hex')),
  databaseUrl: databaseUrl === '' ? null : new Secret(databaseUrl),
};
await rotateMasterKey(options, new MasterKey(Buffer.from(next, 'hex')));
console.log(statements);
