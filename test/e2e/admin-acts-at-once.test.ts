import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'chai';
import type { AdminApi } from '../../src/client/index.js';
import { type SimulatedProvider, startSimulated } from '../../src/simulated/index.js';
import { askedMeanwhile } from '../support/asked-meanwhile.js';
import { headgateHere } from '../support/cli-bench.js';
import { type RunningGateway, startGateway } from '../support/gateway.js';

describe('a change over gRPC, REST or the command line, while requests are served', () => {
  let gateway: RunningGateway;
  let upstreams: SimulatedProvider[];
  let api: AdminApi;
  let folder: string;
  let adminKeyFile: string;
  let serial = 0;

  before(async function () {
    this.timeout(20_000);
    folder = mkdtempSync(join(tmpdir(), 'headgate-protocols-'));
    [gateway, ...upstreams] = await Promise.all([
      startGateway({ env: { HEADGATE_WORKERS: '2' } }),
      startSimulated({ record: true }),
      startSimulated({ record: true }),
    ]);
    api = gateway.admin().api;
    adminKeyFile = file(gateway.adminKey);
  });
  after(async () => {
    await gateway?.stop();
    for (const upstream of upstreams ?? []) await upstream.close();
    rmSync(folder, { recursive: true, force: true });
  });

  const host = (i: number): string => `${upstreams[i]!.url}/v1`;

  /** The three interfaces. */
  async function rest(verb: string, path: string, body?: object): Promise<void> {
    const response = await fetch(`${gateway.url}/v1${path}`, {
      method: verb,
      headers: { 'x-gateway-api-key': gateway.adminKey, 'content-type': 'application/json' },
      ...(body && { body: JSON.stringify(body) }),
    });
    expect(response.status, `${verb} ${path} ${await response.text()}`).to.equal(200);
  }
  async function command(...args: string[]): Promise<void> {
    const { code, stderr } = await headgateHere([
      ...args,
      ...['--address', `127.0.0.1:${gateway.grpcPort}`, '--admin-key-file', adminKeyFile],
    ]);
    expect(code, `${args.join(' ')}: ${stderr}`).to.equal(0);
  }
  function file(text: string): string {
    const path = join(folder, String(++serial));
    writeFileSync(path, text);
    return path;
  }

  /** What a call came to: `credential at upstream`, or the code of its refusal. */
  async function ask(headers: Record<string, string>, key = gateway.workspaceKey): Promise<string> {
    const nonce = `n${++serial}`;
    const response = await fetch(`${gateway.url}/v1/chat/completions`, {
      method: 'POST',
      headers: { 'x-gateway-api-key': key, 'content-type': 'application/json', ...headers },
      body: JSON.stringify({
        model: 'gpt-4o-mini',
        messages: [{ role: 'user', content: `nonce:${nonce}` }],
      }),
    });
    const answer = (await response.json()) as { error?: { code: string } };
    if (!response.ok) return `${response.status} ${answer.error?.code}`;
    for (const [i, { requests }] of upstreams.entries()) {
      const seen = requests.findLast((request) => request.nonce === nonce);
      if (seen !== undefined) return `${seen.headers['authorization']?.replace('Bearer ', '')} at ${i}`;
    }
    return 'nowhere';
  }
  const askProvider = (slug: string) => () => ask({ 'x-gateway-provider': `@${slug}` });
  const askConfig = (slug: string) => () => ask({ 'x-gateway-config': slug });

  async function provider(): Promise<string> {
    const slug = `p-${++serial}`;
    await api.providers.createProvider({ slug, provider: 'openai', key: 'sk-old', custom_host: host(0) });
    return slug;
  }

  /** An integration of the organisation with the provider that the workspace got by its access. */
  async function lent(): Promise<string> {
    const slug = `lent-${++serial}`;
    await api.integrations.createIntegration({
      slug,
      name: slug,
      ai_provider_id: 'openai',
      key: 'sk-old',
      configurations: { custom_host: host(0) },
    });
    const workspaces = [{ id: gateway.workspaceId, enabled: true }];
    await api.integrations.updateIntegrationWorkspaces({ slug, workspaces });
    return slug;
  }

  async function key(): Promise<{ id: string; key: string }> {
    return api.apiKeys.createApiKey({
      type: 'workspace',
      sub_type: 'service',
      name: 'app',
      workspace_id: gateway.workspaceId,
      scopes: ['completions.write'],
    });
  }

  const unknown = '400 unknown_provider';
  /** What a request comes to whose key was revoked before it, or while it was under way. */
  const revoked = { after: '401 03', meanwhile: '401 key_revoked' };

  describe('of a key', () => {
    it('deleted over gRPC', async () => {
      const [slug, made] = [await provider(), await key()];
      await askedMeanwhile(
        () => ask({ 'x-gateway-provider': `@${slug}` }, made.key),
        () => api.apiKeys.deleteApiKey({ id: made.id }),
        { before: 'sk-old at 0', ...revoked },
      );
    });

    it('deleted by a command', async () => {
      const [slug, made] = [await provider(), await key()];
      await askedMeanwhile(
        () => ask({ 'x-gateway-provider': `@${slug}` }, made.key),
        () => command('api-keys', 'delete', made.id),
        { before: 'sk-old at 0', ...revoked },
      );
    });

    it('that gets another default config over REST', async () => {
      const [slug, other, made] = [await provider(), await provider(), await key()];
      await api.providers.updateProvider({ slug: other, key: 'sk-other' });
      const configs = [slug, other].map((name) =>
        api.configs.createConfig({
          name,
          slug: `pc-${name}`,
          config: { provider: `@${name}` },
          workspace_id: gateway.workspaceId,
        }),
      );
      await Promise.all(configs);
      await rest('PUT', `/api-keys/${made.id}`, { defaults: { config_id: `pc-${slug}` } });
      await askedMeanwhile(
        () => ask({}, made.key),
        () => rest('PUT', `/api-keys/${made.id}`, { defaults: { config_id: `pc-${other}` } }),
        { before: 'sk-old at 0', after: 'sk-other at 0' },
      );
    });
  });

  describe('of a provider', () => {
    it('whose credential is replaced by a command', async () => {
      const slug = await provider();
      await askedMeanwhile(
        askProvider(slug),
        () => command('providers', 'update', slug, '--key-file', file('sk-new')),
        { before: 'sk-old at 0', after: 'sk-new at 0' },
      );
    });

    it('that moves to another address over REST', async () => {
      const slug = await provider();
      await askedMeanwhile(
        askProvider(slug),
        () => rest('PUT', `/providers/${slug}`, { custom_host: host(1) }),
        { before: 'sk-old at 0', after: 'sk-old at 1' },
      );
    });

    it('that is deleted as a virtual key over REST', async () => {
      const slug = await provider();
      await askedMeanwhile(askProvider(slug), () => rest('DELETE', `/virtual-keys/${slug}`), {
        before: 'sk-old at 0',
        after: unknown,
      });
    });

    it('that is deleted and made again over gRPC', async () => {
      const slug = await provider();
      await askedMeanwhile(askProvider(slug), () => api.providers.deleteProvider({ slug }), {
        before: 'sk-old at 0',
        after: unknown,
      });
      await askedMeanwhile(
        askProvider(slug),
        () =>
          api.providers.createProvider({ slug, provider: 'openai', key: 'sk-again', custom_host: host(1) }),
        { before: unknown, after: 'sk-again at 1' },
      );
    });
  });

  describe('of an integration', () => {
    it('with a new key and address at once, by a command', async () => {
      const slug = await lent();
      await askedMeanwhile(
        askProvider(slug),
        () =>
          command(
            ...['integrations', 'update', slug, '--key-file', file('sk-new')],
            ...['--configurations.custom-host', host(1)],
          ),
        { before: 'sk-old at 0', after: 'sk-new at 1' },
      );
    });

    it('taken away from a workspace over REST, and given back over gRPC', async () => {
      const slug = await lent();
      const workspaces = (enabled: boolean) => [{ id: gateway.workspaceId, enabled }];
      await askedMeanwhile(
        askProvider(slug),
        () => rest('PUT', `/integrations/${slug}/workspaces`, { workspaces: workspaces(false) }),
        { before: 'sk-old at 0', after: unknown },
      );
      await askedMeanwhile(
        askProvider(slug),
        () => api.integrations.updateIntegrationWorkspaces({ slug, workspaces: workspaces(true) }),
        { before: unknown, after: 'sk-old at 0' },
      );
    });

    it('whose model is turned off over gRPC', async () => {
      const slug = await lent();
      await askedMeanwhile(
        askProvider(slug),
        () =>
          api.integrations.updateIntegrationModels({
            slug,
            models: [{ slug: 'gpt-4o-mini', enabled: false }],
          }),
        { before: 'sk-old at 0', after: '412 model_not_allowed' },
      );
    });
  });

  describe('of a config', () => {
    async function config(): Promise<{ slug: string; from: object; to: object }> {
      const [from, to] = [{ provider: `@${await provider()}` }, { provider: `@${await lent()}` }];
      await api.integrations.updateIntegration({ slug: to.provider.slice(1), key: 'sk-new' });
      const slug = `pc-${++serial}`;
      await api.configs.createConfig({ name: slug, slug, config: from, workspace_id: gateway.workspaceId });
      return { slug, from, to };
    }

    it('updated by a command', async () => {
      const { slug, to } = await config();
      await askedMeanwhile(
        askConfig(slug),
        () => command('configs', 'update', slug, '--config', JSON.stringify(to)),
        { before: 'sk-old at 0', after: 'sk-new at 0' },
      );
    });

    it('archived over gRPC, and brought back over REST', async () => {
      const { slug } = await config();
      const gone = '400 config_not_found';
      await askedMeanwhile(
        askConfig(slug),
        () => api.configs.deleteConfig({ slug, workspace_id: gateway.workspaceId }),
        { before: 'sk-old at 0', after: gone },
      );
      await askedMeanwhile(
        askConfig(slug),
        () => rest('PUT', `/configs/${slug}`, { status: 'active', workspace_id: gateway.workspaceId }),
        { before: gone, after: 'sk-old at 0' },
      );
    });
  });

  describe('of who is there', () => {
    async function person(workspace: string): Promise<{ id: string; key: string }> {
      const user = await api.users.createUser({
        email: `p${++serial}@example.com`,
        role: 'member',
        workspaces: [{ id: workspace, role: 'member' }],
      });
      const { key: text } = await api.apiKeys.createApiKey({
        type: 'workspace',
        sub_type: 'user',
        name: 'own',
        user_id: user.id,
        workspace_id: workspace,
        scopes: ['completions.write'],
      });
      return { id: user.id, key: text };
    }

    it('when a command takes a member out of the workspace', async () => {
      const [slug, { id, key: text }] = [await provider(), await person(gateway.workspaceId)];
      await askedMeanwhile(
        () => ask({ 'x-gateway-provider': `@${slug}` }, text),
        () => command('workspace-members', 'remove', gateway.workspaceId, id),
        { before: 'sk-old at 0', ...revoked },
      );
    });

    it('when a command archives the workspace', async () => {
      const workspace = await api.workspaces.createWorkspace({ name: 'Short' });
      const { key: text } = await person(workspace.id);
      const slug = `p-${++serial}`;
      await api.providers.createProvider({
        slug,
        provider: 'openai',
        key: 'sk-old',
        custom_host: host(0),
        workspace_id: workspace.id,
      });
      await askedMeanwhile(
        () => ask({ 'x-gateway-provider': `@${slug}` }, text),
        () => command('workspaces', 'archive', workspace.id, '--name', 'Short', '--force-delete'),
        { before: 'sk-old at 0', ...revoked },
      );
    });
  });
});
