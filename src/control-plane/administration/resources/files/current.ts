import { secretMappingMessage } from '../../credentials/secret-mappings.js';
import type { JsonFields } from './kinds/json.js';
import type { DocumentKind } from './kinds/kind.js';
import { specShape } from './kinds/spec-shape.js';
import type { Row, RowReader } from './row.js';

/** Adds to a record as it is read what its spec has besides; null and absent mean the same. */
type Addition = (reader: RowReader, row: Row, json: JsonFields, kind: DocumentKind) => Promise<JsonFields>;

/** `masked_aws_secret_access_key` → `aws_secret_access_key`: whatever is there is a secret, and shown as one. */
const unmasked = (configurations: JsonFields): JsonFields =>
  Object.fromEntries(
    Object.entries(configurations).map(([name, value]) => [name.replace(/^masked_/, ''), value]),
  );

const authSettings = 'Organisations.GetAuthSettings';

const additions: Readonly<Record<string, Addition>> = {
  /** Of what a workspace may inherit, a document has what is set in itself. */
  async Workspace({ calls, organisationId }, row, json) {
    const workspace = await calls.caller.store.workspaces.get(organisationId, row.id);
    return {
      ...json,
      settings: workspace?.settings ?? null,
      security_settings: workspace?.securitySettings ?? null,
    };
  },

  async Organisation({ calls, organisationId }, _row, json) {
    const organisation = await calls.caller.store.organisations.get(organisationId);
    if (organisation === null) return json;
    return {
      ...json,
      settings: organisation.settings,
      security_settings: organisation.securitySettings,
      input_guardrails: organisation.defaults.inputGuardrails,
      output_guardrails: organisation.defaults.outputGuardrails,
      session_settings: { max_session_ttl: organisation.maxSessionTtl },
      ...((await calls.may(authSettings)) ? (await calls.run(authSettings, {})).response : {}),
    };
  },

  async Integration({ calls, organisationId }, row, json) {
    const { integrations } = calls.caller.store;
    const integration = await integrations.get(organisationId, row.id);
    const own = {
      ...json,
      key: json['masked_key'],
      configurations: unmasked((json['configurations'] ?? {}) as JsonFields),
    };
    if (integration === null) return own;
    const listed = (await integrations.models(organisationId, row.id)).map(({ slug }) => slug);
    const name = 'Integrations.ListIntegrationModels';
    const answer = await calls.run(name, { slug: integration.slug, workspace_id: row.workspaceId });
    const all = answer.response['models'] as readonly JsonFields[];
    const models = listed.map((slug) => all.find((model) => model['slug'] === slug)).filter((one) => one);
    if (row.workspaceId !== null) return { ...own, models, allow_all_models: integration.allowAllModels };
    const named = (await integrations.reach(organisationId, row.id)).flatMap(({ own: access }) =>
      access === null ? [] : [access.workspaceId],
    );
    const list = 'Integrations.ListIntegrationWorkspaces';
    const reached = (await calls.run(list, { slug: integration.slug })).response['workspaces'];
    return {
      ...own,
      models,
      allow_all_models: integration.allowAllModels,
      workspaces: (reached as readonly JsonFields[]).filter(({ id }) => named.includes(String(id))),
      global_workspace_access: json['global_workspace_access_settings'],
    };
  },

  async Deployment({ calls }, row, json) {
    const answer = await calls.run('Deployments.GetDeployment', {
      deployment_id: row.id,
      include_credentials: true,
    });
    const login = answer.response['credentials'] as JsonFields | null | undefined;
    return { ...json, credentials: login ? { ...login, password: '' } : null };
  },

  /** An integration's provider has nothing of its own to sign in with. */
  async Provider({ calls, organisationId }, row, json, kind) {
    const provider = await calls.caller.store.providers.byId(organisationId, row.id);
    if (provider === null) return json;
    if (provider.integration !== null) return { ...json, provider: null };
    const configurations = unmasked(provider.configurations as JsonFields);
    const fields = specShape(kind).fields;
    const spelt = fields.map(({ name, jsonName }) => [jsonName, configurations[name]] as const);
    return {
      ...Object.fromEntries(spelt.filter(([, value]) => value !== undefined)),
      ...json,
      key: json['masked_api_key'],
      secret_mappings: provider.secretMappings.map(secretMappingMessage),
    };
  },
};

/** A record as it is read, with what its spec has besides. */
export async function currentOf(
  reader: RowReader,
  kind: DocumentKind,
  row: Row,
  json: JsonFields,
): Promise<JsonFields> {
  const add = additions[kind.kind];
  const whole = add === undefined ? json : await add(reader, row, json, kind);
  if (kind.reach === 'single') return whole;
  const name = row.name === row.documentName ? null : row.name || null;
  const once = Object.fromEntries((kind.once ?? []).map((field) => [field, null]));
  return { ...whole, ...once, name, ...(kind.hasSlug && { slug: null }) };
}
