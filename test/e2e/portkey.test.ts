// lane: shared gateway
import { expect } from 'chai';
import { Portkey } from 'portkey-ai';
import { type SharedGateway, shareGateway, twoWorkers } from '../support/shared-gateway.js';

/** A client of the same administration API that others have written, and that knows nothing of this product. */
describe('the public Node client of the administration API', () => {
  let gateway: SharedGateway;
  /** With the organisation's key, and with the workspace's. */
  let admin: Portkey;
  let workspace: Portkey;

  before(async function () {
    this.timeout(20_000);
    gateway = await shareGateway(twoWorkers);
    const client = (apiKey: string): Portkey => new Portkey({ apiKey, baseURL: `${gateway.url}/v1` });
    admin = client(gateway.adminKey);
    workspace = client(gateway.workspaceKey);
  });
  after(() => gateway?.stop());

  const uuid = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/;
  const slugsOf = ({ data = [] }: { data?: object[] }): unknown[] =>
    data.map((row) => (row as { slug?: string }).slug);
  const idsOf = ({ data = [] }: { data?: object[] }): unknown[] =>
    data.map((row) => (row as { id?: string }).id);
  /** What the client types as flat stands in `data`, in its own tests as well. */
  const dataOf = (answer: object): Record<string, string> =>
    (answer as { data: Record<string, string> }).data;
  const statusOf = (work: PromiseLike<unknown>): Promise<number | undefined> =>
    Promise.resolve(work).then(
      () => 200,
      (error: { status?: number }) => error.status,
    );

  it('keeps configs', async () => {
    const made = await workspace.configs.create({
      name: 'From the client',
      config: { retry: { attempts: 3 } },
      isDefault: 0,
    });
    const { id, slug = '', version_id } = dataOf(made);
    expect(id).to.match(uuid);
    expect(slugsOf(await workspace.configs.list())).to.include(slug);
    const read = await workspace.configs.retrieve({ slug });
    expect(read).to.include({
      id,
      slug,
      version_id,
      name: 'From the client',
      is_default: 0,
      status: 'active',
    });
    expect(read.config).to.deep.equal({ retry: { attempts: 3 } });
    const changed = await workspace.configs.update({
      slug,
      name: 'Renamed',
      config: { retry: { attempts: 1 } },
    });
    expect(dataOf(changed)['version_id']).to.match(uuid).and.not.equal(version_id);
    expect(await workspace.configs.retrieve({ slug })).to.include({ name: 'Renamed' });
    await workspace.configs.delete({ slug });
    expect(slugsOf(await workspace.configs.list())).to.not.include(slug);
  });

  it('gives feedback to traces, and changes it', async () => {
    const traceID = 'trace-of-the-client';
    const made = (await workspace.feedback.create({
      traceID,
      value: 5,
      weight: 0.5,
      metadata: { by: 'ann' },
    })) as {
      status?: string;
      feedback_ids?: string[];
    };
    expect(made.status).to.equal('success');
    const [feedbackID = ''] = made.feedback_ids ?? [];
    expect(feedbackID).to.match(uuid);
    expect(await workspace.feedback.update({ feedbackID, value: -3 })).to.deep.include({
      status: 'success',
      feedback_ids: [feedbackID],
    });
    expect(await statusOf(workspace.feedback.create({ traceID, value: 11 }))).to.equal(400);
    expect(await statusOf(admin.feedback.create({ traceID, value: 1 }))).to.equal(403);
  });

  it('keeps API keys of workspaces and of the organisation', async () => {
    const made = await admin.apiKeys.create({
      type: 'workspace',
      'sub-type': 'service',
      name: 'Service',
      workspace_id: gateway.workspaceId,
      scopes: ['completions.write', 'logs.list'],
      rate_limits: [{ type: 'requests', unit: 'rpm', value: 10 }],
      usage_limits: { credit_limit: 10, periodic_reset: 'monthly', alert_threshold: 9 },
      defaults: { metadata: { environment: 'test' } },
    });
    expect(made).to.include({ object: 'api-key' });
    const { id = '', key = '' } = made;
    const read = await admin.apiKeys.retrieve({ id });
    expect(read).to.include({ id, name: 'Service', type: 'workspace-service', status: 'active' });
    expect(read.key).to.not.equal(key);
    expect(read.rate_limits).to.deep.equal([{ type: 'requests', unit: 'rpm', value: 10 }]);
    expect(read.usage_limits).to.include({ credit_limit: 10, periodic_reset: 'monthly' });
    expect(read.defaults).to.deep.include({ metadata: { environment: 'test' } });
    const listed = await admin.apiKeys.list({
      page_size: 100,
      current_page: 0,
      workspace_id: gateway.workspaceId,
    });
    expect(idsOf(listed)).to.include(id);
    await admin.apiKeys.update({ id, name: 'Renamed', scopes: ['logs.list'] });
    expect(await admin.apiKeys.retrieve({ id })).to.deep.include({ name: 'Renamed', scopes: ['logs.list'] });
    await admin.apiKeys.delete({ id });
    expect(await statusOf(admin.apiKeys.retrieve({ id }))).to.equal(404);
    const own = await admin.apiKeys.create({
      type: 'organisation',
      'sub-type': 'service',
      name: 'Admin',
      scopes: ['workspaces.list'],
    });
    await admin.apiKeys.delete({ id: own.id ?? '' });
  });

  it('keeps integrations, their models and the workspaces that use them', async () => {
    const { slug, id } = await admin.integrations.create({
      name: 'OpenAI',
      slug: 'openai-of-all',
      ai_provider_id: 'openai',
      key: 'sk-not-a-real-key-0001',
    });
    expect(slug).to.equal('openai-of-all');
    expect(slugsOf(await admin.integrations.list({ type: 'organisation', page_size: 10 }))).to.include(slug);
    const read = await admin.integrations.retrieve({ slug });
    expect(read).to.include({ id, slug, name: 'OpenAI', ai_provider_id: 'openai', object: 'integration' });
    expect(JSON.stringify(read)).to.not.include('sk-not-a-real-key-0001');
    await admin.integrations.update({ slug, name: 'Renamed', description: 'Lent to all.' });
    expect(await admin.integrations.retrieve({ slug })).to.include({
      name: 'Renamed',
      description: 'Lent to all.',
    });

    await admin.integrations.workspaces.update({
      slug,
      workspaces: [{ id: gateway.workspaceId, enabled: true }],
    });
    const { workspaces } = await admin.integrations.workspaces.list({ slug });
    expect(workspaces.map((one: { id: string; enabled: boolean }) => [one.id, one.enabled])).to.deep.include([
      gateway.workspaceId,
      true,
    ]);
    await admin.integrations.models.update({
      slug,
      allow_all_models: false,
      models: [{ slug: 'my-own-model', enabled: true, is_custom: true }],
    });
    const { models } = await admin.integrations.models.list({ slug });
    expect(slugsOf({ data: models })).to.include('my-own-model');
    await admin.integrations.models.delete({ slug, slugs: 'my-own-model' });
    // The workspace was given a provider of it, as the specification has it.
    expect(await statusOf(admin.integrations.delete({ slug }))).to.equal(409);
    const { data: given = [] } = await workspace.providers.list();
    for (const one of given.filter(({ integration_id }) => integration_id === slug))
      await workspace.providers.delete({ slug: one.slug ?? '' });
    await admin.integrations.delete({ slug });
    expect(await statusOf(admin.integrations.retrieve({ slug }))).to.equal(404);
  });

  it('keeps providers', async () => {
    const integration = await admin.integrations.create({
      name: 'Anthropic',
      ai_provider_id: 'anthropic',
      key: 'sk-not-a-real-key-0002',
    });
    const workspace_id = gateway.workspaceId;
    await admin.integrations.workspaces.update({
      slug: integration.slug,
      workspaces: [{ id: workspace_id, enabled: true, create_default_provider: false }],
    });
    const { slug = '', id } = await workspace.providers.create({
      name: 'Claude',
      integration_id: integration.slug,
      slug: 'claude',
      note: 'For tests',
    });
    expect(slug).to.equal('claude');
    expect(slugsOf(await admin.providers.list({ workspace_id, page_size: 10 }))).to.include(slug);
    const read = await admin.providers.retrieve({ slug, workspace_id });
    expect(read).to.include({
      id,
      slug,
      name: 'Claude',
      note: 'For tests',
      integration_id: integration.slug,
    });
    await workspace.providers.update({ slug, name: 'Renamed' });
    expect(await workspace.providers.retrieve({ slug })).to.include({ name: 'Renamed', note: 'For tests' });
    await workspace.providers.delete({ slug });
    expect(await statusOf(workspace.providers.retrieve({ slug }))).to.equal(404);
    await admin.integrations.delete({ slug: integration.slug });
  });

  it('keeps virtual keys', async () => {
    const made = await workspace.virtualKeys.create({
      name: 'Older face',
      provider: 'openai',
      key: 'sk-not-a-real-key-0003',
      note: null,
      usage_limits: { credit_limit: 5, periodic_reset: 'weekly' },
    });
    const slug = made.slug ?? dataOf(made)['slug'] ?? '';
    expect(slug).to.be.a('string').and.not.equal('');
    expect(slugsOf(await workspace.virtualKeys.list({}))).to.include(slug);
    const read = await workspace.virtualKeys.retrieve({ slug });
    expect(read).to.include({ slug, name: 'Older face', status: 'active' });
    expect(JSON.stringify(read)).to.not.include('sk-not-a-real-key-0003');
    expect(read.usage_limits).to.include({ credit_limit: 5 });
    await workspace.virtualKeys.update({ slug, name: 'Renamed', note: 'Now with a note' });
    expect(await workspace.virtualKeys.retrieve({ slug })).to.include({
      name: 'Renamed',
      note: 'Now with a note',
    });
    await workspace.virtualKeys.delete({ slug });
    expect(await statusOf(workspace.virtualKeys.retrieve({ slug }))).to.equal(404);
  });

  it('keeps workspaces', async () => {
    const made = await admin.admin.workspaces.create({
      name: 'Research',
      description: 'Trials',
      defaults: { metadata: { team: 'research' } },
    });
    expect(made).to.include({ name: 'Research', description: 'Trials', object: 'workspace' });
    const workspaceId = made.id ?? '';
    expect(
      idsOf(await admin.admin.workspaces.list({ page_size: 100, exact_name: 'Research' })),
    ).to.deep.equal([workspaceId]);
    const read = await admin.admin.workspaces.retrieve({ workspaceId });
    expect(read).to.include({ id: workspaceId, slug: made.slug });
    expect(read.users).to.be.an('array');
    await admin.admin.workspaces.update({ workspaceId, description: 'Settled' });
    expect(await admin.admin.workspaces.retrieve({ workspaceId })).to.include({
      name: 'Research',
      description: 'Settled',
    });
    await admin.admin.workspaces.delete({ workspaceId, name: 'Research' });
    expect(idsOf(await admin.admin.workspaces.list({ status: 'active' }))).to.not.include(workspaceId);
  });

  it('keeps invitations, users and members', async () => {
    const { workspaceId } = gateway;
    const { invites } = admin.admin.users;
    const invited = await invites.create({
      email: 'ada@example.com',
      role: 'member',
      workspaces: [{ id: workspaceId, role: 'member' }],
      workspace_api_key_details: { scopes: ['logs.list'] },
    });
    const inviteId = invited.id ?? '';
    expect(invited.invite_link).to.be.a('string');
    expect(await invites.retrieve({ inviteId })).to.include({ email: 'ada@example.com', status: 'pending' });
    expect(
      idsOf(await invites.list({ email: 'ada@example.com', status: 'pending', pageSize: 5 })),
    ).to.deep.equal([inviteId]);
    const { inviteLink } = await invites.resend({ inviteId });
    expect(inviteLink).to.be.a('string').and.not.equal(invited.invite_link);
    const token = /[^/=]+$/.exec(inviteLink)?.[0];
    const accepted = await fetch(`${gateway.url}/v1/admin/users/invites/accept`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ token, first_name: 'Ada', last_name: 'Lovelace' }),
    });
    expect(accepted.status).to.equal(200);
    const other = await invites.create({
      email: 'grace@example.com',
      role: 'member',
      workspaces: [{ id: workspaceId, role: 'member' }],
    });
    await invites.delete({ inviteId: other.id ?? '' });
    expect(await invites.retrieve({ inviteId: other.id ?? '' })).to.include({ status: 'cancelled' });

    const { users } = admin.admin;
    const [ada] = (await users.list({ email: 'ada@example.com', pageSize: 5, currentPage: 0 })).data ?? [];
    const userId = ada?.id ?? '';
    expect(await users.retrieve({ userId })).to.include({ email: 'ada@example.com', first_name: 'Ada' });
    await users.update({ userId, role: 'admin' });
    expect(await users.retrieve({ userId })).to.include({ role: 'admin' });
    await users.update({ userId, role: 'member' });

    const members = admin.admin.workspaces.users;
    expect(idsOf(await members.list({ workspaceId, page_size: 10 }))).to.include(userId);
    expect(await members.retrieve({ workspaceId, userId })).to.include({ role: 'member' });
    await members.update({ workspaceId, userId, role: 'manager' });
    expect(await members.retrieve({ workspaceId, userId })).to.include({ role: 'manager' });
    await members.delete({ workspaceId, userId });
    expect(await statusOf(members.retrieve({ workspaceId, userId }))).to.equal(404);
    await members.create({ workspaceId, users: [{ id: userId, role: 'member' }] });
    expect(idsOf(await members.list({ workspaceId }))).to.include(userId);
    await users.delete({ userId });
    expect(await statusOf(users.retrieve({ userId }))).to.equal(404);
  });

  it('gets errors in the form that it reads', async () => {
    const stranger = new Portkey({ apiKey: 'pk-nobody', baseURL: `${gateway.url}/v1` });
    expect(await statusOf(stranger.configs.list())).to.equal(401);
    expect(await statusOf(workspace.configs.retrieve({ slug: 'pc-none' }))).to.equal(404);
    expect(await statusOf(workspace.configs.create({ config: {} }))).to.equal(400);
    expect(await statusOf(workspace.admin.workspaces.create({ name: 'Mine' }))).to.equal(403);
  });
});
