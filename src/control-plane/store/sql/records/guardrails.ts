import { randomUUID } from 'node:crypto';
import { isDeepStrictEqual } from 'node:util';
import type { GuardrailRecord } from '../../../../common/ipc/records.js';
import { etagOf } from '../../records/etag.js';
import type {
  Guardrail,
  GuardrailChange,
  GuardrailContent,
  GuardrailMentions,
  GuardrailStore,
  GuardrailWithContent,
  NewGuardrail,
  StoredCheck,
} from '../../records/guardrails.js';
import type { Listed, Page } from '../../records/place.js';
import { makeSlug } from '../../records/slug.js';
import { shownChecks } from '../../secrets/guardrail-secrets.js';
import type { SealedPlace } from '../../secrets/seal.js';
import type { Database, Sql, Transaction } from '../connection/driver.js';
import { insertNew } from '../connection/statements.js';
import type { DataKeys } from '../keys/data-keys.js';
import { listed, newestFirst } from '../lists.js';
import { isCurrent, replaceRow } from '../revision.js';
import { mentionsOf } from './guardrail-mentions.js';
import { hasWorkspace } from './workspaces.js';

interface GuardrailRow {
  readonly id: string;
  readonly revision: number;
  readonly organisation_id: string;
  readonly workspace_id: string | null;
  readonly slug: string;
  readonly name: string;
  readonly status: Guardrail['status'];
  readonly current_version_id: string;
  readonly owner_id: string | null;
  readonly updated_by: string | null;
  readonly created_at: number | string;
  readonly updated_at: number | string;
}

interface VersionRow {
  /** Secrets in them are masked. */
  readonly checks: string;
  /** The whole checks, where they hold secrets. */
  readonly sealed: Buffer | null;
  readonly actions: string;
}

const fromRow = (row: GuardrailRow): Guardrail => ({
  id: row.id,
  organisationId: row.organisation_id,
  workspaceId: row.workspace_id,
  slug: row.slug,
  name: row.name,
  status: row.status,
  versionId: row.current_version_id,
  ownerId: row.owner_id,
  updatedBy: row.updated_by,
  createdAt: Number(row.created_at),
  updatedAt: Number(row.updated_at),
  etag: etagOf(row),
});

const rowAt = (sql: Sql, organisationId: string, idOrSlug: string): Promise<GuardrailRow | undefined> =>
  sql('guardrails')
    .where({ organisation_id: organisationId })
    .andWhere((either) => either.where({ id: idOrSlug }).orWhere({ slug: idOrSlug }))
    .first();

const versionOf = (sql: Sql, row: GuardrailRow): Promise<VersionRow> =>
  sql('guardrail_versions')
    .where({ organisation_id: row.organisation_id, id: row.current_version_id })
    .first('checks', 'sealed', 'actions');

const sealedPlace = ({ organisation_id, current_version_id }: GuardrailRow): SealedPlace => ({
  table: 'guardrail_versions',
  row: current_version_id,
  organisation: organisation_id,
  field: 'sealed',
});

export class SqlGuardrails implements GuardrailStore {
  constructor(
    readonly database: Database,
    readonly dataKeys: DataKeys,
    readonly now: () => number,
  ) {}

  get(organisationId: string, idOrSlug: string): Promise<GuardrailWithContent | null> {
    return this.database.read(async (sql) => {
      const row = await rowAt(sql, organisationId, idOrSlug);
      if (row === undefined) return null;
      const { checks, actions } = await versionOf(sql, row);
      return { ...fromRow(row), checks: JSON.parse(checks), actions: JSON.parse(actions) };
    });
  }

