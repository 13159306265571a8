import type { WorkspaceExclusions } from '../../../../../proto/messages.js';
import { flagsInForce } from '../../../../common/access/security-settings.js';
import { tokensOf } from '../../../../common/ipc/messages.js';
import type { Organisation, OrganisationChange, Workspace } from '../../../store/store.js';
import type { Caller } from '../../access/caller.js';
import { AdminError } from '../../admin-error.js';
import { changeOf } from '../../audit/mask.js';
import { mergedDocument } from '../../grpc/documents.js';
import { stale, timeOf, timeOrNull } from '../../grpc/wire.js';
import { guardrailsNamed } from '../../references/guardrail-references.js';
import { checkSchema } from '../../references/metadata-schema.js';
import { flagsAfter } from '../../references/security-flags.js';
import type { AdminParts, Service } from '../../service.js';
import { checkTtl } from '../workspaces/workspaces.js';
import { authChangeOf, authMessage, refreshedKeys } from './auth-settings.js';
import { everyKey, keysOfWorkspace } from './users.js';

const settingNames = [
  'block_inline_configs',
  'metadata_schema',
  'user_api_key_ttl',
  'user_api_key_max_ttl',
  'user_api_key_count',
  'user_api_key_rotation_period',
  'default_workspace_user_api_key_auto_create',
  'keep_unredacted_text',
] as const;

const everything = { offset: 0, limit: 1_000_000 };

type ExcludedKind = keyof Workspace['excludedFrom'];
const kinds: Readonly<Record<string, ExcludedKind>> = {
  'input-guardrails': 'inputGuardrails',
  'output-guardrails': 'outputGuardrails',
};

/** The organisation itself: settings, security, defaults. */
export function organisationsService({
  store,
  tokens,
  keyServerProblem,
}: AdminParts): Service<'Organisations'> {
  async function ownOf(caller: Caller): Promise<Organisation> {
    const organisation = await store.organisations.get(caller.organisationId);
    if (organisation === null) throw new AdminError('AB08', 'There is no such organisation.');
    return organisation;
  }

  async function update(caller: Caller, change: OrganisationChange): Promise<Organisation> {
    const updated = await store.organisations.update(caller.organisationId, change);
    if (updated === 'missing') throw new AdminError('AB08', 'There is no such organisation.');
    if (updated === 'stale') throw stale();
    caller.changed({ id: updated.id, workspaceId: null }, everyKey);
    return updated;
  }

  async function exclusions(caller: Caller, kind: ExcludedKind): Promise<WorkspaceExclusions> {
    const { rows } = await store.workspaces.list(caller.organisationId, everything);
    return {
      workspaces: rows.map(({ id, excludedFrom }) => ({ workspace_id: id, excluded: excludedFrom[kind] })),
    };
  }

  /** Those of the organisation's guardrails that are still there, with their slugs. */
  async function references(caller: Caller, ids: readonly string[]): Promise<{ id: string; slug: string }[]> {
    const found = [];
    for (const id of ids) {
      const guardrail = await store.guardrails.get(caller.organisationId, id);
      if (guardrail?.status === 'active') found.push({ id, slug: guardrail.slug });
    }
    return found;
  }

  return {
    async GetOrganisation(caller) {
      const organisation = await ownOf(caller);
      return {
        id: organisation.id,
        name: organisation.name,
        settings: organisation.settings,
        security_settings: flagsInForce(organisation.securitySettings),
        created_at: timeOf(organisation.createdAt),
        last_updated_at: timeOf(organisation.updatedAt),
        object: 'organisation',
        etag: organisation.etag,
      };
    },

    async UpdateOrganisation(caller, request) {
      const before = await ownOf(caller);
      const settings = mergedDocument(request, 'settings', settingNames, before.settings);
      checkTtl(settings.user_api_key_ttl, settings.user_api_key_max_ttl);
      const schema = changeOf<Record<string, unknown>>(request, 'settings.metadata_schema');
      if (schema) checkSchema(schema, 'settings.metadata_schema');
      const flags = flagsAfter(request, before.securitySettings);
      await update(caller, {
        name: changeOf(request, 'name')?.trim(),
        settings,
        securitySettings: flags,
        etag: request.etag ?? undefined,
      });
      return {};
    },

    async GetOrganisationDefaults(caller) {
      const { inputGuardrails, outputGuardrails } = (await ownOf(caller)).defaults;
      return {
        input_guardrails: await references(caller, inputGuardrails),
        output_guardrails: await references(caller, outputGuardrails),
      };
    },

    async UpdateOrganisationDefaults(caller, request) {
      const { defaults } = await ownOf(caller);
      const after = async (
        name: 'input_guardrails' | 'output_guardrails',
        before: readonly string[],
      ): Promise<readonly string[]> => {
        const names = changeOf(request, name);
        if (names === undefined) return before;
        return (await guardrailsNamed(caller, null, names ?? [], name)).map(({ id }) => id);
      };
      await update(caller, {
        defaults: {
          inputGuardrails: await after('input_guardrails', defaults.inputGuardrails),
          outputGuardrails: await after('output_guardrails', defaults.outputGuardrails),
        },
      });
      return {};
    },

    async GetAuthSettings(caller) {
      const { maxSessionTtl } = await ownOf(caller);
      return authMessage(maxSessionTtl, await store.authSettings.get(caller.organisationId));
    },

    async UpdateAuthSettings(caller, request) {
      const before = await store.authSettings.get(caller.organisationId);
      const change = authChangeOf(request, before, keyServerProblem);
      const settings = await store.authSettings.update(caller.organisationId, change);
      const maxSessionTtl = changeOf<number>(request, 'session_settings.max_session_ttl');
      return authMessage((await update(caller, { maxSessionTtl })).maxSessionTtl, settings);
    },

    async RefreshAuthSettings(caller) {
      const { organisationId } = caller;
      // First: other nodes and data workers accept no token before they have fetched the set again.
      await caller.inUnit(() =>
        caller.changed({ id: organisationId, workspaceId: null }, [tokensOf(organisationId)]),
      );
      const { keys, fetchedOn } = await refreshedKeys(tokens, organisationId);
      return {
        keys: keys.map(({ kid, alg }) => ({ kid, alg })),
        fetched_at: timeOrNull(fetchedOn),
      };
    },

    async ListWorkspaceExclusions(caller, { kind }) {
      return exclusions(caller, kinds[kind]!);
    },

    async UpdateWorkspaceExclusions(caller, request) {
      const kind = kinds[request.kind]!;
      const asked = new Map<string, boolean>();
      for (const [i, { workspace_id, excluded }] of request.workspaces.entries()) {
        const workspace = await store.workspaces.get(caller.organisationId, workspace_id);
        if (workspace === null || workspace.status === 'archived')
          throw new AdminError('AB02', `workspaces[${i}].workspace_id: there is no such workspace.`);
        if (asked.has(workspace.id))
          throw AdminError.field(`workspaces[${i}].workspace_id`, 'names a workspace that is named before.');
        asked.set(workspace.id, excluded);
      }
      const { rows } = await store.workspaces.list(caller.organisationId, everything);
      for (const { id, slug, excludedFrom } of rows) {
        const excluded = asked.get(id) ?? (request.override_existing === true ? false : excludedFrom[kind]);
        if (excluded === excludedFrom[kind]) continue;
        await store.workspaces.update(caller.organisationId, id, {
          excludedFrom: { ...excludedFrom, [kind]: excluded },
        });
        caller.changed({ kind: 'workspace', id, slug, workspaceId: id }, keysOfWorkspace(id));
      }
      return exclusions(caller, kind);
    },
  };
}
