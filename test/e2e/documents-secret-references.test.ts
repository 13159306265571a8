import { expect } from 'chai';
import { type AdminPlane, startPlane } from '../support/admin-plane.js';

const vault = {
  kind: 'SecretReference',
  name: 'vault-openai',
  spec: {
    name: 'OpenAI at Vault',
    manager_type: 'hashicorp_vault',
    auth_config: {
      vault_auth_type: 'token',
      vault_addr: 'https://vault.example.com',
      vault_token: { env: 'VAULT_TOKEN' },
    },
    secret_path: 'secret/data/openai',
    secret_key: 'key',
    allowed_workspaces: ['team-b', 'team-a'],
    tags: { team: 'search', tier: 'one' },
  },
};
const fromEnv = {
  kind: 'SecretReference',
  name: 'from-env',
  spec: { manager_type: 'env', secret_path: 'OPENAI_API_KEY' },
};
const integration = {
  kind: 'Integration',
  name: 'mapped',
  spec: {
    ai_provider_id: 'openai',
    secret_mappings: [{ target_field: 'key', secret_reference_id: 'vault-openai', secret_key: 'main' }],
    workspaces: [{ id: 'team-a', enabled: true }],
  },
};
const provider = {
  kind: 'Provider',
  name: 'mapped-here',
  workspace: 'team-a',
  spec: {
    provider: 'openai',
    secret_mappings: [{ target_field: 'key', secret_reference_id: 'from-env' }],
  },
};
const workspace = (name: string) => ({ kind: 'Workspace', name, spec: { name } });
const documents = [provider, integration, vault, fromEnv, workspace('team-a'), workspace('team-b')];
const secrets = { VAULT_TOKEN: 'hvs.canary-of-vault' };

