import { randomBytes, randomUUID } from 'node:crypto';
import { emailKey, emailPart } from '../../../../common/access/email.js';
import { hashGatewayKey } from '../../../../common/access/gateway-key.js';
import { Secret } from '../../../../common/access/secret.js';
import type { Invite, InviteFilter, InviteStore, MadeInvite, NewInvite } from '../../records/invites.js';
import type { Listed, Page } from '../../records/place.js';
import type { Database, Sql } from '../connection/driver.js';
import { containing, listed, newestFirst } from '../lists.js';
import { replaceRow } from '../revision.js';

interface InviteRow {
  readonly id: string;
  readonly revision: number;
  readonly organisation_id: string;
  readonly email: string;
  readonly email_key: string;
  readonly role: Invite['role'];
  /** JSON. */
  readonly workspaces: string;
  readonly key_details: string | null;
  readonly token_hash: string;
  readonly status: 'pending' | 'cancelled' | 'accepted';
  readonly invited_by: string;
  readonly created_at: number | string;
  readonly expires_at: number | string;
  readonly accepted_at: number | string | null;
}

const openForMs = 7 * 24 * 60 * 60_000;

const rowOf = (sql: Sql, organisationId: string, id: string): Promise<InviteRow | undefined> =>
  sql('invites').where({ organisation_id: organisationId, id }).first();

export class SqlInvites implements InviteStore {
  constructor(
    readonly database: Database,
    readonly pepper: Buffer,
    readonly now: () => number,
  ) {}

  /** Keyed, and never the hash of a gateway key, whatever is sent as a token. */
  #hash(token: string): string {
    return hashGatewayKey(this.pepper, `invite ${token}`);
  }

  readonly #fromRow = (row: InviteRow): Invite => ({
    id: row.id,
    organisationId: row.organisation_id,
    email: row.email,
    role: row.role,
    workspaces: JSON.parse(row.workspaces),
    keyDetails: row.key_details === null ? null : JSON.parse(row.key_details),
    status: row.status === 'pending' && Number(row.expires_at) <= this.now() ? 'expired' : row.status,
    invitedBy: row.invited_by,
    createdAt: Number(row.created_at),
    expiresAt: Number(row.expires_at),
    acceptedAt: row.accepted_at === null ? null : Number(row.accepted_at),
  });

  get(organisationId: string, id: string): Promise<Invite | null> {
    return this.database.read(async (sql) => {
      const row = await rowOf(sql, organisationId, id);
      return row === undefined ? null : this.#fromRow(row);
    });
  }

  list(organisationId: string, filter: InviteFilter, page: Page): Promise<Listed<Invite>> {
    return this.database.read(async (sql) => {
      const wanted = sql('invites').where({ organisation_id: organisationId });
      if (filter.role !== undefined) wanted.where({ role: filter.role });
      if (filter.email !== undefined) wanted.where({ email_key: emailKey(filter.email) });
      if (filter.search !== undefined) containing(wanted, ['email'], emailPart(filter.search));
      const { status } = filter;
      if (status !== undefined) wanted.where({ status: status === 'expired' ? 'pending' : status });
      if (status === 'pending') wanted.where('expires_at', '>', this.now());
      if (status === 'expired') wanted.where('expires_at', '<=', this.now());
      return listed(wanted, newestFirst, page, this.#fromRow);
    });
  }

  create(organisationId: string, input: NewInvite): Promise<MadeInvite> {
    const token = randomBytes(32).toString('base64url');
    const now = this.now();
    const row: InviteRow = {
      id: randomUUID(),
      revision: 1,
      organisation_id: organisationId,
      email: input.email.trim(),
      email_key: emailKey(input.email),
      role: input.role,
      workspaces: JSON.stringify(input.workspaces),
      key_details: input.keyDetails === null ? null : JSON.stringify(input.keyDetails),
      token_hash: this.#hash(token),
      status: 'pending',
      invited_by: input.invitedBy,
      created_at: now,
      expires_at: now + openForMs,
      accepted_at: null,
    };
    return this.database.write(async (sql) => {
      await sql('invites').insert(row);
      return { invite: this.#fromRow(row), token: new Secret(token) };
    });
  }

  cancel(organisationId: string, id: string): Promise<Invite | 'missing' | 'settled'> {
    return this.#settle(organisationId, id, { status: 'cancelled' });
  }

  async renew(organisationId: string, id: string): Promise<MadeInvite | 'missing' | 'settled'> {
    const token = randomBytes(32).toString('base64url');
    const invite = await this.#settle(organisationId, id, {
      token_hash: this.#hash(token),
      expires_at: this.now() + openForMs,
    });
    return typeof invite === 'string' ? invite : { invite, token: new Secret(token) };
  }

  /** Changes one that is pending, whether expired or not. */
  #settle(
    organisationId: string,
    id: string,
    change: Partial<InviteRow>,
  ): Promise<Invite | 'missing' | 'settled'> {
    return this.database.write(async (sql) => {
      const row = await rowOf(sql, organisationId, id);
      if (row === undefined) return 'missing';
      if (row.status !== 'pending') return 'settled';
      const written = await replaceRow(sql, 'invites', { ...row, ...change });
      return written === 'stale' ? 'settled' : this.#fromRow(written);
    });
  }

  findByToken(token: string): Promise<Invite | null> {
    return this.database.read(async (sql) => {
      const row: InviteRow | undefined = await sql('invites')
        .where({ token_hash: this.#hash(token), status: 'pending' })
        .where('expires_at', '>', this.now())
        .first();
      return row === undefined ? null : this.#fromRow(row);
    });
  }

  accept(organisationId: string, id: string): Promise<Invite | 'missing'> {
    return this.database.write(async (sql) => {
      const row = await rowOf(sql, organisationId, id);
      if (row === undefined || this.#fromRow(row).status !== 'pending') return 'missing';
      const accepted: InviteRow = { ...row, status: 'accepted', accepted_at: this.now() };
      const written = await replaceRow(sql, 'invites', accepted);
      return written === 'stale' ? 'missing' : this.#fromRow(written);
    });
  }
}
