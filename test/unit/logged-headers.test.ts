import { expect } from 'chai';
import { loggedHeaders, sensitiveNames } from '../../src/common/http/logged-headers.js';

describe('headers in logs', () => {
  const none = new Set<string>();

  it('have no credentials', () => {
    const names = [
      'authorization',
      'x-gateway-api-key',
      'x-api-key',
      'api-key',
      'x-goog-api-key',
      'cookie',
      'proxy-authorization',
      'x-gateway-aws-secret-access-key',
      'x-gateway-aws-access-key-id',
      'x-gateway-aws-session-token',
      'x-gateway-azure-ad-token',
      'x-gateway-azure-entra-client-secret',
      'x-gateway-vertex-service-account-json',
      'x-gateway-oracle-private-key',
      'x-gateway-oracle-key-passphrase',
    ];
    const logged = loggedHeaders(
      names.flatMap((name) => [name, 'sk-canary']),
      none,
    );
    for (const name of names) expect(logged[name], name).to.equal('***');
  });

  it('have a config by its slug, and none of its content', () => {
    const config = (value: string) => loggedHeaders(['x-gateway-config', value], none);
    expect(config('pc-prod')).to.deep.equal({ 'x-gateway-config': 'pc-prod' });
    expect(config(' {"api_key":"sk-canary"}')).to.deep.equal({ 'x-gateway-config': '***' });
  });

  it('have those masked that the client names', () => {
    const sensitive = sensitiveNames(['X-Patient , x-ward', undefined]);
    expect(loggedHeaders(['x-patient', 'Ann', 'x-ward', '7', 'x-bed', '9'], sensitive)).to.deep.equal({
      'x-patient': '***',
      'x-ward': '***',
      'x-bed': '9',
    });
    expect(sensitiveNames([undefined]).size).to.equal(0);
  });

  it('have values of one name together, and long ones cut', () => {
    const logged = loggedHeaders(
      ['accept', 'a', 'accept', 'b', 'x-long', 'x'.repeat(5000), '__proto__', 'y'],
      none,
    );
    expect(logged['accept']).to.equal('a, b');
    expect(logged['x-long']).to.have.length(4096);
    expect(Object.keys(logged)).to.deep.equal(['accept', 'x-long']);
  });
});
