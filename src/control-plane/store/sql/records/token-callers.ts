import { emailKey } from '../../../../common/access/email.js';
import type { FoundTokenCaller, TokenCaller, TokenCallerStore } from '../../records/token-callers.js';
import type { Database } from '../connection/driver.js';
import { firstRow } from '../connection/statements.js';
import { type FoundRow, surroundings, toRecord } from './api-keys.js';

type CallerRow = Omit<FoundRow, keyof ReturnType<typeof columnsOf>> & {
  readonly organisation_created_at: number | string;
};

const inWorkspace = `SELECT organisations.id AS organisation_id,
    organisations.created_at AS organisation_created_at,
    workspaces.id AS workspace_id,
    users.id AS user_id,
    ${surroundings}
  FROM workspaces
  JOIN organisations ON organisations.id = workspaces.organisation_id
  LEFT JOIN users ON users.organisation_id = workspaces.organisation_id AND (users.id = ? OR users.email_key = ?)
  LEFT JOIN workspace_members ON workspace_members.organisation_id = workspaces.organisation_id
    AND workspace_members.workspace_id = workspaces.id
    AND workspace_members.user_id = users.id
  WHERE workspaces.organisation_id = ? AND workspaces.status = 'active' AND (workspaces.id = ? OR workspaces.slug = ?)
  LIMIT 1`;

/** The columns of a key that a token has in its place. */
const columnsOf = (caller: TokenCaller) => ({
  id: caller.keyId,
  name: caller.keyName,
  scopes: JSON.stringify(caller.scopes),
  default_config_id: caller.configId,
  allow_config_override: true,
  default_metadata: JSON.stringify(caller.metadata),
  rate_limits: JSON.stringify(caller.rateLimits),
  usage_limits: null,
});

export class SqlTokenCallers implements TokenCallerStore {
  constructor(readonly database: Database) {}

  find(
    organisationId: string,
    workspace: string,
    caller: TokenCaller,
  ): Promise<FoundTokenCaller | 'missing' | 'outside'> {
    return this.database.read(async (sql) => {
      const { user } = caller;
      const email = user?.includes('@') ? emailKey(user) : null;
      const values = [user, email, organisationId, workspace, workspace];
      const row = await firstRow<CallerRow>(sql, inWorkspace, values);
      if (row === undefined) return 'missing';
      const type = row.user_id === null ? 'workspace-service' : 'workspace-user';
      const record = toRecord({ ...row, ...columnsOf(caller), type }, caller.expiresAt);
      if (record === null) return 'outside';
      return { record: { ...record, isToken: true }, createdAt: Number(row.organisation_created_at) };
    });
  }
}
