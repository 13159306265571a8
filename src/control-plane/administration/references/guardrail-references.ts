import type { Guardrail } from '../../store/store.js';
import type { Caller } from '../access/caller.js';
import { AdminError } from '../admin-error.js';

/** An active guardrail of the workspace, or of the organisation, by id or slug. Throws AB02 where there is none. */
export async function guardrailNamed(
  caller: Caller,
  workspaceId: string | null,
  name: string,
  path: string,
): Promise<Guardrail> {
  const guardrail = await caller.store.guardrails.get(caller.organisationId, name);
  const isInReach = guardrail?.workspaceId === null || guardrail?.workspaceId === workspaceId;
  if (guardrail === null || guardrail.status !== 'active' || !isInReach)
    throw new AdminError('AB02', `${path}: there is no such guardrail.`);
  return guardrail;
}

/**
 * Guardrails that a default names by id or slug: active ones of the workspace, or of the organisation. Throws AB02 for
 * another. `workspaceId` null: the organisation's alone.
 */
export async function guardrailsNamed(
  caller: Caller,
  workspaceId: string | null,
  names: readonly string[],
  path: string,
): Promise<Guardrail[]> {
  const found: Guardrail[] = [];
  for (const [i, name] of names.entries()) {
    const guardrail = await guardrailNamed(caller, workspaceId, name, `${path}[${i}]`);
    if (found.some(({ id }) => id === guardrail.id))
      throw AdminError.field(`${path}[${i}]`, 'names a guardrail that is named before.');
    found.push(guardrail);
  }
  return found;
}
