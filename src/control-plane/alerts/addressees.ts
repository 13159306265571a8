import type { AlertAddressees, LedgerAlert } from '../../common/ledger/alerts.js';
import { organisationAdmins } from '../mail/recipients.js';
import type { Place, Store, User } from '../store/store.js';

/** Of each role; more are left out. */
const page = { offset: 0, limit: 200 };

/** Name of the budget's holder or of the anomaly's workspace, and who is to be notified, as the records have them now. */
export async function addresseesOf(store: Store, alert: LedgerAlert): Promise<AlertAddressees> {
  const { org, workspace } = alert;
  const holder = await holderOf(store, alert);
  const emails = await peopleOf(store, org, workspace);
  for (const id of holder.users) {
    const user = await store.users.get(org, id);
    // Who created a key may have left its workspace since.
    if (user?.isActive === true && isOf(user, workspace)) emails.push(user.email);
  }
  // An address is one whatever its case.
  const byAddress = new Map([...emails, ...holder.emails].map((email) => [email.toLowerCase(), email]));
  return { name: holder.name, recipients: [...byAddress.values()] };
}

/** Is the user in the workspace, or an owner or admin of the organisation, who are in all of them? */
const isOf = ({ role, workspaceIds }: User, workspaceId: string | null): boolean =>
  role !== 'member' || (workspaceId !== null && workspaceIds.includes(workspaceId));

interface Holder {
  readonly name: string | null;
  /** The user and the creator of a key. */
  readonly users: readonly string[];
  readonly emails: readonly string[];
}

const unknown: Holder = { name: null, users: [], emails: [] };

async function holderOf(store: Store, alert: LedgerAlert): Promise<Holder> {
  if (alert.event === 'anomaly') return named(await store.workspaces.get(alert.org, alert.workspace));
  const { org, holder, holderId, workspace } = alert;
  switch (holder) {
    case 'api_key': {
      const key = await store.keys.get(org, holderId);
      if (key === null) return unknown;
      const users = [key.userId, key.createdBy].filter((id) => id !== null);
      return { name: key.name, users, emails: key.alertEmails };
    }
    case 'workspace':
      return named(await store.workspaces.get(org, holderId));
    case 'virtual_key': {
      if (workspace === null) return unknown;
      return named(await store.providers.get({ organisationId: org, workspaceId: workspace }, holderId));
    }
    case 'integration':
      return named(await store.integrations.get(org, holderId.split(':')[0] ?? holderId));
    case 'usage_limits_policy':
      return named(await store.usageLimitsPolicies.get(org, holderId));
  }
}

const named = (record: { readonly name: string | null } | null): Holder => ({
  ...unknown,
  name: record?.name ?? null,
});

/** Owners and admins of the organisation, admins and managers of the workspace; those who are deactivated left out. */
async function peopleOf(store: Store, org: string, workspaceId: string | null): Promise<string[]> {
  const emails = await organisationAdmins(store, org);
  if (workspaceId === null) return emails;
  const place: Place = { organisationId: org, workspaceId };
  for (const role of ['admin', 'manager'] as const) {
    const { rows } = await store.members.list(place, { role }, page);
    for (const { email, isActive } of rows) if (isActive) emails.push(email);
  }
  return emails;
}
