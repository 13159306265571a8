import { randomBytes } from 'node:crypto';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Client, credentials, Metadata } from '@grpc/grpc-js';
import { expect } from 'chai';
import { Command } from 'commander';
import { adminMethod, adminTree } from '../../proto/tree.js';
import { register as registerConfigs } from '../../src/cli/commands/configs.js';
import { register as registerKeys } from '../../src/cli/commands/keys.js';
import { register as registerLogs } from '../../src/cli/commands/logs.js';
import { register as registerProviders } from '../../src/cli/commands/providers.js';
import { MethodCaller } from '../../src/client/api.js';
import { AdminCallError, type AdminClient, connectAdmin } from '../../src/client/index.js';
import { isGatewayKey, makeGatewayKey } from '../../src/common/access/gateway-key.js';
import { Secret } from '../../src/common/access/secret.js';
import { GatewayError } from '../../src/common/core/errors.js';
import type { Forget } from '../../src/common/ipc/messages.js';
import { type AdminServer, startAdminServer } from '../../src/control-plane/administration/server.js';
import { empty } from '../../src/control-plane/administration/shape/json.js';
import { bootstrap } from '../../src/control-plane/store/bootstrap.js';
import { MasterKey } from '../../src/control-plane/store/secrets/master-key.js';
import { type FirstKeys, openStore, type Store } from '../../src/control-plane/store/store.js';
import { providerRows } from '../../src/data-plane/providers/rows.js';
import { noBudgets, noFeedback } from '../support/no-budgets.js';
import { logRow, RowsLedger } from '../support/rows-ledger.js';

async function refused(work: Promise<unknown>, status: string, code: string | null): Promise<string> {
  const error = await work.then(
    (value) => expect.fail(`must be refused, gave ${JSON.stringify(value)}`),
    (thrown: unknown) => thrown,
  );
  if (!(error instanceof AdminCallError)) throw error;
  expect({ status: error.status, code: error.code }, error.message).to.deep.equal({ status, code });
  return error.message;
}

