import { emailKey, emailProblem, normalEmail } from '../../../../common/access/email.js';
import { Secret } from '../../../../common/access/secret.js';
import { uuidv7 } from '../../../../common/text/id.js';
import type {
  ClaimedMail,
  Mail,
  MailFilter,
  MailKind,
  MailOutcome,
  MailStatus,
  MailStore,
  NewMail,
} from '../../records/mails.js';
import type { Listed, Page } from '../../records/place.js';
import type { SealedPlace } from '../../secrets/seal.js';
import type { Database, Sql } from '../connection/driver.js';
import { databaseNow } from '../database-clock.js';
import type { DataKeys } from '../keys/data-keys.js';
import { listed, newestFirst } from '../lists.js';
import { boundedContent } from './mail-content.js';

/** PostgreSQL gives large whole numbers as texts. */
type Whole = number | string;

interface MailRow {
  readonly id: string;
  readonly organisation_id: string;
  readonly workspace_id: string | null;
  readonly kind: MailKind;
  readonly event: string;
  readonly resource_id: string;
  readonly recipient: string;
  readonly recipient_key: string;
  readonly content: string;
  readonly sealed_link: Buffer | null;
  readonly status: MailStatus;
  readonly tries: number;
  readonly due_at: Whole;
  readonly give_up_at: Whole;
  readonly error: string | null;
  readonly created_at: Whole;
  readonly sent_at: Whole | null;
}

/** A mail that was not accepted for so long has failed. Milliseconds. */
const givenUpMs = 24 * 3_600_000;
/** Mails are deleted after that; links that were not sent after 7 days, when they open nothing. */
const keptMs = 30 * 86_400_000;
const linkKeptMs = 7 * 86_400_000;
/** Of one event. */
const mostRecipients = 1000;
/** Characters of an error. */
const longestError = 300;

const linkPlace = ({ id, organisation_id }: Pick<MailRow, 'id' | 'organisation_id'>): SealedPlace => ({
  ...{ table: 'mails', row: id, organisation: organisation_id, field: 'link' },
});

const fromRow = (row: MailRow): Mail => ({
  id: row.id,
  organisationId: row.organisation_id,
  workspaceId: row.workspace_id,
  kind: row.kind,
  event: row.event,
  resourceId: row.resource_id,
  recipient: row.recipient,
  content: JSON.parse(row.content),
  status: row.status,
  tries: row.tries,
  dueAt: row.status === 'pending' ? Number(row.due_at) : null,
  error: row.error,
  createdAt: Number(row.created_at),
  sentAt: row.sent_at === null ? null : Number(row.sent_at),
  hasLink: row.sealed_link !== null,
});

export class SqlMails implements MailStore {
  /** The same clock for all nodes: PostgreSQL's, unless a test sets one. With SQLite there is only one node. */
  readonly #time: (sql: Sql) => Promise<number>;

  constructor(
    readonly database: Database,
    readonly dataKeys: DataKeys,
    now: () => number,
  ) {
    const isShared = database.dialect === 'postgres' && now === Date.now;
    this.#time = isShared ? databaseNow : async () => now();
  }

  add(mail: NewMail): Promise<void> {
    const byKey = new Map(
      mail.recipients
        .filter((address) => emailProblem(address) === null)
        .slice(0, mostRecipients)
        .map((address) => [emailKey(address), normalEmail(address)] as const)
        // Of two spellings the first.
        .reverse(),
    );
    if (byKey.size === 0) return Promise.resolve();
    const content = JSON.stringify(boundedContent(mail.content));
    return this.database.write(async (sql) => {
      const now = await this.#time(sql);
      for (const [recipient_key, recipient] of byKey) {
        const own = { id: uuidv7(now), organisation_id: mail.organisationId };
        const row: MailRow = {
          ...own,
          workspace_id: mail.workspaceId,
          kind: mail.kind,
          event: mail.event,
          resource_id: mail.resourceId,
          recipient,
          recipient_key,
          content,
          sealed_link:
            mail.link === undefined
              ? null
              : await this.dataKeys.seal(sql, linkPlace(own), mail.link.reveal()),
          status: 'pending',
          tries: 0,
          due_at: now,
          give_up_at: now + givenUpMs,
          error: null,
          created_at: now,
          sent_at: null,
        };
        await sql('mails').insert(row).onConflict(['organisation_id', 'event', 'recipient_key']).ignore();
      }
    });
  }

