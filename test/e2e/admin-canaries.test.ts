// lane: slow
import { readdirSync, readFileSync } from 'node:fs';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { expect } from 'chai';
import type { Message } from '../../proto/codec.js';
import { type AdminMethod, adminMethod, adminTree } from '../../proto/tree.js';
import { AdminCallError, type AdminClient, connectAdmin } from '../../src/client/index.js';
import {
  type Canaries,
  companions,
  inForm,
  nested,
  placeOf,
  providerWith,
  type SecretPath,
  secretPaths,
  startCanaries,
} from '../support/canaries.js';
import { headgateHere } from '../support/cli-bench.js';
import { eventually, type RunningGateway, startGateway } from '../support/gateway.js';
import { folder, forEachStoreInWhole } from '../support/stores.js';

/**
 * What people sign in with is compared and hashed (people-sign-in.test.ts), documents are refused where a secret is written
 * out (files.test.ts), and the others are tried below with the fields that they need.
 */
const ofOtherTests = /^(?:Auth|Documents|SecretReferences)\.|^Organisations\.UpdateAuthSettings$/;
const methods = [...adminTree().methods.values()].filter(({ name }) => !ofOtherTests.test(name));
/** Every way in for a secret: `[method, path of the field]`. */
const ways = methods.flatMap((method) => secretPaths(method.request).map((path) => [method, path] as const));
const nameOf = (method: AdminMethod, path: SecretPath): string =>
  `${method.name} ${path.map(({ name }) => name).join('.')}`;

const partners = [
  'patronus',
  'pillar',
  'lasso',
  'sydelabs',
  'qualifire',
  'walledai',
  'exa',
  'aporia',
  'mistral',
];
/** Credentials of a partner in place of any object. */
const asApiKey = (value: unknown): unknown =>
  typeof value === 'object' && value !== null && 'private_key' in value
    ? { apiKey: value.private_key }
    : value;

