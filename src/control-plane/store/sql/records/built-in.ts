import { randomUUID } from 'node:crypto';
import type { Place } from '../../records/place.js';
import type { Transaction } from '../connection/driver.js';

/** The labels that every organisation has from its beginning. */
export async function insertUniversalLabels(
  sql: Transaction,
  organisationId: string,
  now: number,
): Promise<void> {
  for (const name of ['production', 'staging', 'development']) {
    await sql('labels').insert({
      id: randomUUID(),
      organisation_id: organisationId,
      name,
      is_universal: true,
      created_at: now,
      updated_at: now,
    });
  }
}

/** The collection that every workspace has from its beginning. */
export async function insertDefaultCollection(sql: Transaction, place: Place, now: number): Promise<void> {
  await sql('collections').insert({
    id: randomUUID(),
    organisation_id: place.organisationId,
    workspace_id: place.workspaceId,
    slug: `default-${place.workspaceId}`,
    name: 'Default',
    is_default: true,
    created_at: now,
    updated_at: now,
  });
}
