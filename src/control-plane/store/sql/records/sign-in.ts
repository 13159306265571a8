import { randomBytes, randomUUID } from 'node:crypto';
import { emailKey } from '../../../../common/access/email.js';
import { hashGatewayKey } from '../../../../common/access/gateway-key.js';
import { Secret } from '../../../../common/access/secret.js';
import type { SignInStore, SignInUser, UserLink } from '../../records/sign-in.js';
import type { User, UserStore } from '../../records/users.js';
import type { Database, Sql } from '../connection/driver.js';
import { isKeepable } from '../connection/failure.js';

interface LinkRow {
  readonly id: string;
  readonly organisation_id: string;
  readonly user_id: string | null;
  readonly token_hash: string;
  readonly created_at: number | string;
  readonly expires_at: number | string;
}

const linkAgeMs = 24 * 60 * 60_000;
/** Organisations that are looked through for an address, where none is named. */
const maxUsers = 10;

const linkOf = (row: LinkRow): UserLink => ({
  id: row.id,
  organisationId: row.organisation_id,
  userId: row.user_id,
  expiresAt: Number(row.expires_at),
});

const hashOf = async (sql: Sql, organisationId: string, userId: string): Promise<string | null> => {
  const where = { organisation_id: organisationId, user_id: userId };
  const row: { hash: string } | undefined = await sql('passwords').where(where).first('hash');
  return row?.hash ?? null;
};

export class SqlSignIn implements SignInStore {
  constructor(
    readonly database: Database,
    readonly users: UserStore,
    readonly pepper: Buffer,
    readonly now: () => number,
  ) {}

  #hash(kind: 'link' | 'state', token: string): string {
    return hashGatewayKey(this.pepper, `${kind} ${token}`);
  }

  async findByEmail(email: string, organisationId?: string): Promise<readonly SignInUser[]> {
    if (!isKeepable(email)) return [];
    return this.database.read(async (sql) => {
      const wanted = sql('users').where({ email_key: emailKey(email), is_active: true });
      if (organisationId !== undefined) wanted.where({ organisation_id: organisationId });
      const rows: { id: string; organisation_id: string }[] = await wanted
        .orderBy(['created_at', 'id'])
        .limit(maxUsers)
        .select('id', 'organisation_id');
      const found: SignInUser[] = [];
      // As many questions as for a user that is found: the time does not show whether there is one.
      if (rows.length === 0) {
        await this.users.list('', { email }, { offset: 0, limit: 1 });
        await hashOf(sql, '', '');
      }
      for (const { id, organisation_id } of rows) {
        const user = await this.users.get(organisation_id, id);
        if (user !== null) found.push({ user, passwordHash: await hashOf(sql, organisation_id, id) });
      }
      return found;
    });
  }

  passwordHash(organisationId: string, userId: string): Promise<string | null> {
    return this.database.read((sql) => hashOf(sql, organisationId, userId));
  }

  setPassword(organisationId: string, userId: string, hash: string): Promise<'set' | 'missing'> {
    return this.database.write(async (sql) => {
      if (!(await this.#hasUser(sql, organisationId, userId))) return 'missing';
      await sql('passwords')
        .insert({ user_id: userId, organisation_id: organisationId, hash, updated_at: this.now() })
        .onConflict('user_id')
        .merge(['hash', 'updated_at']);
      return 'set';
    });
  }

  async #hasUser(sql: Sql, organisationId: string, id: string): Promise<boolean> {
    return (await sql('users').where({ organisation_id: organisationId, id }).first('id')) !== undefined;
  }

  makeLink(
    organisationId: string,
    userId: string | null,
  ): Promise<{ link: UserLink; token: Secret } | 'missing'> {
    const token = randomBytes(32).toString('base64url');
    const now = this.now();
    const row: LinkRow = {
      id: randomUUID(),
      organisation_id: organisationId,
      user_id: userId,
      token_hash: this.#hash('link', token),
      created_at: now,
      expires_at: now + linkAgeMs,
    };
    return this.database.write(async (sql) => {
      if (userId !== null && !(await this.#hasUser(sql, organisationId, userId))) return 'missing';
      await sql('user_links').where({ organisation_id: organisationId, user_id: userId }).delete();
      await sql('user_links').insert(row);
      return { link: linkOf(row), token: new Secret(token) };
    });
  }

  findLink(token: string): Promise<UserLink | null> {
    return this.database.read(async (sql) => {
      const row: LinkRow | undefined = await sql('user_links')
        .where({ token_hash: this.#hash('link', token) })
        .where('expires_at', '>', this.now())
        .first();
      return row === undefined ? null : linkOf(row);
    });
  }

  useLink(organisationId: string, id: string): Promise<boolean> {
    return this.database.write(
      async (sql) => (await sql('user_links').where({ organisation_id: organisationId, id }).delete()) === 1,
    );
  }

  async endLinks(organisationId: string, userId: string): Promise<void> {
    await this.database.write(async (sql) => {
      await sql('user_links').where({ organisation_id: organisationId, user_id: userId }).delete();
    });
  }

  userOfIdentity(organisationId: string, issuer: string, subject: string): Promise<User | null> {
    return this.database.read(async (sql) => {
      const row: { user_id: string } | undefined = await sql('user_identities')
        .where({ organisation_id: organisationId, issuer, subject })
        .first('user_id');
      return row === undefined ? null : this.users.get(organisationId, row.user_id);
    });
  }

  async addIdentity(organisationId: string, userId: string, issuer: string, subject: string): Promise<void> {
    await this.database.write(async (sql) => {
      await sql('user_identities')
        .insert({
          organisation_id: organisationId,
          issuer,
          subject,
          user_id: userId,
          created_at: this.now(),
        })
        .onConflict(['organisation_id', 'issuer', 'subject'])
        .ignore();
    });
  }

  useState(state: string, expiresAt: number): Promise<boolean> {
    const hash = this.#hash('state', state);
    return this.database.write(async (sql) => {
      const made: unknown[] = await sql('used_states')
        .insert({ hash, expires_at: expiresAt })
        .onConflict('hash')
        .ignore()
        .returning('hash');
      return made.length === 1;
    });
  }

  async prune(): Promise<void> {
    await this.database.write(async (sql) => {
      await sql('user_links').where('expires_at', '<=', this.now()).delete();
      await sql('used_states').where('expires_at', '<=', this.now()).delete();
    });
  }
}
