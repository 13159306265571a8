import { randomBytes, randomUUID } from 'node:crypto';
import { hashGatewayKey } from '../../../../common/access/gateway-key.js';
import { Secret } from '../../../../common/access/secret.js';
import { sessionTokenPrefix } from '../../../../common/access/session-token.js';
import type { Listed, Page } from '../../records/place.js';
import type {
  MadeSession,
  NewSession,
  Session,
  SessionFilter,
  SessionStore,
} from '../../records/sessions.js';
import type { Database } from '../connection/driver.js';
import { listed, newestFirst } from '../lists.js';

interface SessionRow {
  readonly id: string;
  readonly organisation_id: string;
  readonly user_id: string;
  readonly token_hash: string;
  readonly address: string;
  readonly user_agent: string;
  readonly created_at: number | string;
  readonly seen_at: number | string;
  readonly expires_at: number | string;
}

const maxAgeMs = 7 * 24 * 60 * 60_000;
const seenEveryMs = 60_000;
const maxOfUser = 100;

const fromRow = (row: SessionRow): Session => ({
  id: row.id,
  organisationId: row.organisation_id,
  userId: row.user_id,
  address: row.address,
  userAgent: row.user_agent,
  createdAt: Number(row.created_at),
  seenAt: Number(row.seen_at),
  expiresAt: Number(row.expires_at),
});

const agentOf = (text: string): string => text.replaceAll('\0', '').slice(0, 512);

export class SqlSessions implements SessionStore {
  constructor(
    readonly database: Database,
    readonly pepper: Buffer,
    readonly now: () => number,
  ) {}

  /** Keyed, and never the hash of a gateway key or of another token. */
  #hash(token: string): string {
    return hashGatewayKey(this.pepper, `session ${token}`);
  }

  create(organisationId: string, input: NewSession): Promise<MadeSession | 'missing'> {
    const token = sessionTokenPrefix + randomBytes(32).toString('base64url');
    const now = this.now();
    const row: SessionRow = {
      id: randomUUID(),
      organisation_id: organisationId,
      user_id: input.userId,
      token_hash: this.#hash(token),
      address: input.address,
      user_agent: agentOf(input.userAgent),
      created_at: now,
      seen_at: now,
      expires_at: now + maxAgeMs,
    };
    return this.database.write(async (sql) => {
      const owner = { organisation_id: organisationId, id: input.userId, is_active: true };
      if ((await sql('users').where(owner).first('id')) === undefined) return 'missing';
      const own = { organisation_id: organisationId, user_id: input.userId };
      const surplus: string[] = await sql('sessions')
        .where(own)
        .orderBy([...newestFirst])
        .offset(maxOfUser - 1)
        .limit(maxOfUser)
        .pluck('id');
      if (surplus.length > 0) await sql('sessions').where(own).whereIn('id', surplus).delete();
      await sql('sessions').insert(row);
      return { session: fromRow(row), token: new Secret(token) };
    });
  }

  get(organisationId: string, id: string): Promise<Session | null> {
    return this.#one({ organisation_id: organisationId, id });
  }

  findByToken(token: string): Promise<Session | null> {
    return this.#one({ token_hash: this.#hash(token) });
  }

  #one(where: Partial<SessionRow>): Promise<Session | null> {
    return this.database.read(async (sql) => {
      const row: SessionRow | undefined = await sql('sessions')
        .where(where)
        .where('expires_at', '>', this.now())
        .first();
      return row === undefined ? null : fromRow(row);
    });
  }

  list(organisationId: string, { userId, since }: SessionFilter, page: Page): Promise<Listed<Session>> {
    return this.database.read((sql) => {
      const wanted = sql('sessions')
        .where({ organisation_id: organisationId })
        .where('expires_at', '>', this.now());
      if (userId !== undefined) wanted.where({ user_id: userId });
      if (since !== undefined) wanted.where('created_at', '>', since);
      return listed(wanted, newestFirst, page, fromRow);
    });
  }

  async seen(session: Session, address: string, userAgent: string): Promise<void> {
    const now = this.now();
    if (now - session.seenAt < seenEveryMs) return;
    await this.database.write(async (sql) => {
      await sql('sessions')
        .where({ organisation_id: session.organisationId, id: session.id })
        .update({ seen_at: now, address, user_agent: agentOf(userAgent) });
    });
  }

  end(organisationId: string, id: string): Promise<Session | 'missing'> {
    return this.database.write(async (sql) => {
      const where = { organisation_id: organisationId, id };
      const row: SessionRow | undefined = await sql('sessions').where(where).first();
      if (row === undefined) return 'missing';
      await sql('sessions').where(where).delete();
      return fromRow(row);
    });
  }

  endAll(organisationId: string, userId: string): Promise<number> {
    return this.database.write((sql) =>
      sql('sessions').where({ organisation_id: organisationId, user_id: userId }).delete(),
    );
  }

  csrfToken(token: string): Secret {
    return new Secret(hashGatewayKey(this.pepper, `csrf ${token}`));
  }

  async prune(): Promise<void> {
    await this.database.write(async (sql) => {
      await sql('sessions').where('expires_at', '<=', this.now()).delete();
    });
  }
}
