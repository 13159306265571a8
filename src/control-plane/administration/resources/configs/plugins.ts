import type { PartnerPlugin as PluginMessage } from '../../../../../proto/messages.js';
import { mask, maskGatewayKey } from '../../../../common/access/gateway-key.js';
import {
  missingOf,
  type PartnerTexts,
  readPartnerCredentials,
} from '../../../../common/guardrails/partner-credentials.js';
import { type Partner, partnerId, partners } from '../../../../common/guardrails/partners.js';
import type { Forget } from '../../../../common/ipc/messages.js';
import type { PartnerPlugin } from '../../../store/store.js';
import type { Caller } from '../../access/caller.js';
import { AdminError, mostFaults } from '../../admin-error.js';
import { changeOf, setOf } from '../../audit/mask.js';
import {
  type MappingOwner,
  mappedFields,
  secretMappingMessage,
  secretMappingsOf,
} from '../../credentials/secret-mappings.js';
import { pageOf, timeOf } from '../../grpc/wire.js';
import { settled } from '../../records.js';
import type { AdminParts, Service } from '../../service.js';

const toMessage = (plugin: PartnerPlugin): PluginMessage => ({
  id: plugin.id,
  organisation_id: plugin.organisationId,
  plugin_provider_id: plugin.partner,
  integration_id: plugin.integrationId,
  name: plugin.name,
  status: plugin.status,
  credentials: plugin.shown,
  created_at: timeOf(plugin.createdAt),
  last_updated_at: timeOf(plugin.updatedAt),
  object: 'plugin',
  etag: plugin.etag,
  secret_mappings: plugin.secretMappings.map(secretMappingMessage),
});

/** Workers forget the credentials of all partners. */
const forgetPartners: readonly Forget[] = [{ kind: 'partner', workspace: null, name: '*' }];
const lenders = new Set([...partners.values()].flatMap(({ lender }) => lender?.providers ?? []));

/** What workers forget with an integration of this provider, whose credential plugins may use. */
export const forgetLentTo = (provider: string): readonly Forget[] =>
  lenders.has(provider) ? forgetPartners : [];

const shownOf = ({ fields }: Partner, texts: PartnerTexts): PartnerTexts => {
  const open = new Set(fields.filter(({ isPublic }) => isPublic).map(({ name }) => name));
  return Object.fromEntries(
    Object.entries(texts).map(([name, text]) => [name, open.has(name) ? text : maskGatewayKey(text)]),
  );
};

/** Credentials with stored secrets in place of their masks. Throws for what the partner cannot be called with. */
function credentialsOf(
  partner: Partner,
  given: object,
  stored: PartnerTexts,
  isLent: boolean,
  mapped: ReadonlySet<string>,
): { credentials: PartnerTexts; shown: PartnerTexts } {
  const { texts, findings } = readPartnerCredentials(partner, given);
  if (findings.length > 0)
    throw AdminError.fields(
      findings.slice(0, mostFaults).map(({ path, message }) => ({ path, problem: `${message}.` })),
    );
  const known = shownOf(partner, stored);
  const credentials: Record<string, string> = {};
  for (const [name, text] of Object.entries(texts)) {
    const isKept = text.includes(mask) && text === known[name];
    if (text.includes(mask) && !isKept)
      throw AdminError.field(`credentials.${name}`, 'is the mask of a secret: give the secret itself.');
    credentials[name] = isKept ? stored[name]! : text;
  }
  const missing = isLent ? [] : missingOf(partner, credentials).filter((name) => !mapped.has(name));
  if (missing.length > 0)
    throw AdminError.fields(
      missing.map((name) => ({ path: `credentials.${name}`, problem: `is required for ${partner.name}.` })),
    );
  return { credentials, shown: shownOf(partner, credentials) };
}

const root = 'credentials';

/** A plugin belongs to the organisation. */
const ofPartner = ({ fields, name }: Partner): MappingOwner => ({
  workspaceId: null,
  root,
  checkField(target, path) {
    if (fields.some((field) => target === `${root}.${field.name}`)) return;
    const names = fields.map((field) => `${root}.${field.name}`);
    throw AdminError.field(path, `must be a field of ${name}: ${names.join(', ')}.`);
  },
});