describe('the administration plane', () => {
  const dataDir = mkdtempSync(join(tmpdir(), 'headgate-admin-'));
  const ledger = new RowsLedger();
  const forgotten: Forget[] = [];
  const logged: string[] = [];
  let changing: () => Promise<void> = async () => {};
  let store: Store;
  let first: FirstKeys;
  let other: string;
  let server: AdminServer;
  let admin: AdminClient;
  let workspace: AdminClient;
  const clients: AdminClient[] = [];

  function connect(key: string): AdminClient {
    const client = connectAdmin({ address: `127.0.0.1:${server.port}`, key });
    clients.push(client);
    return client;
  }

  before(async () => {
    store = await openStore({ dataDir, masterKey: new MasterKey(randomBytes(32)) });
    first = (await bootstrap(store, { dataDir, simulated: false }))!;
    const log = (fields: object, message: string): void =>
      void logged.push(`${message} ${JSON.stringify(fields)}`);
    server = await startAdminServer({
      host: '127.0.0.1',
      port: 0,
      store,
      ledger,
      budgets: noBudgets,
      ...noFeedback,
      changed: async (what) => {
        await changing();
        forgotten.push(...what);
      },
      validateConfig(text) {
        try {
          JSON.parse(text);
        } catch {
          throw new GatewayError('AB01', 'Invalid config: config: not JSON.', {
            errors: ['path: config, message: not JSON'],
          });
        }
      },
      providers: providerRows,
      log: { info: log, warn: log, error: log },
    });
    admin = connect(first.admin_key);
    workspace = connect(first.workspace_key);
    const made = await store.workspaces.create(first.organisation_id, { name: 'Other', slug: 'other' });
    other = made === 'taken' ? '' : made.id;
  });

  beforeEach(() => {
    forgotten.length = 0;
  });

  after(async () => {
    for (const client of clients) client.close();
    await server.close(1000);
    await store.close();
    rmSync(dataDir, { recursive: true, force: true });
  });

  const mine = { workspace_id: 'default' };
  const created = async (input: object): Promise<{ id: string; key: string }> =>
    admin.keys.create({
      type: 'workspace',
      sub_type: 'service',
      name: 'k',
      scopes: ['configs.list'],
      ...mine,
      ...input,
    });

  describe('refuses every caller without a valid key', () => {
    it('without a key, with garbage, with an unknown or an expired key', async () => {
      const old = await store.keys.create(first.organisation_id, {
        type: 'organisation-service',
        workspaceId: null,
        name: 'old',
        scopes: ['configs.list'],
        expiresAt: Date.now() - 1,
      });
      if (old === 'missing') throw new Error('missing');
      for (const key of ['', 'garbage', makeGatewayKey('organisation-service'), old.text.reveal()]) {
        const message = await refused(connect(key).configs.list(), 'UNAUTHENTICATED', 'AB05');
        expect(message).to.not.include('gw_');
      }
    });

    it('to any method without one of its scopes', async () => {
      const { key } = await created({ scopes: ['completions.read'] });
      const scoped = [...adminTree().methods.values()].filter(({ access }) => access.scopes.length > 0);
      expect(scoped).to.have.length.above(10);
      const caller = new MethodCaller({ address: `127.0.0.1:${server.port}`, key });
      for (const method of scoped) {
        const call = method.streams
          ? caller.stream(method, empty(method.request)).next()
          : caller.unary(method, empty(method.request));
        await refused(call, 'PERMISSION_DENIED', 'AB03');
      }
      caller.close();
    });

    it('but takes the key as a bearer token too, and not without that scheme', async () => {
      const { path } = adminMethod('Configs.ListConfigs');
      const bytes = (value: Buffer): Buffer => value;
      const raw = new Client(`127.0.0.1:${server.port}`, credentials.createInsecure());
      const call = (metadata: Metadata): Promise<string> =>
        new Promise((done) => {
          raw.makeUnaryRequest(path, bytes, bytes, Buffer.alloc(0), metadata, (error) =>
            done(error === null ? 'ok' : error.details),
          );
        });
      const bearer = new Metadata();
      bearer.set('authorization', `Bearer ${first.workspace_key}`);
      expect(await call(bearer)).to.equal('ok');
      const bare = new Metadata();
      bare.set('authorization', first.workspace_key);
      expect(await call(bare)).to.equal(
        'authorization must be "Bearer <gateway key>"; send a key alone in x-gateway-api-key.',
      );
      // The key's own header decides: a good key must not stand in for a bad one.
      bearer.set('x-gateway-api-key', 'garbage');
      expect(await call(bearer)).to.equal('This gateway key is not known, or no longer valid.');
      raw.close();
    });
  });

  describe('keys', () => {
    it('are shown once, work at once, and not after they are revoked', async () => {
      const { id, key } = await created({ scopes: ['configs.list', 'configs.list'], name: ' app ' });
      expect(isGatewayKey(key)).to.equal(true);
      const hash = store.hashKey(key);
      expect(forgotten).to.deep.equal([{ kind: 'key', workspace: null, name: hash }]);
      const client = connect(key);
      expect((await client.configs.list()).object).to.equal('list');

      const { data } = await admin.keys.list(mine);
      const row = data.find((one) => one.id === id);
      expect(row).to.deep.include({
        name: 'app',
        type: 'workspace-service',
        key: `gw*****${key.slice(-3)}`,
        status: 'active',
        scopes: ['configs.list'],
        workspace_id: first.workspace_id,
      });
      expect(row?.defaults).to.deep.include({ allow_config_override: true });
      expect(JSON.stringify(data)).to.not.include(key).and.not.include(hash);

      await admin.keys.delete(id);
      expect(forgotten[1]).to.deep.equal({ kind: 'key', workspace: null, name: hash });
      await refused(client.configs.list(), 'UNAUTHENTICATED', 'AB05');
      await refused(admin.keys.delete(id), 'NOT_FOUND', 'AB08');
    });

    it('hold no scope that their maker lacks, and none that their type forbids', async () => {
      const weak = connect(
        (await created({ scopes: ['workspace_service_api_keys.create', 'configs.list'] })).key,
      );
      const make = (scopes: string[]) =>
        weak.keys.create({ type: 'workspace', sub_type: 'service', name: 'x', scopes });
      expect((await make(['configs.list'])).object).to.equal('api-key');
      await refused(make(['configs.list', 'configs.create']), 'PERMISSION_DENIED', 'AB03');
      await refused(make(['completions.write']), 'PERMISSION_DENIED', 'AB03');
      await refused(
        weak.keys.create({ type: 'organisation', sub_type: 'service', name: 'x', scopes: ['configs.list'] }),
        'PERMISSION_DENIED',
        'AB03',
      );
      await refused(created({ scopes: ['organisation_users.list'] }), 'INVALID_ARGUMENT', 'AB01');
      await refused(created({ scopes: ['no.such'] }), 'INVALID_ARGUMENT', 'AB01');
      await refused(created({ scopes: [] }), 'INVALID_ARGUMENT', 'AB01');
      // An admin key makes no model calls and yet makes the keys that do; a limited one, no more than that.
      const { key } = await admin.keys.create({
        type: 'organisation',
        sub_type: 'service',
        name: 'issuer',
        scopes: ['workspace_service_api_keys.create'],
      });
      const issuer = connect(key);
      const ask = { type: 'workspace', sub_type: 'service', name: 'x', ...mine } as const;
      expect((await issuer.keys.create({ ...ask, scopes: ['completions.write'] })).key).to.match(/^gw_ws_/);
      await refused(issuer.keys.create({ ...ask, scopes: ['providers.list'] }), 'PERMISSION_DENIED', 'AB03');
    });

    it('are refused with a field that is wrong', async () => {
      for (const wrong of [
        { name: '' },
        { name: 'x'.repeat(256) },
        { type: 'planet' },
        { type: 'organisation', sub_type: 'user' },
        { type: 'organisation' },
        { expires_at: new Date(Date.now() - 1000).toISOString() },
        { defaults: { metadata: { a: 'x'.repeat(129) } } },
        { sub_type: 'user' },
      ]) {
        await refused(created(wrong), 'INVALID_ARGUMENT', 'AB01');
      }
      await refused(created({ workspace_id: 'nowhere' }), 'NOT_FOUND', 'AB02');
      await refused(created({ defaults: { config_id: 'pc-none' } }), 'NOT_FOUND', 'AB02');
      await refused(created({ sub_type: 'user', user_id: 'nobody' }), 'NOT_FOUND', 'AB02');
      // Two workspaces: an admin must say which.
      await refused(created({ workspace_id: undefined }), 'INVALID_ARGUMENT', 'AB01');
    });

    it('of other workspaces and of the organisation do not exist for a workspace', async () => {
      const { id } = await created({ workspace_id: other });
      const { data } = await workspace.keys.list();
      expect(data.map((key) => key.workspace_id))
        .to.include(first.workspace_id)
        .and.not.include(other);
      expect(data.map((key) => key.type)).to.not.include('organisation-service');
      await refused(workspace.keys.delete(id), 'NOT_FOUND', 'AB08');
      await refused(workspace.keys.list({ workspace_id: other }), 'NOT_FOUND', 'AB02');
      const { data: all } = await admin.keys.list({ page_size: 1000 });
      const adminKey = all.find((key) => key.type === 'organisation-service');
      await refused(workspace.keys.delete(adminKey?.id ?? ''), 'NOT_FOUND', 'AB08');
    });
  });

  describe('providers', () => {
    it('take a credential and never give it back', async () => {
      const secret = 'sk-canary-abcdefghijkl';
      const base_url = 'https://llm.example/v1/';
      const made = await workspace.providers.create({
        slug: 'main',
        provider: 'openai',
        key: `${secret}\n`,
        base_url,
      });
      expect(made.slug).to.equal('main');
      expect(forgotten).to.deep.equal([{ kind: 'provider', workspace: first.workspace_id, name: 'main' }]);
      const list = await workspace.providers.list();
      expect(JSON.stringify(list)).to.not.include('canary');
      expect(list.data[0]).to.include({
        slug: 'main',
        name: 'main',
        provider: 'openai',
        masked_api_key: 'sk*****jkl',
        custom_host: 'https://llm.example/v1',
      });
      const found = await store.providers.find(first.workspace_id, 'main');
      expect(found?.credential).to.equal(secret);
    });

    it('have one slug each, a known name and a plain base URL', async () => {
      const make = (input: object) => workspace.providers.create({ slug: 'p', provider: 'openai', ...input });
      await make({});
      await refused(make({}), 'ALREADY_EXISTS', 'AB07');
      expect((await make({ slug: undefined, name: 'My Own' })).slug).to.match(/^my-own-[0-9a-f]{6}$/);
      for (const wrong of [
        { provider: 'nobody' },
        { slug: 'a b' },
        { slug: 'x'.repeat(256) },
        { base_url: 'ftp://x/' },
        { base_url: 'https://user:pw@x/' },
        { base_url: 'https://x/?q' },
        { key: 'a\r\nx-injected: 1' },
      ]) {
        await refused(make({ ...wrong }), 'INVALID_ARGUMENT', 'AB01');
      }
    });

    it('are removed, and only in the own workspace', async () => {
      await workspace.providers.create({ slug: 'gone', provider: 'openai' });
      const elsewhere = connect((await created({ workspace_id: other, scopes: ['providers.delete'] })).key);
      await refused(elsewhere.providers.delete('gone'), 'NOT_FOUND', 'AB08');
      await refused(elsewhere.providers.delete('gone', 'default'), 'NOT_FOUND', 'AB02');
      forgotten.length = 0;
      await workspace.providers.delete('gone');
      expect(forgotten).to.deep.equal([{ kind: 'provider', workspace: first.workspace_id, name: 'gone' }]);
      expect(await store.providers.find(first.workspace_id, 'gone')).to.equal(null);
    });
  });

  describe('configs', () => {
    it('are stored as text or as an object, changed and archived, and the workers are notified of both names', async () => {
      const { data } = await workspace.configs.create({ name: 'Fast', config: '{"provider": "openai"}' });
      const names = [data.slug, data.id].map((name) => ({
        kind: 'config',
        workspace: first.workspace_id,
        name,
      }));
      expect(forgotten).to.deep.equal(names);
      const got = await workspace.configs.get(data.slug);
      expect(got).to.deep.include({
        config: { provider: 'openai' },
        version_id: data.version_id,
        is_default: 0,
      });

      forgotten.length = 0;
      const change = await workspace.configs.update(data.id, { config: { retry: { attempts: 3 } } });
      expect(forgotten).to.deep.equal(names);
      expect(change.data.version_id).to.not.equal(data.version_id);
      expect((await workspace.configs.get(data.slug)).config).to.deep.equal({ retry: { attempts: 3 } });
      expect((await workspace.configs.list()).data.map((row) => row.slug)).to.include(data.slug);

      forgotten.length = 0;
      await workspace.configs.delete(data.slug);
      expect(forgotten).to.deep.equal(names);
      expect((await workspace.configs.list()).data.map((row) => row.slug)).to.not.include(data.slug);
      expect(await store.configs.find(first.workspace_id, data.slug)).to.equal(null);
    });

    it('as a google.protobuf.Struct keep their shape', async () => {
      const config = { a: [1.5, false, null], b: {}, c: '' };
      await workspace.configs.create({ name: 'struct', slug: 'pc-struct', config });
      const kept = await workspace.configs.get('pc-struct');
      expect(kept.config).to.deep.equal(config);
    });

    it('that cannot be used are refused, with what is wrong, and change nothing', async () => {
      const { data } = await workspace.configs.create({ name: 'good', slug: 'pc-good', config: '{"a":1}' });
      forgotten.length = 0;
      const message = await refused(
        workspace.configs.update(data.slug, { config: '{broken' }),
        'INVALID_ARGUMENT',
        'AB01',
      );
      expect(message).to.equal('Invalid config: config: not JSON.');
      await refused(workspace.configs.create({ name: 'x' }), 'INVALID_ARGUMENT', 'AB01');
      await refused(
        workspace.configs.create({ name: 'x', slug: 'x', config: {} }),
        'INVALID_ARGUMENT',
        'AB01',
      );
      await refused(
        workspace.configs.create({ name: 'x', slug: 'pc-good', config: {} }),
        'ALREADY_EXISTS',
        'AB07',
      );
      const big = JSON.stringify({ filler: 'x'.repeat(256 * 1024) });
      await refused(workspace.configs.create({ name: 'x', config: big }), 'INVALID_ARGUMENT', 'AB01');
      await refused(workspace.configs.get('pc-none'), 'NOT_FOUND', 'AB08');
      await refused(admin.configs.get('pc-good', other), 'NOT_FOUND', 'AB08');
      expect((await workspace.configs.get('pc-good')).config).to.deep.equal({ a: 1 });
      expect(forgotten).to.deep.equal([]);
    });
  });

  describe('a write', () => {
    it('is acknowledged only after the workers were notified', async () => {
      let tell: () => void = () => {};
      changing = () =>
        new Promise((told) => {
          tell = told;
        });
      let isAnswered = false;
      const write = workspace.configs.create({ name: 'slow', config: {} }).then(() => {
        isAnswered = true;
      });
      await new Promise((wait) => setTimeout(wait, 100));
      expect(isAnswered).to.equal(false);
      tell();
      await write;
      changing = async () => {};
    });

    it('reports that a worker did not confirm it', async () => {
      changing = () => Promise.reject(new Error('worker 2 is silent'));
      const message = await refused(
        workspace.configs.create({ name: 'x', config: {} }),
        'UNAVAILABLE',
        'unavailable',
      );
      changing = async () => {};
      expect(message).to.include('stored').and.not.include('worker 2');
      expect(logged.join('\n')).to.include('admin call failed');
    });
  });

  describe('logs', () => {
    before(() => {
      const org = first.organisation_id;
      ledger.rows.push(
        logRow(org, first.workspace_id, 'one', 't1'),
        logRow(org, other, 'two', 't1'),
        logRow('another', 'x', 'three', 't1'),
        { ...logRow(org, first.workspace_id, 'four', 't2'), slug: 'main', dropped: ['metadata.n', 'seed'] },
      );
    });

    it('are those of the own workspace, or of the organisation for its own key', async () => {
      const ids = async (client: AdminClient, filter = {}): Promise<string[]> =>
        (await client.logs.list(filter)).data.map((row) => row.id);
      expect(await ids(workspace)).to.deep.equal(['four', 'one']);
      expect(await ids(admin)).to.deep.equal(['four', 'two', 'one']);
      expect(await ids(admin, { workspace_id: other })).to.deep.equal(['two']);
      expect(await ids(admin, { trace_id: 't1' })).to.deep.equal(['two', 'one']);
      expect(await ids(admin, { limit: 1 })).to.deep.equal(['four']);
      await refused(workspace.logs.list({ workspace_id: other }), 'NOT_FOUND', 'AB02');
      await refused(workspace.logs.list({ after: 'x' }), 'INVALID_ARGUMENT', 'AB01');
      const { cursor } = await workspace.logs.list();
      ledger.rows.push(logRow(first.organisation_id, first.workspace_id, 'five', 't3'));
      expect(await ids(workspace, { after: cursor })).to.deep.equal(['five']);
    });

    it('come with bodies one by one, and not to another workspace', async () => {
      const log = await workspace.logs.get('one');
      expect(log.request).to.include({ url: '/v1/chat/completions', method: 'POST', body: '{"q":1}' });
      expect(log.response).to.include({ status: 200, body: '{"a":2}' });
      expect(log.metrics).to.include({
        total_units: 12,
        cost: 0.0015,
        stream_mode: 1,
        is_success: true,
        usage_source: 'none',
        ai_org: 'openai',
        model_asked: 'gpt',
        mode: 'chat',
        first_byte_time: 3,
        state: 'settled',
      });
      expect(log.metrics?.metadata).to.deep.equal({ team: 'a' });
      expect(log.metrics?.attempts).to.have.length(1);
      expect(log.metrics).to.not.have.any.keys('config', 'error', 'span_id');
      expect(log.created_at).to.equal('2027-01-15T08:00:00.123Z');
      await refused(workspace.logs.get('two'), 'NOT_FOUND', 'AB08');
      await refused(admin.logs.get('three'), 'NOT_FOUND', 'AB08');
    });
  });

  describe('the commands', () => {
    /** Runs a command line as `headgate` would and gives what it printed on standard output. */
    async function headgate(...args: string[]): Promise<string> {
      const settings = () => ({
        host: '0.0.0.0',
        grpcPort: server.port,
        dataDir,
        adminKey: null as Secret | null,
      });
      return run(settings, args);
    }

    async function run(
      settings: () => { host: string; grpcPort: number; dataDir: string; adminKey: Secret | null },
      args: string[],
    ): Promise<string> {
      const program = new Command('headgate').exitOverride().configureOutput({ writeErr: () => {} });
      const ofStore = {
        databaseUrl: null,
        ledgerDatabaseUrl: null,
        masterKey: null,
        auditAnchors: [],
        auditAnchorFile: null,
      };
      for (const register of [registerKeys, registerProviders, registerConfigs, registerLogs]) {
        register(program, { settings: () => ({ ...settings(), ...ofStore }) });
      }
      const printed: string[] = [];
      const { log, error } = console;
      console.log = (text: string) => void printed.push(text);
      console.error = () => {};
      try {
        await program.parseAsync(args, { from: 'user' });
      } finally {
        Object.assign(console, { log, error });
      }
      return printed.join('\n');
    }

    it('create, list and revoke keys', async () => {
      const key = await headgate(
        'keys',
        'create',
        '--name',
        'from cli',
        '--workspace',
        'default',
        '--expires',
        '30d',
      );
      expect(isGatewayKey(key)).to.equal(true);
      const found = await store.keys.findByHash(store.hashKey(key));
      expect(found?.scopes).to.deep.equal(['completions.write']);
      expect((found?.expiresAt ?? 0) - Date.now()).to.be.within(29 * 86_400_000, 30 * 86_400_000);
      const list = await headgate('keys', 'list');
      expect(list)
        .to.match(/^ID +NAME +TYPE/)
        .and.include('from cli')
        .and.not.include(key);
      const rows = JSON.parse(await headgate('keys', 'list', '--json')) as { id: string; name: string }[];
      expect(rows.map((row) => row.name)).to.include('from cli');
      await headgate('keys', 'revoke', found?.keyId ?? '');
      expect(await store.keys.findByHash(store.hashKey(key))).to.equal(null);
    });

    it('store a provider with the credential of a file, and a config', async () => {
      const file = join(dataDir, 'credential');
      writeFileSync(file, 'sk-from-file-123456\n');
      const where = ['--workspace', 'default'];
      await headgate('providers', 'add', 'cli', '--provider', 'anthropic', '--key-file', file, ...where);
      expect(await store.providers.find(first.workspace_id, 'cli')).to.include({
        provider: 'anthropic',
        credential: 'sk-from-file-123456',
      });
      expect(await headgate('providers', 'list', ...where)).to.match(/@cli +cli +anthropic +sk\*{5}456/);
      await headgate('providers', 'remove', '@cli', ...where);
      expect(await store.providers.find(first.workspace_id, 'cli')).to.equal(null);

      writeFileSync(file, '{"provider":"openai"}');
      expect(await headgate('configs', 'create', file, '--name', 'c', '--slug', 'pc-cli', ...where)).to.equal(
        'pc-cli',
      );
      const shown = JSON.parse(await headgate('configs', 'get', 'pc-cli', ...where));
      expect(shown).to.deep.equal({ provider: 'openai' });
      expect(await headgate('configs', 'list', ...where)).to.include('pc-cli');
      await headgate('configs', 'delete', 'pc-cli', ...where);
      expect(await headgate('configs', 'list', ...where)).to.not.include('pc-cli');
    });

    it('take the default workspace where there are several and none is named', async () => {
      const made = JSON.parse(await headgate('keys', 'create', '--name', 'unplaced', '--json'));
      const listed = JSON.parse(await headgate('keys', 'list', '--json')) as {
        id: string;
        workspace_id: string;
      }[];
      expect(listed.find(({ id }) => id === made.id)?.workspace_id).to.equal(first.workspace_id);
      expect(await headgate('configs', 'list', '--json')).to.match(/^\[/);
      const elsewhere = JSON.parse(
        await headgate('keys', 'create', '--name', 'placed', '--workspace', other, '--json'),
      );
      const { data } = await admin.keys.list({ workspace_id: other });
      expect(data.map(({ id }) => id)).to.include(elsewhere.id);
    });

    it('show in logs the slug of a stored provider, and the name of any other', async () => {
      const [heading, ...rows] = (await headgate('logs', '--limit', '10')).split('\n');
      const start = heading!.indexOf('PROVIDER');
      const cells = rows.map((row) => row.slice(start, start + 10).trim());
      expect(cells).to.include('@main').and.include('openai');
      const json = JSON.parse(await headgate('logs', '--json', '--trace', 't2'));
      expect(json).to.deep.include({
        ai_org: 'openai',
        virtual_key: 'main',
        dropped_fields: ['metadata.n', 'seed'],
      });
    });

    it('show logs without letting them steer the terminal', async () => {
      const shown = await headgate('logs', '--limit', '2');
      expect(shown.split('\n')).to.have.length(3);
      expect(shown).to.include('gpt-1\\u001b[2J').and.not.include('\u001b');
      const line = (await headgate('logs', '--json', '--trace', 't2')).split('\n');
      expect(line).to.have.length(1);
      expect(JSON.parse(line[0] ?? '')).to.include({ id: 'four', created_at: '2027-01-15T08:00:00.123Z' });
    });

    it('report in one line that no gateway answers, that a key is missing, what was refused', async () => {
      const failure = (settings: Parameters<typeof run>[0], args: string[]): Promise<Error> =>
        run(settings, args).then(
          () => expect.fail('must fail'),
          (error: Error) => error,
        );
      const at = (grpcPort: number, dir: string, adminKey: string | null) => () => ({
        host: '127.0.0.1',
        grpcPort,
        dataDir: dir,
        adminKey: adminKey === null ? null : new Secret(adminKey),
      });
      const away = await failure(at(1, dataDir, null), ['keys', 'list']);
      expect(away).to.include({ name: 'CliError', exitCode: 1 });
      expect(away.message).to.equal('No gateway answers at 127.0.0.1:1: start it with headgate serve.');
      const keyless = await failure(at(server.port, join(dataDir, 'none'), null), ['keys', 'list']);
      expect(keyless.message).to.match(/^No admin key: .*HEADGATE_ADMIN_KEY/);
      const wrong = await failure(at(server.port, dataDir, 'gw_wrong'), ['keys', 'list']);
      expect(wrong.message).to.equal(
        'This gateway key is not known, or no longer valid. It was taken from HEADGATE_ADMIN_KEY.',
      );
    });
  });
});
