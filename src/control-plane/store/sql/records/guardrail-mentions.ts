import type { Guardrail, GuardrailMentions } from '../../records/guardrails.js';
import type { Sql } from '../connection/driver.js';

interface ConfigRow {
  readonly slug: string;
  readonly workspace: string;
  readonly text: string;
}

/** What may apply a guardrail: at most `most` workspaces and `most` configs. */
export async function mentionsOf(
  sql: Sql,
  { id, slug, organisationId, workspaceId }: Guardrail,
  most: number,
): Promise<GuardrailMentions> {
  const organisation = await sql('organisations')
    .where({ id: organisationId })
    .andWhere((either) => {
      either.where('input_guardrails', 'like', holding(id)).orWhere('output_guardrails', 'like', holding(id));
    })
    .first('id');
  const inReach = {
    'workspaces.organisation_id': organisationId,
    'workspaces.status': 'active',
    ...(workspaceId !== null && { 'workspaces.id': workspaceId }),
  };
  // Defaults are stored as ids, even if they were set by slug.
  const workspaces: string[] = await sql('workspaces')
    .where(inReach)
    .andWhere('defaults', 'like', holding(id))
    .orderBy('slug')
    .limit(most)
    .pluck('slug');
  const configs: ConfigRow[] = await sql('workspaces')
    .join('configs', 'configs.workspace_id', 'workspaces.id')
    .join('config_versions', 'config_versions.id', 'configs.current_version_id')
    .where(inReach)
    .andWhere({ 'configs.organisation_id': organisationId, 'configs.status': 'active' })
    .andWhere((either) => {
      // An underscore of a slug matches any character here; the caller checks the configs that are found.
      either.where('config_versions.text', 'like', holding(id));
      either.orWhere('config_versions.text', 'like', holding(slug));
    })
    .orderBy(['configs.slug', 'configs.id'])
    .limit(most)
    .select({ slug: 'configs.slug', workspace: 'workspaces.slug', text: 'config_versions.text' });
  return { organisation: organisation !== undefined, workspaces, configs };
}

/** All these columns are JSON. */
const holding = (text: string): string => `%"${text}"%`;
