import type { Store } from '../store/store.js';

/** Of each role; more are left out. */
const page = { offset: 0, limit: 200 };

/** E-mail addresses of the active owners and admins of an organisation. */
export async function organisationAdmins(store: Store, organisationId: string): Promise<string[]> {
  const emails: string[] = [];
  for (const role of ['owner', 'admin'] as const) {
    const { rows } = await store.users.list(organisationId, { role }, page);
    for (const { email, isActive } of rows) if (isActive) emails.push(email);
  }
  return emails;
}
