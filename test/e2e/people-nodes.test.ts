// lane: slow
import { randomBytes } from 'node:crypto';
import { copyFileSync, mkdtempSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'chai';
import { tokenOf } from '../../src/control-plane/administration/access/people/links.js';
import { headgateHere } from '../support/cli-bench.js';
import { headgate } from '../support/command.js';
import { type RunningGateway, startGateway } from '../support/gateway.js';
import { type OidcServer, startOidcProvider } from '../support/oidc-provider.js';
import { folder, forEachStore } from '../support/stores.js';

// biome-ignore lint/suspicious/noExplicitAny: JSON of many shapes, looked into by the tests.
const jsonOf = async (answer: Response | Promise<Response>): Promise<any> => (await answer).json();

const password = 'correct horse battery';
const email = 'owner@example.com';

describe('people who sign in at two gateways on one PostgreSQL', function () {
  this.timeout(60_000);

  forEachStore(({ options, dialect }) => {
    if (dialect !== 'postgres') return;
    let one: RunningGateway;
    let two: RunningGateway;
    let provider: OidcServer | null = null;

    before(async () => {
      const { databaseUrl } = await options(folder());
      const env = {
        DATABASE_URL: databaseUrl?.reveal() ?? '',
        HEADGATE_MASTER_KEY: randomBytes(32).toString('hex'),
        HEADGATE_PUBLIC_URL: 'https://gateway.example',
      };
      one = await startGateway({ env });
      const dataDir = mkdtempSync(join(tmpdir(), 'headgate-test-'));
      // The second node makes no first keys: they are there.
      copyFileSync(join(one.dataDir, 'first-keys.json'), join(dataDir, 'first-keys.json'));
      two = await startGateway({ env, dataDir });
    });
    after(() => Promise.all([one?.stop(), two?.stop(), provider?.close()]));

    const send = (
      gateway: RunningGateway,
      verb: string,
      path: string,
      body?: unknown,
      headers: object = {},
    ) =>
      fetch(`${gateway.url}${path}`, {
        method: verb,
        redirect: 'manual',
        headers: { ...(body !== undefined && { 'content-type': 'application/json' }), ...headers },
        ...(body !== undefined && { body: typeof body === 'string' ? body : JSON.stringify(body) }),
      });
    const keyed = (verb: string, path: string, body?: unknown) =>
      send(one, verb, path, body, { 'x-gateway-api-key': one.adminKey });
    const cookieIn = (answer: Response, name: string): string =>
      answer.headers
        .getSetCookie()
        .map((line) => line.split(';')[0]!)
        .find((pair) => pair.startsWith(`__Host-${name}=`)) ?? '';
    const signIn = async (gateway: RunningGateway, secret = password): Promise<string> => {
      const answer = await send(gateway, 'POST', '/v1/auth/sign-in', { email, password: secret });
      expect(answer.status, await answer.clone().text()).to.equal(200);
      return cookieIn(answer, 'headgate_session');
    };
    const statusAt = async (gateway: RunningGateway, cookie: string): Promise<number> =>
      (await send(gateway, 'GET', '/v1/auth/session', undefined, { cookie })).status;

    it('the first owner signs up by the link that the first start prints', async () => {
      const link = /owner's link +(\S+)/.exec(one.output())?.[1] ?? '';
      expect(link).to.match(/^https:\/\/gateway\.example\/v1\/admin\/users\/invites\/accept#token=[\w-]+$/);
      expect(two.output()).to.not.include('#token=');
      const page = await send(one, 'GET', '/v1/admin/users/invites/accept');
      expect(page.headers.get('content-security-policy')).to.include("script-src 'self'");
      const html = await page.text();
      const script = /<script src="([^"]+)">/.exec(html)?.[1] ?? '';
      expect((await send(one, 'GET', script)).headers.get('content-type')).to.include('text/javascript');
      const accepted = await send(two, 'POST', '/v1/admin/users/invites/accept', {
        token: tokenOf(link),
        password,
        email,
      });
      expect(accepted.status, await accepted.clone().text()).to.equal(200);
      expect((await jsonOf(accepted)).user).to.include({ role: 'owner', email });
    });

    it('a cookie of the one is good at the other, is bound to https, and survives a restart', async () => {
      const answer = await send(one, 'POST', '/v1/auth/sign-in', { email, password });
      expect(answer.headers.getSetCookie()).to.have.lengthOf(1);
      expect(answer.headers.getSetCookie()[0]).to.match(
        /^__Host-headgate_session=gw_session_[\w-]{43}; Path=\/; Max-Age=\d+; HttpOnly; SameSite=Strict; Secure$/,
      );
      const cookie = cookieIn(answer, 'headgate_session');
      expect(await statusAt(two, cookie)).to.equal(200);
      await two.stop({ keep: true });
      two = await two.restart();
      expect(await statusAt(two, cookie)).to.equal(200);
      expect(await statusAt(two, cookie.replace('__Host-', ''))).to.equal(401);
    });

    it('cookies of others do not reach the administration, nor does the session reach the data plane', async () => {
      const cookie = await signIn(one);
      expect(await statusAt(one, `other=1; ${cookie}; more="a;b"`)).to.equal(200);
      const call = await send(one, 'POST', '/v1/chat/completions', { model: 'x', messages: [] }, { cookie });
      expect(call.status).to.equal(401);
      const token = cookie.slice(cookie.indexOf('=') + 1);
      const asKey = { 'x-gateway-api-key': token };
      expect((await send(one, 'POST', '/v1/chat/completions', { model: 'x' }, asKey)).status).to.equal(401);
    });

    it('an ended session and a new password are refused at once by both', async () => {
      const [first, second] = [await signIn(one), await signIn(two)];
      const session = await jsonOf(send(one, 'GET', '/v1/auth/session', undefined, { cookie: first }));
      const headers = { cookie: first, 'x-gateway-csrf-token': session.csrf_token };
      const others = await jsonOf(send(one, 'GET', '/v1/auth/sessions', undefined, { cookie: second }));
      const { id } = others.data.find(({ current }: { current: boolean }) => current);
      expect((await send(one, 'DELETE', `/v1/auth/sessions/${id}`, undefined, headers)).status).to.equal(200);
      expect(await statusAt(two, second)).to.equal(401);
      const third = await signIn(two);
      const change = { current_password: password, new_password: 'another password' };
      expect((await send(one, 'PUT', '/v1/auth/password', change, headers)).status).to.equal(200);
      for (const cookie of [first, third])
        for (const gateway of [one, two]) expect(await statusAt(gateway, cookie)).to.equal(401);
    });

    it('headgate users link makes a link that sets a new password, and sign-in works over gRPC as well', async () => {
      const { data } = await jsonOf(keyed('GET', '/v1/admin/users?role=owner'));
      const made = await headgateHere(['users', 'link', data[0].id], one.env);
      expect(made.stdout, made.stderr).to.match(/#token=[\w-]+\n$/);
      const token = tokenOf(made.stdout.trim());
      expect(
        (await send(one, 'POST', '/v1/admin/users/invites/accept', { token, password })).status,
      ).to.equal(200);
      const entered = await headgate(
        one.env,
        ['auth', 'sign-in', '--email', email, '--password-file', '-', '--json'],
        password,
      );
      const { session_token } = JSON.parse(entered.stdout);
      const shown = await headgateHere(['auth', 'get-session', '--json'], {
        ...one.env,
        HEADGATE_ADMIN_KEY: session_token,
      });
      expect(JSON.parse(shown.stdout).user, shown.stderr).to.include({ email, role: 'owner' });
      const log = await jsonOf(
        keyed(
          'GET',
          '/v1/audit-logs?start_time=2026-01-01T00:00:00Z&end_time=2100-01-01T00:00:00Z&page_size=100',
        ),
      );
      const actors = log.records.filter(({ user_id }: { user_id: string }) => user_id === data[0].id);
      expect(actors.map(({ user_type }: { user_type: string }) => user_type)).to.include('user');
      expect(JSON.stringify(log)).to.not.include(password);
    });

    it('a body of 10 MB to sign-in is refused, and a form of another site is too', async () => {
      const large = JSON.stringify({ email, password: 'x'.repeat(10_000_000) });
      const answer = await send(one, 'POST', '/v1/auth/sign-in', large).catch(() => null);
      expect(answer === null || answer.status === 413, String(answer?.status)).to.equal(true);
      expect((await send(one, 'GET', '/v1/openapi.json')).status).to.equal(200);
      const body = JSON.stringify({ email, password });
      for (const type of [
        'text/plain',
        'application/x-www-form-urlencoded',
        'multipart/form-data; boundary=x',
      ])
        expect((await send(one, 'POST', '/v1/auth/sign-in', body, { 'content-type': type })).status).to.equal(
          400,
        );
      const foreign = await send(one, 'POST', '/v1/auth/sign-in', body, { 'sec-fetch-site': 'cross-site' });
      expect(foreign.status).to.equal(403);
    });

    it('by OpenID Connect, beginning at the one and coming back to the other', async () => {
      provider = await startOidcProvider('https://gateway.example/v1/auth/oidc/callback');
      const { issuer, clientId: client_id, clientSecret: client_secret } = provider;
      const oidc = { issuer, client_id, client_secret, allowed_email_domains: ['example.com'] };
      expect((await keyed('PUT', '/v1/admin/organisation/auth-settings', { oidc })).status).to.equal(200);
      provider.account = { sub: 'ada', email: 'ada@example.com', email_verified: true };
      const started = await send(one, 'GET', '/v1/auth/oidc/start');
      expect(started.status, await started.clone().text()).to.equal(302);
      const back = await provider.approve(started.headers.get('location')!);
      const path = back.slice('https://gateway.example'.length);
      const cookie = cookieIn(started, 'headgate_oidc');
      const answer = await send(two, 'GET', path, undefined, { cookie });
      expect(answer.status, await answer.clone().text()).to.equal(200);
      expect(await statusAt(one, cookieIn(answer, 'headgate_session'))).to.equal(200);
      expect((await send(one, 'GET', path, undefined, { cookie })).status).to.equal(400);
    });
  });
});