  open(organisationId: string, idOrSlug: string): Promise<readonly StoredCheck[] | null> {
    return this.database.read(async (sql) => {
      const row = await rowAt(sql, organisationId, idOrSlug);
      return row === undefined ? null : (await this.#contentOf(sql, row)).checks;
    });
  }

  find(scope: string, idOrSlug: string): Promise<GuardrailRecord | null> {
    return this.database.read(async (sql) => {
      const workspace = await sql('workspaces')
        .where({ id: scope, status: 'active' })
        .first('organisation_id');
      const row = await rowAt(sql, workspace?.organisation_id ?? scope, idOrSlug);
      if (row === undefined || row.status !== 'active') return null;
      if (row.workspace_id !== null && row.workspace_id !== scope) return null;
      const { checks, actions } = await this.#contentOf(sql, row);
      return {
        slug: row.slug,
        versionId: row.current_version_id,
        checks: checks
          .filter(({ isEnabled }) => isEnabled)
          .map(({ id, parameters }) => ({ id, parameters: { ...parameters } })),
        ...{ deny: actions.deny, async: actions.async, sequential: actions.sequential },
        ...{ onSuccess: actions.onSuccess, onFail: actions.onFail },
        softDeny: actions.softDeny ?? false,
        incremental: actions.incremental ?? false,
        passthroughPaths: [...(actions.passthroughPaths ?? [])],
        passthroughAllowed: actions.passthroughAllowed ?? false,
      };
    });
  }

  async #contentOf(sql: Sql, row: GuardrailRow): Promise<GuardrailContent> {
    const { checks, sealed, actions } = await versionOf(sql, row);
    const whole = sealed === null ? checks : await this.dataKeys.open(sql, sealedPlace(row), sealed);
    return { checks: JSON.parse(whole), actions: JSON.parse(actions) };
  }

  list(organisationId: string, workspaceId: string | null, page: Page): Promise<Listed<Guardrail>> {
    return this.database.read((sql) => {
      const all = sql('guardrails').where({
        organisation_id: organisationId,
        workspace_id: workspaceId,
        status: 'active',
      });
      return listed(all, newestFirst, page, fromRow);
    });
  }

  mentions(guardrail: Guardrail, most: number): Promise<GuardrailMentions> {
    return this.database.read((sql) => mentionsOf(sql, guardrail, most));
  }

  async create(
    organisationId: string,
    workspaceId: string | null,
    input: NewGuardrail,
  ): Promise<Guardrail | 'missing'> {
    for (let attempt = 1; ; attempt++) {
      const made = await this.database.write((sql) => this.#insert(sql, organisationId, workspaceId, input));
      if (made !== 'taken') return made;
      if (attempt === 5) throw new Error('No slug was found for the guardrail that is not taken.');
    }
  }

  async #insert(
    sql: Transaction,
    organisationId: string,
    workspaceId: string | null,
    input: NewGuardrail,
  ): Promise<Guardrail | 'taken' | 'missing'> {
    if (workspaceId !== null && !(await hasWorkspace(sql, { organisationId, workspaceId }))) return 'missing';
    const now = this.now();
    const row: GuardrailRow = {
      id: randomUUID(),
      revision: 1,
      organisation_id: organisationId,
      workspace_id: workspaceId,
      slug: makeSlug('pg-', input.name),
      name: input.name,
      status: 'active',
      current_version_id: randomUUID(),
      owner_id: input.by,
      updated_by: input.by,
      created_at: now,
      updated_at: now,
    };
    if (!(await insertNew(sql, 'guardrails', row))) return 'taken';
    await this.#addVersion(sql, row, input);
    return fromRow(row);
  }

  async #addVersion(sql: Transaction, row: GuardrailRow, content: GuardrailContent): Promise<void> {
    const own = { organisation_id: row.organisation_id, guardrail_id: row.id };
    const checks = JSON.stringify(content.checks);
    const shown = shownChecks(checks);
    const last = await sql('guardrail_versions').where(own).max('number as number').first();
    await sql('guardrail_versions').insert({
      ...own,
      id: row.current_version_id,
      number: Number(last?.['number'] ?? 0) + 1,
      checks: shown ?? checks,
      sealed: shown === null ? null : await this.dataKeys.seal(sql, sealedPlace(row), checks),
      actions: JSON.stringify(content.actions),
      created_by: row.updated_by,
      created_at: this.now(),
    });
  }

  update(
    organisationId: string,
    idOrSlug: string,
    change: GuardrailChange,
  ): Promise<Guardrail | 'missing' | 'stale'> {
    return this.database.write(async (sql) => {
      const row = await rowAt(sql, organisationId, idOrSlug);
      if (row === undefined) return 'missing';
      if (!isCurrent(row, change.etag)) return 'stale';
      const before = await this.#contentOf(sql, row);
      const content = { checks: change.checks ?? before.checks, actions: change.actions ?? before.actions };
      const isNew = !isDeepStrictEqual(content, before);
      const changed: GuardrailRow = {
        ...row,
        name: change.name ?? row.name,
        status: change.status ?? row.status,
        current_version_id: isNew ? randomUUID() : row.current_version_id,
        updated_by: change.by,
        updated_at: this.now(),
      };
      if (isNew) await this.#addVersion(sql, changed, content);
      const written = await replaceRow(sql, 'guardrails', changed);
      return written === 'stale' ? written : fromRow(written);
    });
  }
}
