import { randomBytes } from 'node:crypto';
import type {
  DeploymentCredentials,
  Deployment as DeploymentMessage,
} from '../../../../../proto/messages.js';
import { Secret } from '../../../../common/access/secret.js';
import { tokensOf } from '../../../../common/ipc/messages.js';
import type { Deployment, DeploymentLogin } from '../../../store/store.js';
import type { Caller } from '../../access/caller.js';
import { accessMessage, accessOf, noAccess } from '../../access/deployment-access.js';
import { AdminError } from '../../admin-error.js';
import { changeOf, setOf } from '../../audit/mask.js';
import { pageOf, textOf, timeOf, timeOrNull } from '../../grpc/wire.js';
import { settled } from '../../records.js';
import type { AdminParts, Service } from '../../service.js';

const toMessage = (deployment: Deployment, withLogin = false): DeploymentMessage => ({
  id: deployment.id,
  slug: deployment.slug,
  name: deployment.name,
  organisation_id: deployment.organisationId,
  type: deployment.type,
  status: deployment.status,
  deployment_config: deployment.config,
  auth_settings: accessMessage(deployment.access),
  is_default: deployment.isDefault,
  credentials: withLogin && deployment.username !== null ? { username: deployment.username } : null,
  tags: deployment.tags,
  created_at: timeOf(deployment.createdAt),
  last_updated_at: timeOf(deployment.updatedAt),
  object: 'deployment',
  etag: deployment.etag,
});

const loginOf = (given: DeploymentCredentials | null | undefined): DeploymentLogin | null =>
  given ? { username: given.username, password: new Secret(given.password) } : null;

const makeSecret = (): string => `hgd_${randomBytes(32).toString('base64url')}`;

/** Its gateways report every 30 s. Milliseconds. */
const presentMs = 90_000;

/** Gateways of the organisation. */
export function deploymentsService({ store }: AdminParts): Service<'Deployments'> {
  const { deployments } = store;

  async function found(caller: Caller, name: string): Promise<Deployment> {
    const deployment = await deployments.get(caller.organisationId, name);
    if (deployment === null) throw new AdminError('AB08', 'There is no such deployment.');
    return deployment;
  }

  async function announce(caller: Caller, deployment: Deployment): Promise<void> {
    const workspaceId = null;
    const forget = { kind: 'deployment', workspace: null, name: deployment.id } as const;
    // Which tokens its gateways accept may have changed with it.
    const forgets = [forget, tokensOf(deployment.organisationId)];
    caller.changed({ id: deployment.id, slug: deployment.slug, workspaceId }, forgets);
    if (!deployment.isDefault) return;
    for (const { id, slug } of await deployments.dropDefault(caller.organisationId, deployment.id))
      caller.changed({ id, slug, workspaceId, action: 'update' });
  }

  return {
    async CreateDeployment(caller, request) {
      if (request.slug === 'self')
        throw AdminError.field('slug', 'self names the default deployment: give another.');
      const secret = makeSecret();
      const made = await deployments.create(caller.organisationId, {
        slug: request.slug || undefined,
        name: textOf('name', request.name),
        type: request.type || 'production',
        config: request.deployment_config ?? null,
        access: await accessOf(caller, noAccess, request),
        tags: request.tags ?? null,
        isDefault: request.is_default ?? false,
        login: loginOf(request.credentials),
        authHash: store.hashKey(secret),
      });
      if (made === 'taken')
        throw new AdminError('AB07', `slug: the organisation has a deployment ${request.slug} already.`);
      await announce(caller, made);
      return { id: made.id, slug: made.slug, object: 'deployment', auth_secret: secret };
    },

    async ListDeployments(caller, request) {
      const { workspace_slug: slug } = request;
      const workspace = slug ? await store.workspaces.get(caller.organisationId, slug) : null;
      if (slug && workspace === null)
        throw new AdminError('AB02', 'workspace_slug: there is no such workspace.');
      const filter = {
        status: request.status || undefined,
        type: request.type || undefined,
        search: request.search || undefined,
        workspaceId: workspace?.id,
      };
      const { total, rows } = await deployments.list(caller.organisationId, filter, pageOf(request));
      return { object: 'list', total, data: rows.map((deployment) => toMessage(deployment)) };
    },

    async GetDeployment(caller, request) {
      return toMessage(await found(caller, request.deployment_id), request.include_credentials ?? false);
    },

    async UpdateDeployment(caller, request) {
      const before = await found(caller, request.deployment_id);
      const isNew = request.override_existing === true;
      const secret = request.rotate_auth === true ? makeSecret() : null;
      const config = changeOf(request, 'deployment_config');
      const login = changeOf(request, 'credentials');
      const answer = await deployments.update(caller.organisationId, before.id, {
        name: setOf(request, 'name')?.trim(),
        type: setOf(request, 'type'),
        status: setOf(request, 'status'),
        config: config && !isNew ? { ...before.config, ...config } : config,
        access: await accessOf(caller, isNew && request.auth_settings ? noAccess : before.access, request),
        tags: changeOf(request, 'tags'),
        isDefault: setOf(request, 'is_default'),
        login: login === undefined ? undefined : loginOf(login),
        authHash: secret === null ? undefined : store.hashKey(secret),
        etag: request.etag ?? undefined,
      });
      if (answer === 'taken')
        throw new AdminError('AB07', `status: another deployment has the slug ${before.slug} by now.`);
      await announce(caller, settled(answer, 'deployment'));
      return { auth_secret: secret };
    },

    async DeleteDeployment(caller, { deployment_id, etag }) {
      const before = await found(caller, deployment_id);
      if (before.status === 'archived') throw new AdminError('AB08', 'There is no such deployment.');
      const change = { status: 'archived', etag: etag ?? undefined } as const;
      const gone = await deployments.update(caller.organisationId, before.id, change);
      if (gone === 'taken') throw new AdminError('AB08', 'There is no such deployment.');
      await announce(caller, settled(gone, 'deployment'));
      return {};
    },

    async PingDeployment(caller, { deployment_id }) {
      const { status, lastSeenAt } = await found(caller, deployment_id);
      const success = lastSeenAt !== null && Date.now() - lastSeenAt < presentMs;
      return { success, status, last_seen_at: timeOrNull(lastSeenAt) };
    },
  };
}
