import { join } from 'node:path';
import { Secret } from '../../src/common/access/secret.js';
import { Mailing } from '../../src/control-plane/mail/mailing.js';
import { openOutbox } from '../../src/control-plane/mail/outbox.js';
import { SentNotes } from '../../src/control-plane/mail/sent-notes.js';
import { smtpServerOf } from '../../src/control-plane/mail/smtp-server-address.js';
import { runKeyDuties } from '../../src/control-plane/rotation/key-duties.js';
import { MasterKey } from '../../src/control-plane/store/secrets/master-key.js';
import { openStore } from '../../src/control-plane/store/store.js';
import { killAtStep } from '../support/statements.js';

/**
 * A node that looks after keys, then sends mails, at a time; it kills itself at the step of that number: before a statement,
 * before workers forget a key, or around a note of a mail that was sent. It ends at SIGTERM.
 */
const [dataDir = '', databaseUrl = '', masterKey = '', now = '', node = '', killAt = '', smtpUrl = ''] =
  process.argv.slice(2);

const log = { info: () => {}, warn: () => {}, error: () => {} };
const store = await openStore({
  dataDir,
  masterKey: new MasterKey(Buffer.from(masterKey, 'hex')),
  databaseUrl: databaseUrl === '' ? null : new Secret(databaseUrl),
  clock: () => Number(now),
});
const { step } = killAtStep(Number(killAt));
const parts = { store, outbox: openOutbox(store), forget: async () => step(), log };
const run = { dueAt: 0, fence: 1, signal: new AbortController().signal, confirm: async () => {} };
await runKeyDuties(parts, run);

class KillableNotes extends SentNotes {
  override add(mail: string): void {
    super.add(mail);
    step();
  }

  override remove(mail: string): void {
    step();
    super.remove(mail);
  }
}

const mailing = new Mailing({
  mails: store.mails,
  server: smtpServerOf(new Secret(smtpUrl), null, null),
  notes: new KillableNotes(join(dataDir, `sent-mails-${node}`)),
  // With several, a step of one would be one at which the server's answer to another is on its way.
  connections: 1,
  everyMs: 20,
  log,
});
mailing.begin();
process.once('SIGTERM', async () => {
  await mailing.stop();
  await store.close();
  process.exit(0);
});
process.send?.('mailing');
