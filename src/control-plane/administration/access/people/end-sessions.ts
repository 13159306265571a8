import type { Store } from '../../../store/store.js';

/** Ends all sessions of a user, and links of the user that were not used yet. */
export async function endSessions(store: Store, organisationId: string, userId: string): Promise<void> {
  await store.sessions.endAll(organisationId, userId);
  await store.signIn.endLinks(organisationId, userId);
}