/** Credentials with which checks of guardrails call partners. */
export function pluginsService({ store }: AdminParts): Service<'Plugins'> {
  const { partnerPlugins } = store;

  async function found(caller: Caller, name: string): Promise<PartnerPlugin> {
    const plugin = await partnerPlugins.get(caller.organisationId, partnerId(name) ?? name);
    if (plugin === null) throw new AdminError('AB08', 'There is no such plugin.');
    return plugin;
  }

  async function lenderOf(caller: Caller, partner: Partner, name: string): Promise<string> {
    const { providers = [] } = partner.lender ?? {};
    if (providers.length === 0)
      throw AdminError.field(
        'integration_id',
        `does not go together with ${partner.name}: give its credentials.`,
      );
    const integration = await store.integrations.get(caller.organisationId, name);
    if (integration === null || integration.status !== 'active' || integration.workspaceId !== null)
      throw new AdminError('AB02', 'integration_id: the organisation has no such integration.');
    if (!providers.includes(integration.provider))
      throw AdminError.field('integration_id', `must be an integration of ${providers.join(' or ')}.`);
    return integration.id;
  }

  const changed = (caller: Caller, { id, partner }: PartnerPlugin): void =>
    caller.changed({ id, slug: partner, workspaceId: null }, forgetPartners);

  return {
    async CreatePlugin(caller, request) {
      const id = partnerId(request.plugin_provider_id);
      if (id === undefined)
        throw AdminError.field('plugin_provider_id', `must be one of ${[...partners.keys()].join(', ')}.`);
      const partner = partners.get(id)!;
      const secretMappings = await secretMappingsOf(caller, request.secret_mappings, ofPartner(partner));
      if (!request.credentials && secretMappings.length === 0)
        throw AdminError.field('credentials', 'is required.');
      const lender = request.integration_id ? await lenderOf(caller, partner, request.integration_id) : null;
      const made = await partnerPlugins.create(caller.organisationId, {
        partner: id,
        name: request.name?.trim() || partner.name,
        integrationId: lender,
        ...credentialsOf(
          partner,
          request.credentials ?? {},
          {},
          lender !== null,
          mappedFields(secretMappings, root),
        ),
        secretMappings,
      });
      if (made === 'taken')
        throw new AdminError(
          'AB07',
          `plugin_provider_id: the organisation has a plugin of ${id} already: change that one.`,
        );
      changed(caller, made);
      return { id: made.id, object: 'plugin' };
    },

    async ListPlugins(caller, request) {
      const { total, rows } = await partnerPlugins.list(caller.organisationId, pageOf(request));
      return { object: 'list', total, data: rows.map(toMessage) };
    },

    async GetPlugin(caller, { id }) {
      return toMessage(await found(caller, id));
    },

    async UpdatePlugin(caller, request) {
      const before = await found(caller, request.id);
      const partner = partners.get(before.partner)!;
      const given = setOf(request, 'credentials');
      const asked = changeOf(request, 'secret_mappings');
      const changedMappings =
        asked === undefined ? undefined : await secretMappingsOf(caller, asked ?? [], ofPartner(partner));
      const mapped = mappedFields(changedMappings ?? before.secretMappings, root);
      const isLent = before.integrationId !== null;
      const hasChange = given !== undefined || changedMappings !== undefined;
      const stored = hasChange ? ((await partnerPlugins.open(caller.organisationId, before.id)) ?? {}) : {};
      const answer = await partnerPlugins.update(caller.organisationId, before.id, {
        name: setOf(request, 'name')?.trim(),
        status: setOf(request, 'status'),
        // Without a mapping that filled it, a field has to be in the credentials.
        ...(hasChange && credentialsOf(partner, given ?? stored, stored, isLent, mapped)),
        secretMappings: changedMappings,
        etag: request.etag ?? undefined,
      });
      changed(caller, settled(answer, 'plugin'));
      return {};
    },

    async DeletePlugin(caller, { id, etag }) {
      const before = await found(caller, id);
      const gone = await partnerPlugins.delete(caller.organisationId, before.id, etag ?? undefined);
      changed(caller, settled(gone, 'plugin'));
      return {};
    },
  };
}
