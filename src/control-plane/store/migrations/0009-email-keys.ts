import { emailKey } from '../../../common/access/email.js';
import type { Transaction } from '../sql/connection/driver.js';

interface Row {
  readonly id: string;
  readonly organisation_id: string;
  readonly email: string;
  readonly email_key: string;
}

/** Rows per query. */
const pieceOf = 500;

/**
 * Recomputes the keys that addresses are compared by. Where another user of the organisation has the new key already,
 * the user keeps the old one: both remain.
 */
export async function up(sql: Transaction): Promise<void> {
  for (const table of ['users', 'invites'] as const) {
    for (let last = ''; ; ) {
      const rows: Row[] = await sql(table)
        .where('id', '>', last)
        .orderBy('id')
        .limit(pieceOf)
        .select('id', 'organisation_id', 'email', 'email_key');
      for (const { id, organisation_id, email, email_key: before } of rows) {
        const email_key = emailKey(email);
        if (email_key === before) continue;
        const taken =
          table === 'users' && (await sql(table).where({ organisation_id, email_key }).first('id'));
        if (!taken) await sql(table).where({ id }).update({ email_key });
      }
      const end = rows.at(-1);
      if (end === undefined) break;
      last = end.id;
    }
  }
}
