import { join } from 'node:path';
import { Secret } from '../../src/common/access/secret.js';
import { Mailing } from '../../src/control-plane/mail/mailing.js';
import { openOutbox } from '../../src/control-plane/mail/outbox.js';
import { SentNotes } from '../../src/control-plane/mail/sent-notes.js';
import { smtpServerOf } from '../../src/control-plane/mail/smtp-server-address.js';
import { runKeyDuties } from '../../src/control-plane/rotation/key-duties.js';
import { MasterKey } from '../../src/control-plane/store/secrets/master-key.js';
import { openStore } from '../../src/control-plane/store/store.js';

/**
 * Looks after keys, then sends mails, at a time; kills itself before or after one of the calls that change something, which
 * are counted from 1.
 */
const [dataDir = '', databaseUrl = '', masterKey = '', now = '', killAt = '', smtpUrl = ''] =
  process.argv.slice(2);

let calls = 0;
function step(): void {
  calls += 1;
  if (calls === Number(killAt)) process.kill(process.pid, 'SIGKILL');
}

/** Each call of these methods is a step before and after it. */
function stepping<T extends object>(target: T, ...names: (keyof T)[]): T {
  for (const name of names) {
    const method = target[name] as unknown as (...args: unknown[]) => Promise<unknown>;
    target[name] = (async (...args: unknown[]) => {
      step();
      const value = await method.apply(target, args);
      step();
      return value;
    }) as unknown as T[keyof T];
  }
  return target;
}

const log = { info: () => {}, warn: () => {}, error: () => {} };
const store = await openStore({
  dataDir,
  masterKey: new MasterKey(Buffer.from(masterKey, 'hex')),
  databaseUrl: databaseUrl === '' ? null : new Secret(databaseUrl),
  clock: () => Number(now),
});
stepping(store.keyRotation, 'endTransition', 'rotate', 'notify');
stepping(store.audit, 'append');
stepping(store.changes, 'append');
stepping(store as { unit: typeof store.unit }, 'unit');
const outbox = stepping({ ...openOutbox(store) }, 'add');
const parts = { store, outbox, forget: async () => step(), log };
const run = { dueAt: 0, fence: 1, signal: new AbortController().signal, confirm: async () => {} };
await runKeyDuties(parts, run);

const mailing = new Mailing({
  mails: stepping(store.mails, 'claim', 'settle'),
  server: smtpServerOf(new Secret(smtpUrl), null, null),
  notes: new SentNotes(join(dataDir, 'sent-mails')),
  log,
});
mailing.begin();
const { organisationId } = (await store.first())!;
const pending = async (): Promise<number> => {
  const { total } = await store.mails.list(organisationId, { status: 'pending' }, { offset: 0, limit: 1 });
  return total;
};
while ((await pending()) > 0) await new Promise((turn) => setTimeout(turn, 20));
await mailing.stop();
await store.close();
