import { expect } from 'chai';
import { loggedHeaders, sensitiveNames } from '../../src/common/http/logged-headers.js';
import { LineWriter } from '../../src/common/ledger/line-writer.js';
import { writeLoggedHeaders } from '../../src/data-plane/pipeline/answer/headers-json.js';

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

  it('are the same as text in ASCII', () => {
    const sensitive = new Set(['x-ward']);
    for (const headers of [
      [],
      ['accept', 'a', 'x-note', 'say "hi" \\ \t', 'x-name', 'Zoë \u007f 😀', 'x-ward', '7'],
      ['accept', 'a', 'cookie', 'c', 'accept', 'b', 'x-long', 'x'.repeat(5000)],
      ['__proto__', 'x', 'x-gateway-config', '{"api_key":"sk"}', 'x-"odd"', '1', 'n'.repeat(201), 'y'],
    ]) {
      const line = new LineWriter(8, 65_536);
      writeLoggedHeaders(line, headers, sensitive);
      const text = line.bytes.toString('latin1', 0, line.used);
      expect(text).to.match(/^[\x20-\x7f]*$/);
      expect(JSON.parse(text)).to.deep.equal(loggedHeaders(headers, sensitive));
    }
  });
});
