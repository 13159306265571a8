import { expect } from 'chai';
import { type AdminPlane, type RestResult, startPlane } from '../support/admin-plane.js';
import { type Account, type OidcServer, startOidcProvider } from '../support/oidc-provider.js';

const publicUrl = 'http://gateway.example';
const callback = `${publicUrl}/v1/auth/oidc/callback`;

describe('people who sign in by OpenID Connect', () => {
  let plane: AdminPlane;
  let provider: OidcServer;
  let serial = 0;

  before(async () => {
    provider = await startOidcProvider(callback);
    plane = await startPlane({
      publicUrl,
      fetchChecked: (url, { method, headers, body }) =>
        fetch(url, { method, headers, redirect: 'manual', ...(body !== undefined && { body }) }),
    });
    await set({
      issuer: provider.issuer,
      client_id: provider.clientId,
      client_secret: provider.clientSecret,
      allowed_email_domains: ['example.com'],
      role_claim: 'groups',
      role_mapping: { 'gateway-admins': 'admin', staff: 'member' },
    });
  });
  after(async () => {
    await plane?.close();
    await provider?.close();
  });

  const set = async (oidc: object): Promise<void> => {
    const answer = await plane.rest('PUT', '/v1/admin/organisation/auth-settings', { oidc });
    expect(answer.status, JSON.stringify(answer.json)).to.equal(200);
  };
  const get = (path: string, cookie = '') =>
    plane.rest('GET', path, undefined, { key: null, headers: cookie === '' ? {} : { cookie } });
  const cookieOf = ({ headers }: RestResult, name: string): string =>
    new RegExp(`${name}=[^;\\n]+`).exec(headers.get('set-cookie') ?? '')?.[0] ?? '';
  const person = (more: object = {}): Account => ({
    sub: `s${++serial}`,
    email: `O${serial}@example.com`,
    email_verified: true,
    given_name: 'Ada',
    family_name: 'L',
    ...more,
  });

  /** Goes to the provider and is sent back: the callback's path with its query, and the cookie of the browser. */
  async function away(account: Account): Promise<{ path: string; flow: string }> {
    provider.account = account;
    const started = await get('/v1/auth/oidc/start');
    expect(started.status, JSON.stringify(started.json)).to.equal(302);
    const back = await provider.approve(started.headers.get('location')!);
    expect(back).to.match(/^http:\/\/gateway\.example\/v1\/auth\/oidc\/callback\?/);
    return { path: back.slice(publicUrl.length), flow: cookieOf(started, 'headgate_oidc') };
  }
  async function enter(account: Account): Promise<RestResult> {
    const { path, flow } = await away(account);
    return get(path, flow);
  }
  const refusalOf = ({ status, json, headers }: RestResult) => {
    expect(headers.get('set-cookie') ?? '').to.not.include('headgate_session=gw');
    return [status, json.data?.errorCode];
  };
  const userOf = async (email: string) =>
    (await plane.rest('GET', `/v1/admin/users?email=${encodeURIComponent(email)}`)).json.data[0];

  it('become members at their first sign-in, and are the same user at the next', async () => {
    const account = person();
    const first = await enter(account);
    expect(first.status, JSON.stringify(first.json)).to.equal(200);
    expect(first.headers.get('content-type')).to.include('text/html');
    expect(first.headers.get('set-cookie')).to.include('HttpOnly; SameSite=Strict');
    const cookie = cookieOf(first, 'headgate_session');
    const session = (await get('/v1/auth/session', cookie)).json;
    expect(session.user).to.deep.include({ email: account.email, role: 'member' });
    const user = await userOf(account.email!);
    expect(user).to.deep.include({ id: session.user.id, first_name: 'Ada', last_name: 'L', role: 'member' });
    const again = await enter({ ...account, email: `renamed-${account.email}` });
    const next = (await get('/v1/auth/session', cookieOf(again, 'headgate_session'))).json;
    expect(next.user.id).to.equal(user.id);
  });

  it('go there with PKCE, state and nonce, for a code', async () => {
    const started = await get('/v1/auth/oidc/start');
    const url = new URL(started.headers.get('location')!);
    expect(Object.fromEntries(url.searchParams)).to.include({
      response_type: 'code',
      client_id: 'headgate',
      redirect_uri: callback,
      code_challenge_method: 'S256',
    });
    for (const name of ['state', 'nonce', 'code_challenge'])
      expect(url.searchParams.get(name), name).to.have.length.above(20);
    expect(started.headers.get('set-cookie')).to.match(
      /^headgate_oidc=[\w-]+; Path=\/; Max-Age=600; HttpOnly; SameSite=Lax$/,
    );
  });

  it('have the role that their claim is mapped to, each time they sign in', async () => {
    const account = person({ groups: ['staff', 'gateway-admins'] });
    const cookie = cookieOf(await enter(account), 'headgate_session');
    expect((await userOf(account.email!)).role).to.equal('admin');
    await enter({ ...account, groups: 'staff' });
    expect((await userOf(account.email!)).role).to.equal('member');
    // The role is another: sessions from before have ended.
    expect((await get('/v1/auth/session', cookie)).status).to.equal(401);
  });

  it('are linked to the user of their verified address, whose role as an owner stays', async () => {
    const account = person();
    const { id } = (
      await plane.rest('POST', '/v1/admin/users', { email: account.email!.toLowerCase(), role: 'owner' })
    ).json;
    const entered = await enter(account);
    const { user } = (await get('/v1/auth/session', cookieOf(entered, 'headgate_session'))).json;
    expect(user).to.deep.include({ id, role: 'owner' });
  });

  it('are refused with an address of another domain, an unverified one, or none', async () => {
    for (const account of [
      person({ email: 'x@elsewhere.example' }),
      person({ email: 'x@example.com.evil.example' }),
      person({ email: 'x@sub.example.com' }),
      person({ email_verified: false }),
      person({ email_verified: undefined }),
      person({ email: undefined }),
    ]) {
      expect(refusalOf(await enter(account)), JSON.stringify(account)).to.deep.equal([403, 'AB03']);
      if (account.email !== undefined) expect(await userOf(account.email)).to.equal(undefined);
    }
  });

  it('are refused with a state that is forged, missing, of another browser, or used before', async () => {
    const { path, flow } = await away(person());
    const other = await away(person());
    const forged = path.replace(/state=[^&]*/, 'state=forged');
    for (const [at, cookie] of [
      [forged, flow],
      [path.replace(/state=[^&]*&?/, ''), flow],
      [path, ''],
      [path, other.flow],
      [path, flow.replace('=', '=x')],
      [path, `${flow}; ${other.flow}`],
    ] as const)
      expect(refusalOf(await get(at, cookie)), `${at} ${cookie}`).to.deep.equal([400, 'AB01']);
    const both = await Promise.all([get(path, flow), get(path, flow)]);
    expect(both.map(({ status }) => status).sort()).to.deep.equal([200, 400]);
    expect(refusalOf(await get(path, flow))).to.deep.equal([400, 'AB01']);
  });

  it('are refused with a code that is replayed or of another sign-in', async () => {
    const one = await away(person());
    const two = await away(person());
    expect((await get(one.path, one.flow)).status).to.equal(200);
    const code = /code=([^&]*)/.exec(one.path)![0];
    const replayed = two.path.replace(/code=[^&]*/, code);
    expect(refusalOf(await get(replayed, two.flow))).to.deep.equal([401, 'AB05']);
  });

  it('are refused where the token has another nonce', async () => {
    provider.account = person();
    const started = await get('/v1/auth/oidc/start');
    const url = new URL(started.headers.get('location')!);
    url.searchParams.set('nonce', 'another-nonce-another-nonce');
    const back = await provider.approve(url.href);
    const answer = await get(back.slice(publicUrl.length), cookieOf(started, 'headgate_oidc'));
    expect(refusalOf(answer)).to.deep.equal([401, 'AB05']);
  });

  it('see that the provider refuses them, without the text of its answer', async () => {
    const started = await get('/v1/auth/oidc/start');
    const state = new URL(started.headers.get('location')!).searchParams.get('state');
    const answer = await get(
      `/v1/auth/oidc/callback?error=access_denied&error_description=%3Cscript%3E&state=${state}`,
      cookieOf(started, 'headgate_oidc'),
    );
    expect(refusalOf(answer)).to.deep.equal([403, 'AB03']);
    expect(answer.json.data.message).to.include('(access_denied)').and.not.include('script');
  });

  it('find out that the provider is down, and sign in when it is back', async () => {
    const { path, flow } = await away(person());
    provider.instead = (_request, response) => {
      response.writeHead(502, { 'content-type': 'text/html' }).end('<h1>Bad gateway</h1>');
      return true;
    };
    const answer = await get(path, flow);
    provider.instead = null;
    expect(refusalOf(answer)).to.deep.equal([503, 'unavailable']);
    expect((await enter(person())).status).to.equal(200);
  });

  it('are sent nowhere else than to the provider and back', async () => {
    for (const query of [
      'redirect_uri=http://evil.example',
      'return_to=//evil.example',
      'issuer=http://evil.example',
    ])
      expect((await get(`/v1/auth/oidc/start?${query}`)).status, query).to.equal(400);
    expect((await get('/v1/auth/oidc/start?organisation_id=another')).status).to.equal(404);
  });
});

describe('OpenID Connect providers', () => {
  it('may want the client secret in the body', async () => {
    const provider = await startOidcProvider(callback, 'client_secret_post');
    const plane = await startPlane({
      publicUrl,
      fetchChecked: (url, { method, headers, body }) =>
        fetch(url, { method, headers, redirect: 'manual', ...(body !== undefined && { body }) }),
    });
    try {
      const { issuer, clientId: client_id, clientSecret: client_secret } = provider;
      await plane.rest('PUT', '/v1/admin/organisation/auth-settings', {
        oidc: { issuer, client_id, client_secret },
      });
      provider.account = { sub: 's', email: 'a@example.com', email_verified: true };
      const started = await plane.rest('GET', '/v1/auth/oidc/start', undefined, { key: null });
      const back = await provider.approve(started.headers.get('location')!);
      const cookie = started.headers.get('set-cookie')!.split(';')[0]!;
      const answer = await plane.rest('GET', back.slice(publicUrl.length), undefined, {
        key: null,
        headers: { cookie },
      });
      expect(answer.status, JSON.stringify(answer.json)).to.equal(200);
    } finally {
      await plane.close();
      await provider.close();
    }
  });
});