describe('secrets that are put into every field that takes one', function () {
  this.timeout(60_000);

  forEachStoreInWhole(({ options, database, dialect }) => {
    let gateway: RunningGateway;
    let echo: Server;
    let canaries: Canaries;
    let poor: string;
    let clients: Record<'admin' | 'poor', AdminClient>;
    let dataDir: string;
    let serial = 0;
    /** What was refused, and what was read, as it came. */
    const refusals: string[] = [];
    const answers: string[] = [];

    before(async () => {
      canaries = startCanaries();
      dataDir = folder();
      const { databaseUrl } = await options(dataDir);
      const env = {
        HEADGATE_LOG_LEVEL: 'debug',
        ...(databaseUrl && { DATABASE_URL: databaseUrl.reveal() }),
      };
      // A provider that tells in its errors what it was sent.
      echo = createServer((request, response) => {
        response.writeHead(401, { 'content-type': 'application/json' });
        const message = `Incorrect key: ${JSON.stringify(request.rawHeaders)}`;
        response.end(JSON.stringify({ error: { message, type: 'invalid_request_error', code: null } }));
      });
      [gateway] = await Promise.all([
        startGateway({ env, dataDir }),
        new Promise<void>((listening) => echo.listen(0, '127.0.0.1', listening)),
      ]);
      const made = await gateway.admin().api.apiKeys.createApiKey({
        type: 'workspace',
        sub_type: 'service',
        name: 'poor',
        workspace_id: gateway.workspaceId,
        scopes: ['configs.list', 'completions.write'],
      });
      poor = made.key;
      canaries.keep('text of a made key', poor);
      const address = `127.0.0.1:${gateway.grpcPort}`;
      clients = { admin: gateway.admin(), poor: connectAdmin({ address, key: poor }) };
    });
    after(async () => {
      clients?.poor.close();
      await gateway?.stop({ keep: true });
      echo?.close();
    });

    const echoUrl = (): string => `http://127.0.0.1:${(echo.address() as AddressInfo).port}/v1`;

    /** What a call came to: its answer, or null where it was refused. */
    async function overGrpc(
      who: 'admin' | 'poor',
      method: AdminMethod,
      message: Message,
    ): Promise<Message | null> {
      try {
        return await clients[who].call(method, message);
      } catch (thrown) {
        if (!(thrown instanceof AdminCallError)) throw thrown;
        refusals.push(`${thrown.message} ${thrown.stack}`);
        return null;
      }
    }
    async function overRest(
      verb: string,
      path: string,
      body: unknown,
      key = gateway.adminKey,
    ): Promise<Message | null> {
      const response = await fetch(gateway.url + path, {
        method: verb,
        headers: { 'x-gateway-api-key': key, 'content-type': 'application/json' },
        ...(body !== undefined && { body: typeof body === 'string' ? body : JSON.stringify(body) }),
      });
      const text = await response.text();
      if (!response.ok) {
        refusals.push(`${text} ${[...response.headers].join()}`);
        return null;
      }
      if (verb === 'GET') answers.push(text);
      return verb === 'GET' ? null : (JSON.parse(text) as Message);
    }

    /** Slug of the record that is updated, by the way in. */
    const updated = new Map<string, string>();

    /** A whole request with `value` in the field. */
    async function requestOf(method: AdminMethod, path: SecretPath, value: unknown): Promise<Message> {
      const { name: field } = path.at(-1)!;
      const shape = method.request;
      const parent = path.at(-2)?.message ?? shape;
      const base: Record<string, unknown> = {};
      if (method.method.startsWith('Create')) {
        base['name'] = `c-${++serial}`;
        for (const name of ['ai_provider_id', 'provider'])
          if (shape.field(name) !== undefined) base[name] = providerWith(field);
        if (shape.field('key') !== undefined) base['key'] = 'sk-of-no-account';
        // An organisation has one plugin of each.
        if (shape.field('plugin_provider_id') !== undefined)
          base['plugin_provider_id'] = partners[serial % partners.length];
      }
      if (method.method.startsWith('Update')) {
        const [, place = ''] = /\{([^}]*)\}/.exec(method.bindings[0]!.path) ?? [];
        const way = nameOf(method, path);
        // There is one of those whose path names none.
        if (place !== '') {
          base[place] = updated.get(way) ?? (await madeFor(method, path));
          updated.set(way, String(base[place]));
        }
      }
      const given = method.service === 'Plugins' ? asApiKey(value) : value;
      return { ...base, ...nested(path, given, companions(field, parent, path.length === 1 ? base : {})) };
    }

    /** Slug of a record to be updated, made with a secret in the same field. */
    async function madeFor({ service, method }: AdminMethod, path: SecretPath): Promise<string> {
      const creation = adminMethod(`${service}.${method.replace('Update', 'Create')}`)!;
      const same = secretPaths(creation.request).find((one) => one.at(-1)!.name === path.at(-1)!.name)!;
      const canary = canaries.make(`${nameOf(creation, same)} (before an update)`);
      const made = await overGrpc(
        'admin',
        creation,
        await requestOf(creation, same, inForm(same.at(-1)!, canary)),
      );
      expect(made, `${creation.name}: ${refusals.at(-1)}`).to.not.equal(null);
      return String(made!['slug'] ?? (made!['data'] as Message | undefined)?.['slug'] ?? made!['id']);
    }

    it('are taken over gRPC and REST, and are sealed', async () => {
      expect(ways.length).to.be.above(20);
      for (const [method, path] of ways) {
        // There is no invitation of a made-up token; its real ones come below.
        if (method.name === 'Invites.AcceptInvite') continue;
        const field = path.at(-1)!;
        const whole = (protocol: string) => {
          const canary = canaries.make(`${nameOf(method, path)} over ${protocol}`);
          return requestOf(method, path, inForm(field, canary));
        };
        const answered = await overGrpc('admin', method, await whole('gRPC'));
        expect(answered, `${nameOf(method, path)}: ${refusals.at(-1)}`).to.not.equal(null);
        const { verb, path: place, body } = placeOf(method, await whole('REST'));
        const again = await overRest(verb, place, body);
        expect(again, `${nameOf(method, path)}: ${refusals.at(-1)}`).to.not.equal(null);
      }
    });

    it('are refused where the request is wrong, or not allowed', async () => {
      // Most of it is before any database: on the second one some will do.
      const tried = dialect === 'sqlite' ? ways : ways.filter((_, i) => i % 3 === 0);
      for (const [method, path] of tried) {
        const field = path.at(-1)!;
        const put = (how: string): string => canaries.make(`${nameOf(method, path)} ${how}`);
        const whole = (how: string, change = (form: unknown): unknown => form) =>
          requestOf(method, path, change(inForm(field, put(how))));
        await overGrpc('poor', method, await whole('without scope over gRPC'));
        await overGrpc('admin', method, { ...(await whole('beside a wrong field over gRPC')), name: '' });
        const send = async (message: Message, key?: string, change = (body: object): unknown => body) => {
          const { verb, path: place, body } = placeOf(method, message);
          expect(await overRest(verb, place, change(body), key), nameOf(method, path)).to.equal(null);
        };
        await send(await whole('without scope over REST'), poor);
        await send(await whole('beside an unknown field'), undefined, (body) => ({ ...body, nope: 1 }));
        await send(await whole('in a list', (form) => [form]));
        const isFree = field.kind === 'struct';
        await send(await whole('in an object', (form) => (isFree ? String(form) : { a: { b: form } })));
        await send(
          await whole('too long', (form) => (typeof form === 'string' ? form.repeat(5000) : [form])),
        );
        await send(await whole('as broken JSON'), undefined, (body) => JSON.stringify(body).slice(0, -1));
        const { verb, path: place, body } = placeOf(method, await whole('in the body of a bad query'));
        const query = new URLSearchParams({ [field.jsonName]: put('in a query'), nope: put('in nothing') });
        await overRest(verb, `${place}?${query}`, body);
        await overRest('GET', `${place}?${query}`, undefined);
      }
    });

    it('are taken from a query, where a method takes any field from there', async () => {
      for (const [method, path] of ways) {
        if (path.length > 1 || path[0]!.kind !== 'string' || path[0]!.map) continue;
        const { name, jsonName } = path[0]!;
        const message = await requestOf(method, path, canaries.make(`${nameOf(method, path)} in a query`));
        const { verb, path: place, body } = placeOf(method, { ...message, [name]: undefined });
        await overRest(verb, `${place}?${new URLSearchParams({ [jsonName]: String(message[name]) })}`, body);
      }
    });

    it('are in settings of sign-in and in secret references', async () => {
      const put = (where: string): string => canaries.make(where).replaceAll('/', '-');
      const taken = async (verb: string, path: string, bodyOf: (where: string) => object): Promise<void> => {
        expect(await overRest(verb, path, bodyOf('taken')), refusals.at(-1)).to.not.equal(null);
        await overRest(verb, path, { ...bodyOf('beside an unknown field'), nope: 1 });
        await overRest(verb, path, bodyOf('without scope'), poor);
        await overRest('GET', path, undefined);
      };
      const oidc = { issuer: 'https://id.example.com', client_id: 'client' };
      await taken('PUT', '/v1/admin/organisation/auth-settings', (where) => ({
        oidc: { ...oidc, client_secret: put(`client_secret, ${where},`) },
      }));
      const azure = { azure_entra_tenant_id: 'tenant', azure_entra_client_id: 'client' };
      const vault = { vault_addr: 'https://vault.example.com' };
      const managers: Record<string, (secret: string) => object> = {
        aws_sm: (secret) => ({
          ...{ aws_auth_type: 'accessKey', aws_access_key_id: 'AKIAIOSFODNN7EXAMPLE' },
          ...{ aws_secret_access_key: secret, aws_region: 'eu-west-1' },
        }),
        azure_kv: (secret) => ({
          ...{ azure_auth_mode: 'entra', ...azure, azure_entra_client_secret: secret },
          azure_vault_url: 'https://v.vault.azure.net',
        }),
        hashicorp_vault: (secret) => ({ vault_auth_type: 'token', ...vault, vault_token: secret }),
      };
      for (const [manager_type, auth] of Object.entries(managers))
        await taken('POST', '/v1/secret-references', (where) => ({
          ...{ name: `of ${manager_type}`, manager_type, secret_path: 'secret/data/app' },
          auth_config: auth(put(`${manager_type}, ${where},`)),
        }));
    });

    it('are in free JSON too', async () => {
      const { api } = clients.admin;
      const put = (where: string): string => canaries.make(where).replaceAll('/', '-');
      for (const i of [1, 2]) {
        const api_key = put(`api_key of a config, version ${i}`);
        const config = { provider: 'openai', api_key, custom_host: echoUrl() };
        if (i === 1) await api.configs.createConfig({ name: 'free', slug: 'pc-free', config });
        else await api.configs.updateConfig({ slug: 'pc-free', config });
      }
      await overRest('POST', '/v1/configs', {
        name: 'wrong',
        config: { provider: 'openai', api_key: `${put('api_key of a wrong config')} blank` },
      });
    });

    it('are in the checks of guardrails', async () => {
      const feedback = { feedback: {} };
      const actions = { deny: true, async: false, on_success: feedback, on_fail: feedback };
      const put = (where: string): string => canaries.make(`${where} of a guardrail`);
      const urlOf = (where: string): string => {
        const [user, query] = ['user', 'query'].map((part) => encodeURIComponent(put(`${part}, ${where},`)));
        return `https://u:${user}@example.com/in?token=${query}#${encodeURIComponent(put(`fragment, ${where},`))}`;
      };
      const checksOf = (where: string): { id: string; parameters: Record<string, unknown> }[] => [
        {
          id: 'default.webhook',
          parameters: {
            webhookURL: urlOf(`webhook, ${where}`),
            headers: { 'X-A': put(`header, ${where},`) },
          },
        },
        {
          id: 'default.log',
          parameters: { logURL: urlOf(`log, ${where}`), headers: { 'X-B': put(`header of log, ${where},`) } },
        },
        {
          id: 'default.jwt',
          parameters: { jwksUri: urlOf(`jwt, ${where}`), headerKey: 'x-token' },
        },
      ];
      const name = 'guarded';
      for (const client of Object.values(clients)) {
        const creation = { name, actions, checks: checksOf('gRPC'), workspace_id: gateway.workspaceId };
        await client.call(adminMethod('Guardrails.CreateGuardrail')!, creation).catch((thrown: Error) => {
          expect(client).to.equal(clients.poor);
          refusals.push(`${thrown.message} ${thrown.stack}`);
        });
      }
      const place = '/v1/guardrails';
      const own = { workspace_id: gateway.workspaceId };
      const made = await overRest('POST', place, { name, actions, checks: checksOf('REST'), ...own });
      const at = `${place}/${made!['slug']}`;
      expect(await overRest('PUT', at, { checks: checksOf('update') })).to.not.equal(null);
      const [hook] = checksOf('wrong') as [{ id: string; parameters: Record<string, unknown> }];
      const { parameters } = hook;
      for (const wrong of [
        { ...hook, id: 'default.nope' },
        { ...hook, parameters: { ...parameters, timeout: 'x' } },
        { ...hook, parameters: { ...parameters, nope: 1 } },
        { ...hook, parameters: { ...parameters, webhookURL: `ftp://${put('wrong URL')}` } },
        { ...hook, parameters: { ...parameters, headers: [put('listed header')] } },
        { ...hook, parameters: { ...parameters, headers: { a: `*****${put('half of a mask')}` } } },
      ])
        expect(await overRest('PUT', at, { checks: [wrong] })).to.equal(null);
      expect(await overRest('PUT', at, { checks: checksOf('without scope') }, poor)).to.equal(null);
      const query = new URLSearchParams({ checks: JSON.stringify(checksOf('query')) });
      await overRest('PUT', `${at}?${query}`, { name });
      const before = answers.length;
      await overRest('GET', at, undefined);
      expect(answers.slice(before).join()).to.include('*****');
      const { api } = clients.admin;
      const { data } = await api.guardrails.listGuardrails({ workspace_id: gateway.workspaceId });
      expect(data).to.have.length(2);
      for (const { id } of data) answers.push(JSON.stringify(await api.guardrails.getGuardrail({ id })));
    });

    it('are made by the gateway, kept for a repetition, and turned in', async () => {
      const { api } = clients.admin;

      const { id, key } = await api.apiKeys.createApiKey({
        type: 'workspace',
        sub_type: 'service',
        name: 'rotated',
        workspace_id: gateway.workspaceId,
        scopes: ['completions.write'],
        request_id: 'again',
      });
      canaries.keep('key', key);
      canaries.keep('rotated key', (await api.apiKeys.rotateApiKey({ id })).key);
      const deployment = await api.deployments.createDeployment({ name: 'made', request_id: 'once more' });
      canaries.keep('auth_secret', deployment.auth_secret);
      const { auth_secret } = await api.deployments.updateDeployment({
        deployment_id: deployment.id,
        rotate_auth: true,
      });
      canaries.keep('rotated auth_secret', auth_secret!);
      const invited = await api.invites.createInvite({
        email: 'a@example.com',
        role: 'member',
        workspaces: [{ id: gateway.workspaceId, role: 'member' }],
        workspace_api_key_details: { scopes: ['completions.write'] },
      });
      const tokenOf = (link: string): string => link.split('#token=')[1]!;
      canaries.keep('token of an invitation', tokenOf(invited.invite_link));
      const { invite_link } = await api.invites.resendInvite({ invite_id: invited.id });
      canaries.keep('token that was sent again', tokenOf(invite_link));
      const accepted = await overRest('POST', '/v1/admin/users/invites/accept', {
        token: tokenOf(invite_link),
      });
      for (const made of accepted!['api_keys'] as { key: string }[])
        canaries.keep('key of an invitation', made.key);
    });

    it('are sent to providers, whose errors repeat them', async () => {
      const { api } = clients.admin;
      await api.providers.createProvider({
        slug: 'echo',
        provider: 'openai',
        key: canaries.make('key that a provider repeats'),
        custom_host: echoUrl(),
        custom_headers: { 'x-second': canaries.make('header that a provider repeats') },
      });
      const ask = (headers: Record<string, string>) =>
        fetch(`${gateway.url}/v1/chat/completions`, {
          method: 'POST',
          headers: { 'x-gateway-api-key': poor, 'content-type': 'application/json', ...headers },
          body: '{"model":"gpt-4o-mini","messages":[{"role":"user","content":"Hello"}]}',
        });
      const inline = canaries.make('api_key of an inline config').replaceAll('/', '-');
      const calls: Record<string, string>[] = [
        { 'x-gateway-provider': '@echo' },
        { 'x-gateway-config': 'pc-free' },
        {
          'x-gateway-provider': 'openai',
          'x-gateway-custom-host': echoUrl(),
          authorization: `Bearer ${canaries.make('key of a caller')}`,
        },
        {
          'x-gateway-config': JSON.stringify({
            provider: 'openai',
            api_key: inline,
            custom_host: echoUrl(),
          }),
        },
        { 'x-gateway-config': `{"api_key":"${canaries.make('broken inline config')}"` },
        {
          'x-gateway-config': JSON.stringify({
            provider: 'openai',
            api_key: `${canaries.make('wrong inline config')} blank`,
          }),
        },
      ];
      const statuses: number[] = [];
      for (const headers of calls) {
        const response = await ask(headers);
        statuses.push(response.status);
        refusals.push(await response.text());
      }
      expect(statuses).to.deep.equal([401, 401, 401, 401, 400, 400]);
      await eventually('their rows in the ledger', async () => {
        const { data } = await api.logs.listLogs({});
        return data.length >= 4;
      });
    });

    describe('afterwards', () => {
      const nothingIn = (bytes: Buffer | string): void =>
        void expect(canaries.foundIn(bytes)).to.deep.equal([]);

      it('are in no log of the process', () => {
        expect(gateway.output()).to.not.equal('');
        nothingIn(gateway.output());
      });

      it('are in no refusal', () => nothingIn(refusals.join('\n')));

      it('are in no list, record or export', async () => {
        const lists = methods.filter(
          ({ method, streams, bindings }) =>
            method.startsWith('List') && !streams && !bindings[0]!.path.includes('{'),
        );
        expect(lists.length).to.be.above(10);
        const times = 'start_time=2020-01-01T00:00:00Z&end_time=2100-01-01T00:00:00Z';
        for (const { name, bindings } of lists) {
          const before = answers.length;
          const { path } = bindings[0]!;
          await overRest('GET', `${path}?${name.startsWith('AuditLogs') ? times : ''}`, undefined);
          if (answers.length === before) continue;
          const { data = [] } = JSON.parse(answers.at(-1)!) as { data?: { id: string; slug?: string }[] };
          for (const { id, slug } of data) await overRest('GET', `${path}/${slug ?? id}`, undefined);
        }
        await overRest('GET', '/v1/configs/pc-free/versions', undefined);
        await overRest('GET', '/v1/deployments/made?include_credentials=true', undefined);
        for (const format of ['csv', 'jsonl'])
          await overRest('GET', `/v1/audit-logs/export?format=${format}&${times}`, undefined);
        expect(answers.length).to.be.above(50);
        nothingIn(answers.join('\n'));
      });

      it('are in no metrics', async () => {
        nothingIn(await (await fetch(`${gateway.opsUrl}/metrics`)).text());
      });

      it('are in nothing that commands print', async () => {
        for (const args of [
          ['logs', '--json'],
          ['audit', 'export', '--format', 'jsonl'],
          ['audit', 'export', '--format', 'csv'],
        ]) {
          const { stdout, stderr } = await headgateHere(args, gateway.env);
          expect(stdout, stderr).to.not.equal('');
          nothingIn(stdout + stderr);
        }
      });

      it('are in no event of the stream of changes', async () => {
        const gone = new AbortController();
        const response = await fetch(`${gateway.url}/v1/watch?token=t0`, {
          headers: { 'x-gateway-api-key': gateway.adminKey },
          signal: gone.signal,
        });
        expect(response.status).to.equal(200);
        const reader = response.body!.getReader();
        const { value } = await reader.read();
        gone.abort();
        nothingIn(Buffer.from(value!));
      });

      const files = (): string[] =>
        readdirSync(dataDir, { recursive: true, withFileTypes: true })
          .filter((entry) => entry.isFile() && !['first-keys.json', 'master.key'].includes(entry.name))
          .map(({ parentPath, name }) => join(parentPath, name));

      it('are in no file, while the gateway runs and after it has ended', async () => {
        const look = (): void => {
          const found = files().flatMap((file) =>
            canaries.foundIn(readFileSync(file)).map((where) => `${file}: ${where}`),
          );
          expect(found).to.deep.equal([]);
          expect(files()).to.have.length.above(0);
        };
        look();
        await gateway.stop({ keep: true });
        look();
      });

      if (dialect !== 'postgres') return;
      it('are in no row of PostgreSQL', async () => {
        const bare = await database(dataDir);
        const rows = await bare.read(async (sql) => {
          const { rows: tables } = await sql.raw(
            'SELECT table_name AS name FROM information_schema.tables WHERE table_schema = current_schema()',
          );
          const texts: string[] = [];
          for (const { name } of tables as { name: string }[]) {
            const found = await sql.raw('SELECT t::text AS text FROM ?? t', [name]);
            texts.push(...found.rows.map(({ text }: { text: string }) => text));
          }
          return texts;
        });
        await bare.close();
        expect(rows).to.have.length.above(100);
        nothingIn(rows.join('\n'));
      });
    });
  });
});