  get(organisationId: string, id: string): Promise<Mail | null> {
    return this.database.read(async (sql) => {
      const row: MailRow | undefined = await sql('mails')
        .where({ organisation_id: organisationId, id })
        .first();
      return row === undefined ? null : fromRow(row);
    });
  }

  list(organisationId: string, filter: MailFilter, page: Page): Promise<Listed<Mail>> {
    const { status, kind, recipient } = filter;
    return this.database.read((sql) => {
      const wanted = sql('mails').where({
        organisation_id: organisationId,
        ...(status !== undefined && { status }),
        ...(kind !== undefined && { kind }),
        ...(recipient !== undefined && { recipient_key: emailKey(recipient) }),
      });
      return listed(wanted, newestFirst, page, fromRow);
    });
  }

  withdraw(organisationId: string, kind: MailKind, resourceId: string): Promise<void> {
    return this.database.write(async (sql) => {
      await sql('mails')
        .where({ organisation_id: organisationId, kind, resource_id: resourceId })
        .whereNot({ status: 'sent' })
        .delete();
    });
  }

  async claim(holdMs: number): Promise<ClaimedMail | null> {
    const due = (sql: Sql, now: number) =>
      sql('mails').where({ status: 'pending' }).andWhere('due_at', '<=', now).orderBy(['due_at', 'id']);
    // Usually none is due: a read does not block writers.
    const isAny = async (sql: Sql) => (await due(sql, await this.#time(sql)).first('id')) !== undefined;
    if (!(await this.database.read(isAny))) return null;
    return this.database.write(
      async (sql) => {
        const now = await this.#time(sql);
        const free = due(sql, now);
        const row: MailRow | undefined = await (this.database.dialect === 'postgres'
          ? free.forUpdate().skipLocked()
          : free
        ).first();
        if (row === undefined) return null;
        const tries = row.tries + 1;
        await sql('mails')
          .where({ id: row.id })
          .update({ tries, due_at: now + holdMs });
        const { sealed_link: sealed } = row;
        const link =
          sealed === null ? null : new Secret(await this.dataKeys.open(sql, linkPlace(row), sealed));
        return { ...fromRow({ ...row, tries }), link, leftMs: Number(row.give_up_at) - now };
      },
      { lock: async () => {} },
    );
  }

  settle({ id, tries }: Pick<Mail, 'id' | 'tries'>, outcome: MailOutcome): Promise<boolean> {
    const changeAt = (now: number): Partial<MailRow> => {
      if (outcome.is === 'sent') return { status: 'sent', sent_at: now, error: null, sealed_link: null };
      const error = outcome.error.slice(0, longestError);
      return outcome.is === 'failed' ? { status: 'failed', error } : { due_at: now + outcome.afterMs, error };
    };
    return this.database.write(
      async (sql) =>
        (await sql('mails')
          .where({ id, status: 'pending' })
          // The mail was sent, even if another node has claimed it since.
          .andWhere((own) => (outcome.is === 'sent' ? own : own.where({ tries })))
          .update(changeAt(await this.#time(sql)))) > 0,
      { lock: async () => {} },
    );
  }

  retry(organisationId: string, id: string): Promise<Mail | 'missing' | 'not-failed' | 'spent'> {
    return this.database.write(async (sql) => {
      const row: MailRow | undefined = await sql('mails')
        .where({ organisation_id: organisationId, id })
        .first();
      if (row === undefined) return 'missing';
      if (row.status !== 'failed') return 'not-failed';
      if (row.kind === 'invite' && row.sealed_link === null) return 'spent';
      const now = await this.#time(sql);
      const change = { status: 'pending' as const, tries: 0, due_at: now, give_up_at: now + givenUpMs };
      await sql('mails').where({ id, status: 'failed' }).update(change);
      return fromRow({ ...row, ...change });
    });
  }

  prune(): Promise<void> {
    return this.database.write(async (sql) => {
      const now = await this.#time(sql);
      await sql('mails')
        .where('created_at', '<', now - keptMs)
        .delete();
      await sql('mails')
        .where('created_at', '<', now - linkKeptMs)
        .whereNotNull('sealed_link')
        .update({ sealed_link: null });
    });
  }
}
