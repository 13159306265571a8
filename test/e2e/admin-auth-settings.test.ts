import { expect } from 'chai';
import { type AdminPlane, refused, startPlane } from '../support/admin-plane.js';

const path = '/v1/admin/organisation/auth-settings';
const publicKey = {
  kty: 'OKP',
  crv: 'Ed25519',
  kid: 'one',
  x: '11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo',
};
const unset = {
  session_settings: { max_session_ttl: null },
  jwks_url: null,
  jwks: null,
  issuer: null,
  audience: null,
  algorithms: ['RS256'],
  user_id_claims: ['email_id', 'sub', 'uid'],
  oidc: null,
};

describe('auth settings of an organisation', () => {
  let plane: AdminPlane;

  before(async () => {
    plane = await startPlane();
  });
  after(() => plane.close());

  const put = (body: object) => plane.rest('PUT', path, body);

  it('have defaults, keep what an update leaves out, and lose what it sets to null', async () => {
    expect((await plane.rest('GET', path)).json).to.deep.equal(unset);
    const set = {
      jwks_url: 'https://id.example.com/keys?tenant=1',
      jwks: { keys: [publicKey] },
      issuer: 'https://id.example.com',
      audience: 'headgate',
      algorithms: ['ES256', 'EdDSA'],
      user_id_claims: ['preferred_username', 'sub'],
    };
    expect((await put(set)).json).to.deep.equal({ ...unset, ...set });
    await put({ session_settings: { max_session_ttl: 900 } });
    const { json } = await plane.rest('GET', path);
    expect(json).to.deep.equal({ ...unset, ...set, session_settings: { max_session_ttl: 900 } });
    expect(await plane.admin.api.organisations.getAuthSettings()).to.deep.include({
      jwks: { keys: [publicKey] },
      issuer: 'https://id.example.com',
    });
    const nothing = Object.fromEntries(Object.keys(set).map((name) => [name, null]));
    const cleared = await put({ ...nothing, session_settings: { max_session_ttl: null } });
    expect(cleared.json).to.deep.equal(unset);
  });

  it('show the client secret of a provider masked, and keep it until another one is given', async () => {
    const secret = 'oidc-client-secret-0123456789';
    const { authSettings } = plane.store;
    const kept = async () => (await authSettings.clientSecret(plane.first.organisation_id))?.reveal();
    const oidc = {
      issuer: 'https://id.example.com',
      client_id: 'headgate',
      allowed_email_domains: ['Example.com'],
      role_claim: 'groups',
      role_mapping: { platform: 'admin', staff: 'member' },
    };
    const { json } = await put({ oidc: { ...oidc, client_secret: secret } });
    const shown = { ...oidc, allowed_email_domains: ['example.com'], client_secret: 'oi*****789' };
    expect(json.oidc).to.deep.equal(shown);
    expect(await kept()).to.equal(secret);
    // As a form sends back what it has read.
    expect((await put({ oidc: shown })).json.oidc).to.deep.equal(shown);
    expect((await put({ oidc: { role_claim: null } })).json.oidc).to.deep.equal({
      ...shown,
      role_claim: null,
    });
    expect(await kept()).to.equal(secret);
    await put({ oidc: { client_secret: 'another-client-secret' } });
    expect(await kept()).to.equal('another-client-secret');
    expect((await put({ oidc: null })).json.oidc).to.equal(null);
    expect(await kept()).to.equal(undefined);
    const audit = JSON.stringify((await plane.rest('GET', '/v1/audit-logs?page_size=100')).json);
    for (const text of [secret, 'another-client-secret', ...plane.logged]) expect(audit).to.not.include(text);
    expect(plane.logged.join()).to.not.include(secret);
  });

  it('refuse what cannot be signed in with, by its path', async () => {
    const cases: readonly [object, string][] = [
      [{ jwks_url: 'ftp://id.example.com' }, 'jwks_url'],
      [{ jwks_url: 'https://user:pass@id.example.com' }, 'jwks_url'],
      [{ jwks: { keys: 'none' } }, 'jwks.keys'],
      [{ jwks: { keys: [5] } }, 'jwks.keys[0]'],
      [{ jwks: { keys: [{ ...publicKey, kid: undefined }] } }, 'jwks.keys[0].kid'],
      [{ jwks: { keys: [publicKey, { ...publicKey, d: 'secret' }] } }, 'jwks.keys[1]'],
      [{ jwks: { keys: [{ kty: 'oct', kid: 'x', k: 'AAAA' }] } }, 'jwks.keys[0]'],
      [{ algorithms: ['HS256'] }, 'algorithms'],
      [{ algorithms: ['none'] }, 'algorithms'],
      [{ user_id_claims: [''] }, 'user_id_claims'],
      [{ session_settings: { max_session_ttl: 899 } }, 'session_settings.max_session_ttl'],
      [{ oidc: { issuer: 'https://id.example.com' } }, 'oidc.client_id'],
      [{ oidc: { client_id: 'x' } }, 'oidc.issuer'],
      [{ oidc: { issuer: 'id.example.com', client_id: 'x' } }, 'oidc.issuer'],
      [
        { oidc: { issuer: 'https://i.com', client_id: 'x', role_mapping: { a: 'boss' } } },
        'oidc.role_mapping',
      ],
      [{ oidc: { issuer: 'https://i.com', client_id: 'x', allowed_email_domains: ['@x'] } }, 'oidc.allowed'],
      [{ jwks_uri: 'https://id.example.com' }, 'jwks_uri'],
    ];
    for (const [body, where] of cases) {
      const { status, json } = await put(body);
      expect(status, JSON.stringify(body)).to.equal(400);
      expect(json.data.message, JSON.stringify(body)).to.include(where);
    }
    expect((await plane.rest('GET', path)).json).to.deep.equal(unset);
  });

  it('are for keys of the organisation', async () => {
    await refused(plane.workspace.api.organisations.getAuthSettings(), 'PERMISSION_DENIED', 'AB03');
    const key = plane.first.workspace_key;
    expect((await plane.rest('PUT', path, { issuer: 'x' }, { key })).status).to.equal(403);
    expect((await plane.rest('PUT', path, { issuer: 'x' }, { key: null })).status).to.equal(401);
  });
});
