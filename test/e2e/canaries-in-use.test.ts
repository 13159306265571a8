// lane: slow
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { gunzipSync } from 'node:zlib';
import { expect } from 'chai';
import { type Canaries, startCanaries } from '../support/canaries.js';
import { type CheckService, startCheckService } from '../support/check-service.js';
import { headgateHere } from '../support/cli-bench.js';
import { eventually, type RunningGateway, startGateway } from '../support/gateway.js';
import { SmtpListener } from '../support/smtp-listener.js';
import { folder, forEachStoreInWhole } from '../support/stores.js';
import { scaled } from '../support/time-limits.js';

/** Loaded into the gateway by Node itself: an exception that no code expects. */
const preload = `process.on('SIGUSR2', () => { throw new Error('provoked exception'); });`;

describe('secrets of the settings and values of secret references that are in use', function () {
  this.timeout(scaled(60_000));

  forEachStoreInWhole(({ database, dialect }) => {
    if (dialect !== 'sqlite') return;
    let gateway: RunningGateway;
    let canaries: Canaries;
    let mailServer: SmtpListener;
    /** Everything that the gateway calls: it answers with what it was sent. */
    let echo: CheckService;
    let work: string;
    let dataDir: string;
    let made = 0;
    /** What callers got. */
    const answers: string[] = [];
    /** What commands printed. */
    const printed: string[] = [];
    /** Does the service accept what it gets? */
    let isKind = false;

    before(async () => {
      canaries = startCanaries();
      const put = (where: string): string => {
        made += 1;
        return canaries.make(where);
      };
      work = mkdtempSync(join(tmpdir(), 'headgate-canaries-'));
      dataDir = folder();
      mkdirSync(join(work, 'secrets'));
      writeFileSync(join(work, 'secrets', 'key'), put('secret of a file'));
      writeFileSync(join(work, 'preload.cjs'), preload);
      const password = encodeURIComponent(put('password of the mail server'));
      let logins = 0;
      mailServer = await new SmtpListener({
        authOptional: false,
        allowInsecureAuth: true,
        onAuth: (auth, _session, done) => {
          const refusal = `535 5.7.8 ${auth.username} may not sign in with ${auth.password}`;
          // The first time it is refused, with all that was sent.
          if (logins++ === 0) return done(Object.assign(new Error(refusal), { responseCode: 535 }));
          done(null, { user: auth.username });
        },
      }).start();
      echo = await startCheckService((asked) => {
        const told = JSON.stringify([asked.path, asked.headers, asked.body]);
        if (isKind) return { body: { choices: [], verdict: true } };
        return {
          status: 401,
          body: { error: { message: `Incorrect: ${told}`, type: 'invalid_request_error' } },
        };
      });
      const whsec = Buffer.from(put('secret of the webhook').padEnd(48, '.')).toString('base64');
      gateway = await startGateway({
        dataDir,
        env: {
          HEADGATE_LOG_LEVEL: 'debug',
          HEADGATE_LOG_FORMAT: 'json',
          HEADGATE_MASTER_KEY: put('master key'),
          HEADGATE_SCHEDULES: 'key-rotation=1',
          HEADGATE_OWN_IDENTITY: 'aws,azure,kubernetes',
          HEADGATE_SECRET_ENV: 'CANARY_PLAIN,CANARY_OBJECT,CANARY_HEADERS,CANARY_TOKEN,CANARY_ABSENT',
          HEADGATE_SECRET_DIR: join(work, 'secrets'),
          CANARY_PLAIN: put('secret of a variable'),
          CANARY_OBJECT: JSON.stringify({
            inner: put('key of a secret'),
            other: put('other key of a secret'),
          }),
          CANARY_HEADERS: JSON.stringify({ 'x-canary': put('mapped header') }),
          CANARY_TOKEN: put('mapped credential of a partner'),
          CANARY_UNLISTED: put('variable that is not listed'),
          SMTP_URL: mailServer.url.replace('//', `//gateway:${password}@`),
          HEADGATE_ALERT_WEBHOOK: `${echo.url}/hook?token=${encodeURIComponent(put('URL of the webhook'))}`,
          HEADGATE_ALERT_WEBHOOK_SECRET: `whsec_${whsec}`,
          HEADGATE_LOG_SINKS: JSON.stringify([
            {
              type: 'http',
              url: `${echo.url}/logs`,
              headers: { authorization: put('header of a log sink') },
            },
          ]),
          OTEL_EXPORTER_OTLP_ENDPOINT: echo.url,
          OTEL_EXPORTER_OTLP_HEADERS: `authorization=${encodeURIComponent(put('header of the collector'))}`,
          REDIS_URL: `redis://:${encodeURIComponent(put('password of Redis'))}@127.0.0.1:9`,
          AWS_ENDPOINT_URL: echo.url,
          AWS_ACCESS_KEY_ID: 'AKIAIOSFODNN7EXAMPLE',
          AWS_SECRET_ACCESS_KEY: put('AWS key of the gateway'),
          AWS_SESSION_TOKEN: put('AWS session of the gateway'),
          AZURE_AUTHORITY_HOST: echo.url,
          AZURE_TENANT_ID: 'tenant',
          AZURE_CLIENT_ID: 'client',
          AZURE_CLIENT_SECRET: put('Azure secret of the gateway'),
          IDENTITY_ENDPOINT: `${echo.url}/identity`,
          IDENTITY_HEADER: put('identity header'),
          NODE_OPTIONS: `--require=${join(work, 'preload.cjs')}`,
        },
      });
    });
    after(async () => {
      await gateway?.stop({ keep: true });
      await echo?.close();
      await mailServer?.stop();
      rmSync(work, { recursive: true, force: true });
    });

    async function call(
      method: string,
      path: string,
      body?: object,
      headers: Record<string, string> = {},
    ): Promise<{ status: number; json: Record<string, unknown> }> {
      const response = await fetch(gateway.url + path, {
        method,
        headers: { 'x-gateway-api-key': gateway.adminKey, 'content-type': 'application/json', ...headers },
        ...(body !== undefined && { body: JSON.stringify(body) }),
      });
      const text = await response.text();
      answers.push(`${text} ${[...response.headers].join()}`);
      return { status: response.status, json: text === '' ? {} : JSON.parse(text) };
    }
    async function taken(method: string, path: string, body?: object): Promise<Record<string, unknown>> {
      const { status, json } = await call(method, path, body);
      expect(status, `${path} ${JSON.stringify(json)}`).to.equal(200);
      return json;
    }
    const chat = (headers: Record<string, string>) =>
      call(
        'POST',
        '/v1/chat/completions',
        { model: 'gpt-4o', messages: [{ role: 'user', content: 'Hello' }] },
        { 'x-gateway-api-key': gateway.workspaceKey, ...headers },
      );
    const put = (where: string): string => {
      made += 1;
      return canaries.make(where);
    };

    let references = 0;
    let mappedSlug = '';
    async function mapped(body: object, mapping: object = {}, more: object = {}): Promise<string> {
      const slug = `ref-${++references}`;
      await taken('POST', '/v1/secret-references', { name: slug, slug, ...body });
      const { data } = await taken('POST', '/v1/virtual-keys', {
        ...{ name: `of ${slug}`, provider: 'openai', custom_host: `${echo.url}/v1` },
        workspace_id: gateway.workspaceId,
        secret_mappings: [{ target_field: 'key', secret_reference_id: slug, ...mapping }],
        ...more,
      });
      return (data as { slug: string }).slug;
    }

    const env = (secret_path: string) => ({ manager_type: 'env', auth_config: {}, secret_path });

    it('reach providers, whose errors repeat them', async () => {
      mappedSlug = await mapped(env('CANARY_PLAIN'));
      const slugs = [
        mappedSlug,
        await mapped(env('CANARY_OBJECT'), { secret_key: 'inner' }),
        await mapped({ manager_type: 'file', auth_config: {}, secret_path: 'key' }),
        await mapped(
          env('CANARY_HEADERS'),
          { target_field: 'model_config.custom_headers', value_format: 'json' },
          { key: put('key beside a mapped header') },
        ),
      ];
      for (const slug of slugs)
        for (let i = 0; i < 2; i++) {
          const { status, json } = await chat({ 'x-gateway-virtual-key': slug });
          expect([status, JSON.stringify(json)].join(), slug).to.match(/^401.*Incorrect/);
        }
      const sent = JSON.stringify(echo.asked.map(({ headers }) => headers));
      // The provider has got them: this test would notice them.
      expect(canaries.foundIn(sent)).to.include.members([
        ...['secret of a variable', 'key of a secret', 'secret of a file', 'mapped header'],
      ]);
    });

    it('are stored keys of providers and integrations, and what callers send', async () => {
      const workspace_id = gateway.workspaceId;
      const kinds = ['openai', 'anthropic', 'mistral-ai', 'cohere', 'groq', 'deepseek', 'together-ai'];
      for (const provider of kinds) {
        const { data } = await taken('POST', '/v1/virtual-keys', {
          ...{ name: `of ${provider}`, provider, workspace_id, custom_host: `${echo.url}/v1` },
          key: put(`key of ${provider}`),
        });
        expect((await chat({ 'x-gateway-virtual-key': (data as { slug: string }).slug })).status).to.equal(
          401,
        );
      }
      for (const ai_provider_id of ['openai', 'anthropic', 'cohere'])
        await taken('POST', '/v1/integrations', {
          ...{ name: `i-${ai_provider_id}`, slug: `i-${ai_provider_id}`, ai_provider_id, workspace_id },
          ...{
            key: put(`key of an integration of ${ai_provider_id}`),
            configurations: { custom_host: `${echo.url}/v1` },
          },
          default_provider_slug: `lent-${ai_provider_id}`,
        });
      expect((await chat({ 'x-gateway-provider': '@lent-openai' })).status).to.equal(401);
      await taken('PUT', '/v1/admin/organisation/auth-settings', {
        oidc: {
          issuer: echo.url,
          client_id: 'client',
          client_secret: put('client secret of OpenID Connect'),
        },
      });
      const part = (text: string): string => Buffer.from(text).toString('base64url');
      const claims = { sub: put('claim of a token'), exp: 4e9 };
      const token = `${part('{"alg":"RS256","kid":"x"}')}.${part(JSON.stringify(claims))}.${part(put('signature of a token'))}`;
      const wrong: readonly Record<string, string>[] = [
        { 'x-gateway-api-key': token },
        { 'x-gateway-api-key': put('gateway key that is none') },
        {
          'x-gateway-provider': 'openai',
          'x-gateway-custom-host': `${echo.url}/v1`,
          authorization: `Bearer ${put('key of a caller')}`,
        },
        {
          ...{ 'x-gateway-provider': 'openai', 'x-gateway-custom-host': `${echo.url}/v1` },
          ...{
            authorization: `Bearer ${put('second key of a caller')}`,
            'x-own': 'passed on',
          },
          'x-gateway-forward-headers': 'x-own',
        },
      ];
      for (const headers of wrong) expect((await chat(headers)).status).to.equal(401);
      expect((await call('GET', '/v1/configs', undefined, { 'x-gateway-api-key': token })).status).to.equal(
        401,
      );
    });

    it('reach secret managers, whose errors repeat them', async () => {
      const vault = { vault_addr: echo.url };
      const azure = { azure_vault_url: echo.url };
      const aws = { aws_region: 'eu-west-1' };
      const entra = { azure_entra_tenant_id: 't', azure_entra_client_id: 'c' };
      const ways: readonly (readonly [string, object])[] = [
        ['hashicorp_vault', { ...vault, vault_auth_type: 'token', vault_token: put('token of Vault') }],
        [
          'hashicorp_vault',
          {
            ...vault,
            vault_auth_type: 'approle',
            vault_role_id: 'role',
            vault_secret_id: put('secret id of Vault'),
          },
        ],
        ['hashicorp_vault', { ...vault, vault_auth_type: 'kubernetes', vault_role: 'role' }],
        [
          'azure_kv',
          {
            ...azure,
            ...entra,
            azure_auth_mode: 'entra',
            azure_entra_client_secret: put('client secret of Azure'),
          },
        ],
        ['azure_kv', { ...azure, azure_auth_mode: 'managed' }],
        ['azure_kv', { ...azure, azure_auth_mode: 'default' }],
        [
          'aws_sm',
          {
            ...aws,
            aws_auth_type: 'accessKey',
            aws_access_key_id: 'AKIAIOSFODNN7EXAMPLE',
            aws_secret_access_key: put('key of AWS'),
          },
        ],
        ['aws_sm', { ...aws, aws_auth_type: 'serviceRole' }],
        [
          'aws_sm',
          {
            ...aws,
            aws_auth_type: 'assumedRole',
            aws_role_arn: 'arn:aws:iam::123456789012:role/x',
            aws_external_id: 'external',
          },
        ],
      ];
      for (const [manager_type, auth_config] of ways) {
        const slug = await mapped({ manager_type, auth_config, secret_path: 'secret/data/app' });
        const { status, json } = await chat({ 'x-gateway-virtual-key': slug });
        expect([status, (json['error'] as { code: string }).code]).to.deep.equal([503, 'secret_unavailable']);
      }
      for (const path of ['CANARY_UNLISTED', 'CANARY_ABSENT'])
        expect((await chat({ 'x-gateway-virtual-key': await mapped(env(path)) })).status).to.equal(503);
      // A value that is not what the mapping says.
      const wrong = [
        await mapped(env('CANARY_PLAIN'), { value_format: 'json' }),
        await mapped(env('CANARY_PLAIN'), { secret_key: 'absent' }),
        await mapped(env('CANARY_OBJECT'), { secret_key: 'absent' }),
        await mapped(
          env('CANARY_PLAIN'),
          { target_field: 'model_config.custom_headers', value_format: 'json' },
          { key: put('key beside a wrong mapping') },
        ),
      ];
      for (const slug of wrong)
        expect((await chat({ 'x-gateway-virtual-key': slug })).status, slug).to.equal(412);
    });

    it('reach services that judge texts, and are named by guardrails', async () => {
      await taken('POST', '/v1/secret-references', {
        name: 'pillar',
        slug: 'pillar',
        ...env('CANARY_TOKEN'),
      });
      await taken('POST', '/v1/plugins', {
        plugin_provider_id: 'pillar',
        credentials: { baseUrl: echo.url },
        secret_mappings: [{ target_field: 'credentials.apiKey', secret_reference_id: 'pillar' }],
      });
      const config = {
        provider: 'openai',
        custom_host: `${echo.url}/v1`,
        api_key: put('api_key of an inline config').replaceAll('/', '-'),
        input_guardrails: [{ 'pillar.scanPrompt': { scanners: ['pii'] }, deny: false }],
      };
      await chat({ 'x-gateway-config': JSON.stringify(config) });
      const sent = JSON.stringify(echo.asked.map(({ headers }) => headers));
      expect(canaries.foundIn(sent)).to.include('mapped credential of a partner');
    });

    it('are revealed to one of two callers at the same moment, and to no third one', async () => {
      const { id, key } = (await taken('POST', '/v1/api-keys/workspace/service', {
        ...{ name: 'rotated', workspace_id: gateway.workspaceId, scopes: ['completions.write'] },
        alert_emails: ['shop@example.com'],
        rotation_policy: { rotation_period: 'weekly' },
      })) as { id: string; key: string };
      canaries.keep('key before its rotation', key);
      answers.pop();
      // What a week would do.
      const bare = await database(dataDir);
      await bare.write((sql) => sql('api_keys').where({ id }).update({ next_rotation_at: 1000 }));
      await bare.close();
      await eventually('the rotation', async () => {
        const { json } = await call('GET', `/v1/api-keys/${id}`);
        return json['last_rotated_at'] !== null;
      });
      const reveal = () => call('POST', `/v1/api-keys/${id}/reveal-rotated`);
      const before = answers.length;
      const revealed = await Promise.all(Array.from({ length: 8 }, reveal));
      const given = revealed.filter(({ status }) => status === 200);
      expect(revealed.map(({ status }) => status).sort()).to.deep.equal([200, ...Array(7).fill(404)]);
      expect(Object.keys(given[0]!.json).sort()).to.deep.equal(['id', 'key']);
      canaries.keep('key that was revealed', String(given[0]!.json['key']));
      answers.splice(before);
      expect((await reveal()).status).to.equal(404);
      const times = 'start_time=2020-01-01T00:00:00Z&end_time=2100-01-01T00:00:00Z';
      const audit = await taken('GET', `/v1/audit-logs?page_size=100&${times}`);
      const records = audit['records'] as { uri: string; response_status_code: number }[];
      const reveals = records.filter(({ uri }) => uri.endsWith(`${id}/reveal-rotated`));
      expect(reveals.map((row) => row.response_status_code).sort()).to.deep.equal([
        200,
        ...Array(8).fill(404),
      ]);
      await eventually('the mail', async () => mailServer.recipients.includes('shop@example.com'), 25_000);
    });

    it('are taken by commands', async () => {
      const files = join(work, 'files');
      mkdirSync(files);
      writeFileSync(
        join(files, 'provider.yaml'),
        `kind: Provider
name: applied
workspace: default
spec:
  provider: openai
  key: { env: CANARY_APPLIED }
`,
      );
      writeFileSync(
        join(work, 'body.json'),
        '{"model":"gpt-4o","messages":[{"role":"user","content":"Hello"}]}',
      );
      writeFileSync(
        join(work, 'draft.yaml'),
        `provider: openai\napi_key: ${put('api_key of a draft').replaceAll('/', '-')}\ncustom_host: ${echo.url}/v1\n`,
      );
      writeFileSync(
        join(work, 'draft.json'),
        JSON.stringify({
          provider: 'openai',
          api_key: put('api_key of a config to explain').replaceAll('/', '-'),
          custom_host: `${echo.url}/v1`,
        }),
      );
      const commands: readonly (readonly string[])[] = [
        ['apply', '-f', files, '--dry-run'],
        ['apply', '-f', files, '--dry-run', '--json'],
        ['apply', '-f', files],
        ['apply', '-f', files, '--dry-run'],
        ['export'],
        ['export', '--json'],
        ['explain', '-f', join(work, 'body.json'), '--config', `@${join(work, 'draft.json')}`],
        [
          'explain',
          '-f',
          join(work, 'body.json'),
          '--config',
          JSON.stringify({ virtual_key: mappedSlug }),
          '--json',
        ],
        ['replay', '--config', join(work, 'draft.yaml'), '--last', '100'],
        ['replay', '--config', join(work, 'draft.yaml'), '--last', '100', '--json'],
        ['doctor'],
        ['doctor', '--json'],
        ['logs', '--json'],
        ['audit', 'export', '--format', 'jsonl'],
        ...[
          'keys',
          'providers',
          'integrations',
          'secret-references',
          'mail',
          'plugins',
          'virtual-keys',
          'configs',
          'users',
        ].map((group) => [group, 'list', '--json']),
        ['secret-references', 'get', 'ref-1', '--json'],
        ['mail', 'test', 'tested@example.com', '--json'],
        ['alerts', 'list', '--json'],
      ];
      const environment = { ...gateway.env, NODE_OPTIONS: '', CANARY_APPLIED: put('secret of a document') };
      const worked: string[] = [];
      for (const args of commands) {
        const { code, stdout, stderr } = await headgateHere(args, environment);
        printed.push(`${args.join(' ')}\n${stdout}\n${stderr}`);
        if (code === 0) worked.push(args.join(' '));
      }
      // `doctor` complains of Redis; what else fails would test nothing.
      const failed = commands.map((args) => args.join(' ')).filter((one) => !worked.includes(one));
      expect(
        failed.filter((one) => !one.startsWith('doctor')),
        printed.join('\n'),
      ).to.deep.equal([]);
    });

    it('are found nowhere afterwards', async () => {
      expect(made).to.be.at.least(44);
      isKind = true;
      const spans = () => echo.asked.filter(({ path }) => path === '/v1/traces');
      const sunk = () => echo.asked.filter(({ path }) => path === '/logs');
      await eventually('spans and rows', async () => spans().length > 0 && sunk().length > 0, 20_000);
      const metrics = await (await fetch(`${gateway.opsUrl}/metrics`)).text();
      const ready = await (await fetch(`${gateway.opsUrl}/readyz?verbose`)).text();
      const times = 'start_time=2020-01-01T00:00:00Z&end_time=2100-01-01T00:00:00Z';
      for (const path of [
        '/v1/logs?page_size=1000',
        `/v1/audit-logs?${times}`,
        '/v1/secret-references',
        '/v1/mails',
      ])
        expect((await call('GET', path)).status, path).to.equal(200);
      gateway.process.kill('SIGUSR2');
      await eventually('the end', async () => gateway.process.exitCode !== null);
      expect(gateway.output()).to.include('provoked exception');
      const decoded = (bytes: Buffer): Buffer =>
        bytes[0] === 0x1f && bytes[1] === 0x8b ? gunzipSync(bytes) : bytes;
      const places: Readonly<Record<string, string>> = {
        'the log and the last words': gateway.output(),
        answers: answers.join('\n'),
        'what commands print': printed.join('\n'),
        metrics,
        'the health page': ready,
        mails: mailServer.mails.map(({ raw }) => raw).join('\n'),
        spans: spans()
          .map(({ body }) => decoded(Buffer.from(body, 'latin1')).toString())
          .join('\n'),
        'rows of the sink': sunk()
          .map(({ body }) => body)
          .join('\n'),
      };
      for (const [place, text] of Object.entries(places)) {
        expect(text, place).not.to.equal('');
        expect(canaries.foundIn(text), place).to.deep.equal([]);
      }
      const files = readdirSync(dataDir, { recursive: true, withFileTypes: true }).filter((entry) =>
        entry.isFile(),
      );
      expect(files.length).to.be.above(3);
      for (const { parentPath, name } of files)
        expect(canaries.foundIn(readFileSync(join(parentPath, name))), name).to.deep.equal([]);
    });
  });
});
