import { expect } from 'chai';
import { tokenOf } from '../../src/control-plane/administration/access/people/links.js';
import { type AdminPlane, type RestResult, startPlane } from '../support/admin-plane.js';
import { eventually } from '../support/gateway.js';
import { password, quickHash } from '../support/quick-password.js';
import { expectWithinMs } from '../support/time-limits.js';

describe('people who sign in', () => {
  let plane: AdminPlane;
  let serial = 0;

  before(async () => {
    plane = await startPlane();
  });
  after(() => plane.close());

  type Headers = Readonly<Record<string, string>>;
  const rest = (verb: string, path: string, body?: unknown, headers: Headers = {}) =>
    plane.rest(verb, path, body, { key: null, headers });
  const cookieOf = ({ headers }: RestResult): string => (headers.get('set-cookie') ?? '').split(';')[0]!;
  const signIn = (email: string, secret = password) =>
    rest('POST', '/v1/auth/sign-in', { email, password: secret });

  async function makeUser(role: 'admin' | 'member' = 'member', workspaces: object[] = []) {
    const email = `p${++serial}@example.com`;
    const made = await plane.rest('POST', '/v1/admin/users', { email, role, workspaces });
    const { id } = made.json;
    await plane.store.signIn.setPassword(plane.first.organisation_id, id, quickHash());
    return { id: id as string, email };
  }

  /** Signs in; calls with the cookie, and with the CSRF token unless told otherwise. */
  async function enter(email: string, secret = password) {
    const answer = await signIn(email, secret);
    expect(answer.status, JSON.stringify(answer.json)).to.equal(200);
    const cookie = cookieOf(answer);
    const csrf = answer.json.csrf_token as string;
    const call = (verb: string, path: string, body?: unknown, headers: Headers = {}) =>
      rest(verb, path, body, { cookie, 'x-gateway-csrf-token': csrf, ...headers });
    return { answer, cookie, csrf, call };
  }

  it('become the first owner by a link, once', async () => {
    const { json } = await plane.rest('POST', '/v1/admin/users/link', {});
    expect(json.link).to.match(/#token=[\w-]{43}$/);
    const asked = { token: tokenOf(json.link), password, email: 'Owner@Example.com', first_name: 'O' };
    for (const lacking of ['password', 'email'] as const) {
      const refused = await rest('POST', '/v1/admin/users/invites/accept', {
        ...asked,
        [lacking]: undefined,
      });
      expect([refused.status, refused.json.data.message]).to.deep.equal([
        400,
        `${lacking} is required${lacking === 'email' ? ' for the first owner' : ''}.`,
      ]);
    }
    const both = await Promise.all([1, 2].map(() => rest('POST', '/v1/admin/users/invites/accept', asked)));
    expect(both.map(({ status }) => status).sort()).to.deep.equal([200, 404]);
    const { user } = both.find(({ status }) => status === 200)!.json;
    expect(user).to.deep.include({ role: 'owner', email: 'Owner@example.com', first_name: 'O' });
    expect((await rest('POST', '/v1/admin/users/invites/accept', asked)).status).to.equal(404);
    const again = await plane.rest('POST', '/v1/admin/users/link', {});
    expect(again.status).to.equal(400);
  });

  it('get a cookie that no script reads, and their session', async () => {
    const { id, email } = await makeUser('admin');
    const { answer, cookie } = await enter(email);
    expect(answer.headers.get('set-cookie')).to.match(
      /^headgate_session=gw_session_[\w-]{43}; Path=\/; Max-Age=604800; HttpOnly; SameSite=Strict$/,
    );
    expect(answer.json.user).to.deep.equal({ id, email, role: 'admin' });
    expect(answer.json).to.not.have.property('session_token');
    const session = await rest('GET', '/v1/auth/session', undefined, { cookie });
    expect(session.json).to.deep.equal(answer.json);
    expect(session.headers.has('set-cookie')).to.equal(false);
  });

  it('are refused alike, whether the address or the password is wrong', async () => {
    const { email } = await makeUser();
    const [wrong, unknown] = [await signIn(email, 'wrong password!'), await signIn('nobody@example.com')];
    expect([wrong.status, unknown.status]).to.deep.equal([401, 401]);
    expect(wrong.json).to.deep.equal(unknown.json);
    expect(wrong.headers.has('set-cookie')).to.equal(false);
  });

  it('send the CSRF token with what changes something, and need none to look', async () => {
    const { email } = await makeUser('admin');
    const { cookie, csrf, call } = await enter(email);
    const body = { name: 'x' };
    const path = '/v1/collections';
    const at = { ...body, workspace_id: plane.other };
    for (const headers of [{}, { 'x-gateway-csrf-token': 'x' }, { 'x-gateway-csrf-token': `${csrf}0` }]) {
      const refused = await rest('POST', path, at, { cookie, ...(headers as Headers) });
      expect([refused.status, refused.json.data.errorCode]).to.deep.equal([403, 'AB03']);
    }
    const foreign = await call('POST', path, at, { 'sec-fetch-site': 'cross-site' });
    expect(foreign.status).to.equal(403);
    expect((await call('POST', path, at)).status).to.equal(200);
    expect((await rest('GET', `${path}?workspace_id=other`, undefined, { cookie })).status).to.equal(200);
    const signedOut = await rest('POST', '/v1/auth/sign-out', {}, { cookie });
    expect(signedOut.status).to.equal(403);
  });

  it('are refused with two cookies, and with a token that does not exist', async () => {
    const { email } = await makeUser('admin');
    const { cookie } = await enter(email);
    for (const sent of [
      `${cookie}; ${cookie}`,
      `headgate_session=x; ${cookie}`,
      'headgate_session=',
      `${cookie}x`,
      `headgate_session=gw_session_${'a'.repeat(43)}`,
      `__Host-${cookie}`,
    ])
      expect((await rest('GET', '/v1/auth/session', undefined, { cookie: sent })).status, sent).to.equal(401);
    const other = await rest('GET', '/v1/auth/session', undefined, { cookie: `a=b; ${cookie}; c=d` });
    expect(other.status).to.equal(200);
  });

  it('sign out, and are signed out', async () => {
    const { email } = await makeUser();
    const { call } = await enter(email);
    const out = await call('POST', '/v1/auth/sign-out', {});
    expect([out.status, out.headers.get('set-cookie')]).to.deep.equal([
      200,
      'headgate_session=; Path=/; Max-Age=0; HttpOnly; SameSite=Strict',
    ]);
    expect((await call('GET', '/v1/auth/session')).status).to.equal(401);
  });

  it('see and end their own sessions, and admins those of others', async () => {
    const { id, email } = await makeUser();
    const [one, two] = [await enter(email), await enter(email)];
    const stranger = await enter((await makeUser()).email);
    const admin = await enter((await makeUser('admin')).email);
    const listed = await one.call('GET', '/v1/auth/sessions');
    expect(listed.json.total).to.equal(2);
    expect(listed.json.data.find(({ current }: { current: boolean }) => current)).to.deep.include({
      id: one.answer.json.id,
      user_id: id,
      object: 'session',
    });
    expect((await stranger.call('GET', `/v1/auth/sessions?user_id=${id}`)).status).to.equal(403);
    expect((await admin.call('GET', `/v1/auth/sessions?user_id=${id}`)).json.total).to.equal(2);
    const path = `/v1/auth/sessions/${two.answer.json.id}`;
    expect((await stranger.call('DELETE', path)).status).to.equal(404);
    expect((await one.call('DELETE', path)).status).to.equal(200);
    expect((await two.call('GET', '/v1/auth/session')).status).to.equal(401);
    expect((await admin.call('DELETE', `/v1/auth/sessions/${one.answer.json.id}`)).status).to.equal(200);
    expect((await one.call('GET', '/v1/auth/session')).status).to.equal(401);
  });

  it('change their password, which ends every session', async () => {
    const { email } = await makeUser();
    const [one, two] = [await enter(email), await enter(email)];
    const put = (current_password: string, new_password: string) =>
      one.call('PUT', '/v1/auth/password', { current_password, new_password });
    expect((await put('wrong password!', 'another good one')).status).to.equal(403);
    expect((await put(password, 'short')).json.data.message).to.equal(
      'new_password must be at least 12 characters long.',
    );
    expect((await put(password, 'a'.repeat(129))).status).to.equal(400);
    expect((await put(password, password)).json.data.message).to.equal(
      'new_password must differ from the current one.',
    );
    expect((await put(password, 'ａｎｏｔｈｅｒ good one')).status).to.equal(200);
    for (const { call } of [one, two]) expect((await call('GET', '/v1/auth/session')).status).to.equal(401);
    expect((await signIn(email)).status).to.equal(401);
    // The same characters, as another keyboard types them.
    await enter(email, 'another good one');
  });

  it('are signed out by another role, by removal and by a new link that was accepted', async () => {
    const workspaces = [{ id: 'other', role: 'member' }];
    const ways = [
      (id: string) => plane.rest('PUT', `/v1/admin/users/${id}`, { role: 'admin' }),
      (id: string) => plane.rest('PUT', `/v1/admin/workspaces/other/users/${id}`, { role: 'manager' }),
      (id: string) => plane.rest('DELETE', `/v1/admin/workspaces/other/users/${id}`),
      (id: string) => plane.rest('DELETE', `/v1/admin/users/${id}`),
      async (id: string) => {
        const { json } = await plane.rest('POST', '/v1/admin/users/link', { user_id: id });
        const token = tokenOf(json.link);
        return rest('POST', '/v1/admin/users/invites/accept', { token, password: 'a new password' });
      },
    ];
    for (const way of ways) {
      const { id, email } = await makeUser('member', workspaces);
      const { call } = await enter(email);
      expect((await call('GET', '/v1/auth/session')).status).to.equal(200);
      const done = await way(id);
      expect(done.status, JSON.stringify(done.json)).to.equal(200);
      expect((await call('GET', '/v1/auth/session')).status, String(way)).to.equal(401);
    }
  });

  it('must wait after failed sign-ins, and are not locked out by others', async () => {
    const { email } = await makeUser();
    const statuses: number[] = [];
    let refused: RestResult | null = null;
    for (let i = 0; i < 6; i++) {
      refused = await signIn(email, `wrong password ${i}`);
      statuses.push(refused.status);
    }
    expect(statuses).to.deep.equal([401, 401, 401, 401, 401, 429]);
    expect(Number(refused?.headers.get('retry-after'))).to.be.within(1, 60);
    expect((await signIn(email)).status).to.equal(429);
    const { email: other } = await makeUser();
    for (let i = 0; i < 8; i++) expect((await signIn(other)).status).to.equal(200);
  });

  it('guess no more often at once than one after the other', async () => {
    const { email } = await makeUser();
    const answers = await Promise.all(
      Array.from({ length: 30 }, (_, i) => signIn(email, `wrong password ${i}`)),
    );
    const statuses = answers.map(({ status }) => status);
    // Two are checked at a time.
    expect(statuses.filter((status) => status === 401)).to.have.length.below(7);
  });

  it('are answered at once in a flood, and others meanwhile', async () => {
    const { email } = await makeUser();
    const from = (address: string) =>
      plane.server.rest({
        verb: 'POST',
        path: '/v1/auth/sign-in',
        query: '',
        headers: ['content-type', 'application/json'],
        address,
        body: Buffer.from(JSON.stringify({ email, password: 'another password' })),
        gone: new AbortController().signal,
      });
    const flood = Array.from({ length: 80 }, () => from('198.51.100.7'));
    const began = performance.now();
    expect((await plane.rest('GET', '/v1/admin/workspaces')).status).to.equal(200);
    expectWithinMs(performance.now() - began, 1000);
    const statuses = (await Promise.all(flood)).map(({ status }) => status);
    expect(new Set(statuses)).to.not.include(504);
    expect(statuses.filter((status) => status === 503)).to.have.length.above(50);
    expect((await signIn(email)).status).to.equal(200);
  });

  it('get a session of their own, whatever cookie the browser has', async () => {
    const { email } = await makeUser();
    const { cookie } = await enter(email);
    const again = await rest('POST', '/v1/auth/sign-in', { email, password }, { cookie });
    expect(again.status).to.equal(200);
    expect(cookieOf(again)).to.not.equal(cookie);
  });

  it('act in the workspace that they name, by their role there', async () => {
    const { first } = plane;
    const { email } = await makeUser('member', [
      { id: 'other', role: 'manager' },
      { id: first.workspace_id, role: 'member' },
    ]);
    const { call } = await enter(email);
    const make = (workspace_id?: string) =>
      call('POST', '/v1/configs', { name: 'x', config: {}, ...(workspace_id && { workspace_id }) });
    expect((await make('other')).status).to.equal(200);
    expect((await make(first.workspace_id)).status).to.equal(403);
    expect((await make()).json.data.message).to.equal(
      'workspace_id is required: you are in several workspaces.',
    );
    const listed = await call('GET', '/v1/admin/workspaces');
    expect(listed.json.data.map(({ id }: { id: string }) => id)).to.have.members([
      plane.other,
      first.workspace_id,
    ]);
    const made = await call('POST', '/v1/api-keys/workspace/service', {
      name: 'k',
      workspace_id: 'other',
      scopes: ['completions.write'],
    });
    expect(made.status, JSON.stringify(made.json)).to.equal(200);
    expect((await call('GET', `/v1/api-keys/${made.json.id}`)).status).to.equal(200);
    const row = await plane.store.audit.list(first.organisation_id, {}, { offset: 0, limit: 3 });
    expect(JSON.stringify(row)).to.include(email);
  });

  it('make no link for an owner unless they are one', async () => {
    const owners = (await plane.rest('GET', '/v1/admin/users?role=owner')).json.data;
    const admin = await enter((await makeUser('admin')).email);
    const refused = await admin.call('POST', '/v1/admin/users/link', { user_id: owners[0].id });
    expect(refused.status).to.equal(403);
    const member = await makeUser();
    expect((await admin.call('POST', '/v1/admin/users/link', { user_id: member.id })).status).to.equal(200);
  });

  it('get a link by their address as well as by their id', async () => {
    const { email } = await makeUser();
    const made = await plane.rest('POST', '/v1/admin/users/link', { user_id: email.toUpperCase() });
    expect(made.json.link).to.match(/#token=/);
    const unknown = await plane.rest('POST', '/v1/admin/users/link', { user_id: 'nobody@example.com' });
    expect(unknown.status).to.equal(404);
    expect(JSON.stringify(unknown.json)).to.include('headgate users list');
  });

  const watch = (cookie: string, gone: AbortSignal) =>
    plane.server.rest({
      ...{ verb: 'GET', path: '/v1/watch', query: '', headers: ['cookie', cookie] },
      ...{ address: '192.0.2.1', body: Buffer.alloc(0), gone },
    });

  it('see the changes in all of their workspaces', async () => {
    const names = ['watched-one', 'watched-two', 'unwatched'];
    for (const name of names) await plane.rest('POST', '/v1/admin/workspaces', { name, slug: name });
    const places = names.slice(0, 2).map((id) => ({ id, role: 'manager' }));
    const { email } = await makeUser('member', places);
    const { cookie } = await enter(email);
    const gone = new AbortController();
    const answer = await watch(cookie, gone.signal);
    let text = '';
    const read = (async () => {
      for await (const piece of answer.body as AsyncIterable<Buffer | string>) {
        text += String(piece);
        if (text.includes('pc-watched-two')) gone.abort();
      }
    })();
    await eventually('the stream has begun', async () => text.includes('start'));
    for (const name of ['watched-one', 'unwatched', 'watched-two'])
      await plane.rest('POST', '/v1/configs', {
        name,
        slug: `pc-${name}`,
        config: { retry: { attempts: 1 } },
        workspace_id: name,
      });
    await read;
    expect(text).to.include('pc-watched-one').and.not.include('pc-unwatched');
  });

  it('read a stream no longer when their session has ended', async () => {
    const { email } = await makeUser('admin');
    const { cookie, call } = await enter(email);
    const gone = new AbortController();
    const answer = await watch(cookie, gone.signal);
    expect(answer.status).to.equal(200);
    let text = '';
    const read = (async () => {
      for await (const piece of answer.body as AsyncIterable<Buffer | string>) text += String(piece);
    })();
    expect((await call('POST', '/v1/auth/sign-out', {})).status).to.equal(200);
    await read;
    expect(text).to.include('AB05');
  });

  it('are limited by max_session_ttl from one request to the next', async () => {
    const { email } = await makeUser();
    const { answer, call } = await enter(email);
    const id = answer.json.id as string;
    const settings = { session_settings: { max_session_ttl: 900 } };
    await plane.rest('PUT', '/v1/admin/organisation/auth-settings', settings);
    const { json } = await call('GET', '/v1/auth/session');
    expect(Date.parse(json.expires_at) - Date.parse(json.created_at)).to.equal(900_000);
    const { database } = plane.store as unknown as {
      database: { write: (work: unknown) => Promise<unknown> };
    };
    const created_at = Date.now() - 900_001;
    // biome-ignore lint/suspicious/noExplicitAny: a row is made older than a test can wait for.
    await database.write((sql: any) => sql('sessions').where({ id }).update({ created_at }));
    expect((await call('GET', '/v1/auth/session')).status).to.equal(401);
    await plane.rest('PUT', '/v1/admin/organisation/auth-settings', {
      session_settings: { max_session_ttl: null },
    });
    expect((await call('GET', '/v1/auth/session')).status).to.equal(200);
  });
});