describe('documents of secret references', () => {
  let plane: AdminPlane;

  before(async () => {
    plane = await startPlane();
  });

  after(() => plane.close());

  const apply = (given: readonly object[] = documents, more: object = {}) =>
    plane.rest('POST', '/v1/apply', { documents: given, secrets, ...more });
  const exported = async (where: AdminPlane): Promise<{ kind: string; name: string; spec: unknown }[]> =>
    (await where.rest('GET', '/v1/export')).json.data;
  const named = async (kind: string, name: string) =>
    (await exported(plane)).find((one) => one.kind === kind && one.name === name)?.spec;
  const withSpec = <T extends { readonly spec: object }>(document: T, spec: object) => ({
    ...document,
    spec: { ...document.spec, ...spec },
  });

  it('are applied in any order with what is mapped to them, and the second time nothing changes', async () => {
    const first = await apply();
    expect(first.status, JSON.stringify(first.json)).to.equal(200);
    expect(first.json.created).to.equal(documents.length);
    const again = await apply();
    expect(again.json.unchanged, JSON.stringify(again.json)).to.equal(documents.length);
    const { json } = await plane.rest('GET', '/v1/virtual-keys/mapped-here?workspace_id=team-a');
    expect(json.secret_mappings[0]).to.include({ target_field: 'key', secret_reference_id: 'from-env' });
  });

  it('come out of an export by slug and without a secret, and go into another gateway the same', async () => {
    const all = await exported(plane);
    expect(await named('SecretReference', 'vault-openai')).to.deep.equal({
      ...vault.spec,
      auth_config: {
        ...vault.spec.auth_config,
        vault_token: { env: 'SECRET_REFERENCE_VAULT_OPENAI_AUTH_CONFIG_VAULT_TOKEN' },
      },
    });
    expect(await named('Integration', 'mapped')).to.deep.include({
      secret_mappings: integration.spec.secret_mappings,
    });
    expect(await named('Provider', 'mapped-here')).to.deep.equal(provider.spec);
    expect(JSON.stringify(all)).to.not.include('canary');
    const same = await plane.rest('POST', '/v1/apply', { documents: all, set: 'same' });
    expect([same.status, same.json.unchanged], JSON.stringify(same.json)).to.deep.equal([200, all.length]);
    const other = await startPlane();
    try {
      const names = [...JSON.stringify(all).matchAll(/"env":"(\w+)"/g)].map(([, name]) => name!);
      const values = Object.fromEntries(names.map((name) => [name, `sk-canary-${name}`]));
      const there = await other.rest('POST', '/v1/apply', { documents: all, secrets: values });
      expect(there.status, JSON.stringify(there.json)).to.equal(200);
      expect(await exported(other)).to.deep.equal(all);
    } finally {
      await other.close();
    }
  });

  it('name by slug what was mapped by id', async () => {
    const { json: reference } = await plane.rest('GET', '/v1/secret-references/from-env');
    const mapping = { target_field: 'key', secret_reference_id: reference.id };
    await plane.rest('PUT', '/v1/virtual-keys/mapped-here?workspace_id=team-a', {
      secret_mappings: [mapping],
    });
    expect(await named('Provider', 'mapped-here')).to.deep.equal(provider.spec);
    expect((await apply()).json.unchanged).to.equal(documents.length);
  });

  it('keep the stored credential where the variable is not set, through other changes too', async () => {
    const changed = withSpec(vault, { secret_key: 'other', tags: { team: 'search' } });
    const { status, json } = await apply([changed], { secrets: {} });
    expect(status, JSON.stringify(json)).to.equal(200);
    expect(json.data[0].kept_secrets).to.deep.equal([
      { path: 'spec.auth_config.vault_token', name: 'VAULT_TOKEN' },
    ]);
    const moved = { ...vault.spec.auth_config, vault_namespace: 'ours' };
    expect((await apply([withSpec(changed, { auth_config: moved })], { secrets: {} })).status).to.equal(200);
    const { organisation_id: org } = plane.first;
    const { id } = (await plane.store.secretReferences.get(org, 'vault-openai'))!;
    const auth = (await plane.store.secretReferences.openAuth(org, id))!.reveal();
    expect(JSON.parse(auth)).to.include({ vault_token: secrets.VAULT_TOKEN, vault_namespace: 'ours' });
    expect((await apply([changed], { secrets: {} })).json.updated).to.equal(1);
    expect((await apply([changed], { secrets: {} })).json.unchanged).to.equal(1);
  });

  it('may be used by all workspaces again when a document lists none any more', async () => {
    const { allowed_workspaces: _, ...rest } = vault.spec;
    const { json } = await apply([{ ...vault, spec: rest }]);
    expect(json.data[0].changes.map(({ path }: { path: string }) => path)).to.include(
      'spec.allowed_workspaces',
    );
    const { json: read } = await plane.rest('GET', '/v1/secret-references/vault-openai');
    expect([read.allow_all_workspaces, read.allowed_workspaces]).to.deep.equal([true, []]);
    const none = { ...vault, spec: { ...rest, allow_all_workspaces: false } };
    expect((await apply([vault])).json.updated).to.equal(1);
    expect((await apply([none])).json.updated).to.equal(1);
    expect((await apply([none])).json.unchanged).to.equal(1);
    expect((await apply([{ ...vault, spec: rest }])).json.updated).to.equal(1);
    expect((await apply([{ ...vault, spec: rest }])).json.unchanged).to.equal(1);
  });

  it('are used by the workspaces that a document names, whatever an earlier one named', async () => {
    const meant = [
      [{}, [true, []]],
      [{ allow_all_workspaces: true }, [true, []]],
      [{ allow_all_workspaces: false }, [false, []]],
      [{ allowed_workspaces: ['team-a'] }, [false, ['team-a']]],
      [{ allow_all_workspaces: false, allowed_workspaces: ['team-b'] }, [false, ['team-b']]],
    ] as const;
    const of = (spec: object) => ({ ...fromEnv, name: 'changing', spec: { ...fromEnv.spec, ...spec } });
    await apply([workspace('team-a'), workspace('team-b')]);
    for (const [before] of meant)
      for (const [spec, [all, listed]] of meant) {
        const step = `${JSON.stringify(before)}, then ${JSON.stringify(spec)}`;
        await apply([of(before)]);
        const { status, json } = await apply([of(spec)]);
        expect(status, `${step}: ${json.data.message}`).to.equal(200);
        expect((await apply([of(spec)])).json.unchanged, step).to.equal(1);
        const { json: read } = await plane.rest('GET', '/v1/secret-references/changing');
        const ids = await Promise.all(
          listed.map(async (slug) => (await plane.rest('GET', `/v1/admin/workspaces/${slug}`)).json.id),
        );
        expect([read.allow_all_workspaces, read.allowed_workspaces], step).to.deep.equal([all, ids]);
      }
  });

  it('take the place of a credential with {secret_reference: slug}, which becomes a mapping', async () => {
    const spec = { ai_provider_id: 'openai', key: { secret_reference: 'from-env' } };
    const short = { kind: 'Integration', name: 'short', spec };
    const first = await apply([short]);
    expect(first.json.created, JSON.stringify(first.json)).to.equal(1);
    expect((await apply([short])).json.unchanged).to.equal(1);
    expect(await named('Integration', 'short')).to.deep.include({
      secret_mappings: [{ target_field: 'key', secret_reference_id: 'from-env' }],
    });
    const other = { ...short, spec: { ...spec, key: { secret_reference: 'vault-openai' } } };
    expect((await apply([other])).json.updated).to.equal(1);
    const own = {
      ...provider,
      name: 'short-here',
      spec: { provider: 'openai', key: { secret_reference: 'from-env' } },
    };
    const made = await apply([own]);
    expect(made.status, JSON.stringify(made.json)).to.equal(200);
    expect((await apply([own])).json.unchanged).to.equal(1);
    const header = { 'x-key': { secret_reference: 'from-env' } };
    const part = await apply([{ ...short, spec: { ...spec, configurations: { custom_headers: header } } }]);
    expect(part.json.data.message).to.include('name the field in secret_mappings');
  });

  it('are not deleted with prune while something that stays is mapped to them', async () => {
    const reference = { ...fromEnv, name: 'pruned' };
    await apply([reference], { set: 'prune' });
    const spec = { ai_provider_id: 'openai', key: { secret_reference: 'pruned' } };
    const uses = await apply([{ kind: 'Integration', name: 'uses-it', spec }], { set: 'other' });
    expect(uses.status, JSON.stringify(uses.json)).to.equal(200);
    const refused = await apply([], { set: 'prune', prune: true });
    expect(refused.status, JSON.stringify(refused.json)).to.equal(400);
    expect(refused.json.data.message).to.include(
      'SecretReference pruned cannot be deleted: Integration uses-it uses it.',
    );
    await apply([], { set: 'other', prune: true });
    expect((await apply([], { set: 'prune', prune: true })).json.deleted).to.equal(1);
  });

  it('stay as they are named in the export of a key of one workspace', async () => {
    const { json: key } = await plane.rest('POST', '/v1/api-keys/workspace/service', {
      name: 'exporter',
      workspace_id: 'team-a',
      scopes: ['providers.list', 'providers.read', 'workspaces.list', 'integrations.list'],
    });
    const { status, json } = await plane.rest('GET', '/v1/export', undefined, { key: key.key });
    expect(status, JSON.stringify(json)).to.equal(200);
    expect(json.data.map(({ name }: { name: string }) => name)).to.include('mapped-here');
  });
});

