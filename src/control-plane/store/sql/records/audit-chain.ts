import { createHash, createHmac, timingSafeEqual } from 'node:crypto';
import { GatewayError } from '../../../../common/core/errors.js';
import { AnchorKey } from '../../files/audit-anchors.js';
import type { AuditEntry } from '../../records/audit.js';
import type { Sql, Transaction } from '../connection/driver.js';
import { firstRow, forUpdate, insertRow, updateRows } from '../connection/statements.js';

export interface AuditRow {
  readonly organisation_id: string;
  readonly seq: number;
  readonly at: number;
  readonly workspace_id: string | null;
  readonly method: string;
  readonly uri: string;
  readonly request_id: string;
  readonly request_body: string;
  readonly query_params: string;
  readonly request_headers: string;
  readonly user_id: string;
  readonly user_type: AuditEntry['userType'];
  readonly actor_name: string;
  readonly response_status_code: number;
  readonly resource_type: string;
  readonly resource_id: string | null;
  readonly action: string;
  readonly client_ip: string | null;
  readonly country: string | null;
  readonly allowed: boolean | number;
  /** Hash of the row before it. */
  readonly previous: string;
  readonly hash: string;
}

export interface AuditHead {
  readonly seq: number;
  readonly hash: string;
}

interface HeadRow extends AuditHead {
  readonly organisation_id: string;
  readonly mac: string;
}

export const genesis = '0'.repeat(64);

/**
 * SHA-256 over the hash of the row before it and the row, as a JSON list in this order. The row's number is its place
 * in the chain, and not among them: a row that was moved still agrees with itself.
 */
export function hashRow(row: Omit<AuditRow, 'hash'>): string {
  const canonical = JSON.stringify([
    1,
    row.organisation_id,
    row.at,
    row.workspace_id,
    row.method,
    row.uri,
    row.request_id,
    row.request_body,
    row.query_params,
    row.request_headers,
    row.user_id,
    row.user_type,
    row.actor_name,
    row.response_status_code,
    row.resource_type,
    row.resource_id,
    row.action,
    row.client_ip,
    row.country,
    Boolean(row.allowed),
  ]);
  return createHash('sha256').update(Buffer.from(row.previous, 'hex')).update(canonical).digest('hex');
}

const headOf = 'SELECT seq, hash, mac FROM audit_heads WHERE organisation_id = ?';

const unwritable = (why: string): GatewayError =>
  new GatewayError(
    'store_unavailable',
    `The audit log cannot be written: ${why}. Nothing was changed. Run headgate audit verify; after a restore, or a failover to a server that had not received everything, headgate audit accept.`,
  );

/** Organisations whose last head is remembered. */
const mostRemembered = 1000;

/** The ends of the audit logs: which row is the last, vouched for by a key that is not in the database in the clear. */
export class AuditChain {
  readonly #key: () => Buffer;
  /** As this process wrote them last, by organisation; perhaps undone since, or another node's turn has come. */
  readonly #written = new Map<string, HeadRow>();
  /** The newest heads that were committed or anchored, by organisation. An older one in the database was put back. */
  readonly #floors = new Map<string, AuditHead>();

  #anchorKey: AnchorKey | null = null;

  constructor(key: () => Buffer) {
    this.#key = key;
  }

  #mac(...parts: readonly (string | number)[]): Buffer {
    return createHmac('sha256', this.#key()).update(JSON.stringify(parts)).digest();
  }