describe('documents of the organisation', () => {
  let plane: AdminPlane;

  before(async () => {
    plane = await startPlane();
  });

  after(() => plane.close());

  const jwk = { kty: 'OKP', crv: 'Ed25519', kid: 'one', x: '11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo' };
  const spec = {
    security_settings: { membersViewLogs: true },
    session_settings: { max_session_ttl: 86_400 },
    jwks: { keys: [jwk] },
    issuer: 'https://id.example.com',
    audience: 'headgate',
    algorithms: ['ES256', 'EdDSA'],
    user_id_claims: ['sub'],
    oidc: {
      issuer: 'https://login.example.com',
      client_id: 'headgate',
      client_secret: { env: 'OIDC_SECRET' },
      allowed_email_domains: ['example.com'],
      role_claim: 'groups',
      role_mapping: { owners: 'admin', people: 'member' },
    },
  };
  const apply = (given: object, secrets: object = {}) =>
    plane.rest('POST', '/v1/apply', { documents: [{ kind: 'Organisation', spec: given }], secrets });
  const exported = async () => {
    const { json } = await plane.rest('GET', '/v1/export?kinds=Organisation');
    return json.data[0].spec;
  };

  it('have how tokens and people sign in, and the second time nothing changes', async () => {
    const secrets = { OIDC_SECRET: 'canary-of-the-client' };
    const first = await apply(spec, secrets);
    expect(first.status, JSON.stringify(first.json)).to.equal(200);
    expect((await apply(spec, secrets)).json.unchanged).to.equal(1);
    expect((await apply(spec)).json.unchanged).to.equal(1);
    expect(JSON.stringify(first.json)).to.not.include('canary');
    const found = await exported();
    expect(found).to.deep.include({
      ...spec,
      oidc: { ...spec.oidc, client_secret: { env: 'ORGANISATION_OIDC_CLIENT_SECRET' } },
    });
    expect((await apply(found)).json.unchanged).to.equal(1);
  });

  it('keep the client secret through other changes, and clear what is left out', async () => {
    const { oidc, audience: _a, algorithms: _b, ...rest } = spec;
    const changed = { ...rest, oidc: { ...oidc, role_mapping: { owners: 'admin' } } };
    const { status, json } = await apply(changed);
    expect(status, JSON.stringify(json)).to.equal(200);
    expect(json.data[0].kept_secrets).to.deep.equal([
      { path: 'spec.oidc.client_secret', name: 'OIDC_SECRET' },
    ]);
    expect((await apply(changed)).json.unchanged).to.equal(1);
    const settings = await plane.store.authSettings.get(plane.first.organisation_id);
    expect(settings).to.deep.include({ audience: null, algorithms: ['RS256'] });
    expect(settings.oidc).to.deep.include({ roleMapping: { owners: 'admin' } });
    expect(settings.oidc!.maskedSecret).to.be.a('string');
    expect((await apply(rest)).json.updated).to.equal(1);
    expect((await plane.store.authSettings.get(plane.first.organisation_id)).oidc).to.equal(null);
  });
});