  #headMac(organisationId: string, { seq, hash }: AuditHead): Buffer {
    return this.#mac('head', organisationId, seq, hash);
  }

  /** The head of a log without rows. */
  async begin(sql: Transaction, organisationId: string): Promise<void> {
    const head: AuditHead = { seq: 0, hash: genesis };
    await insertRow(sql, 'audit_heads', {
      organisation_id: organisationId,
      ...head,
      mac: this.#headMac(organisationId, head).toString('hex'),
    });
  }

  /** Waits for the turn of this transaction among those of the organisation. */
  async lock(sql: Transaction, organisationId: string): Promise<void> {
    await firstRow(sql, `${headOf}${forUpdate(sql)}`, [organisationId]);
  }

  /** null: it is gone, or not what this program wrote. */
  async head(sql: Sql, organisationId: string): Promise<AuditHead | null> {
    return this.#trusted(organisationId, await firstRow(sql, headOf, [organisationId]));
  }

  /** Heads of all organisations that are what this program wrote. */
  async heads(sql: Sql): Promise<readonly (AuditHead & { readonly organisationId: string })[]> {
    const rows: HeadRow[] = await sql('audit_heads').orderBy('organisation_id');
    return rows.flatMap((row) => {
      const head = this.#trusted(row.organisation_id, row);
      return head === null ? [] : { organisationId: row.organisation_id, seq: head.seq, hash: head.hash };
    });
  }

  #trusted(organisationId: string, row: HeadRow | undefined): HeadRow | null {
    if (row === undefined) return null;
    const { hash, mac } = row;
    const head: HeadRow = { organisation_id: organisationId, seq: Number(row.seq), hash, mac };
    const wanted = this.#headMac(organisationId, head);
    const found = Buffer.from(mac, 'hex');
    return found.length === wanted.length && timingSafeEqual(found, wanted) ? head : null;
  }

  /** From now on, a head older than this one is refused: the log has been at least this long. */
  requireAtLeast(organisationId: string, { seq, hash }: AuditHead): void {
    const floor = this.#floors.get(organisationId);
    if (floor === undefined || floor.seq < seq) this.#floors.set(organisationId, { seq, hash });
  }

  /** Is this head older than one that was committed or anchored, or another one in its place? */
  isRolledBack(organisationId: string, { seq, hash }: AuditHead): boolean {
    const floor = this.#floors.get(organisationId);
    return floor !== undefined && (seq < floor.seq || (seq === floor.seq && hash !== floor.hash));
  }

  /** The head to append to, locked. Signing an altered head would make the alteration valid. */
  async #intactHead(sql: Transaction, organisationId: string): Promise<HeadRow> {
    const head = this.#trusted(
      organisationId,
      await firstRow(sql, `${headOf}${forUpdate(sql)}`, [organisationId]),
    );
    if (head === null) throw unwritable('its end was altered');
    if (this.isRolledBack(organisationId, head)) throw unwritable('its last rows are gone');
    return head;
  }

  /**
   * Moves the end of the log by one row, which `next` makes from the head before it, and gives that row. Where the
   * head in the database is still the one written here last, to the letter, it need not be read and verified again.
   */
  async advance<Row extends AuditHead>(
    sql: Transaction,
    organisationId: string,
    next: (head: AuditHead) => Row,
  ): Promise<Row> {
    const last = this.#written.get(organisationId);
    if (last !== undefined && !this.isRolledBack(organisationId, last)) {
      const row = next(last);
      if (await this.#replace(sql, last, row)) return row;
    }
    const head = await this.#intactHead(sql, organisationId);
    const row = next(head);
    if (await this.#replace(sql, head, row)) return row;
    throw new Error('The head of an audit log was moved without its lock.');
  }

  async #replace(sql: Transaction, before: HeadRow, { seq, hash }: AuditHead): Promise<boolean> {
    const { organisation_id } = before;
    const mac = this.#headMac(organisation_id, { seq, hash }).toString('hex');
    if ((await updateRows(sql, 'audit_heads', before, { seq, hash, mac })) !== 1) return false;
    if (this.#written.size >= mostRemembered) this.#written.clear();
    this.#written.set(organisation_id, { organisation_id, seq, hash, mac });
    return true;
  }

  /** Signs the ends of logs that are kept elsewhere. */
  get anchorKey(): AnchorKey {
    this.#anchorKey ??= new AnchorKey(this.#key());
    return this.#anchorKey;
  }

  fingerprint(organisationId: string, secret: string): string {
    return `hmac:${this.#mac('secret', organisationId, secret).toString('base64url').slice(0, 22)}`;
  }
}
