import { expect } from 'chai';
import { Secret } from '../../src/core/secret.js';
import type { Outgoing } from '../../src/pipeline/outgoing.js';
import { withoutSecrets } from '../../src/pipeline/told-secrets.js';

describe('What a provider’s error quotes', () => {
  const outgoing = (credential: string | null, headers: readonly string[]): Outgoing =>
    ({
      address: {
        credential: credential === null ? null : new Secret(credential),
        headers: ['x-team', 'team-secret'],
      },
      call: { headers },
    }) as unknown as Outgoing;
  const told = (text: string, from: Outgoing): string => withoutSecrets(Buffer.from(text), from).toString();

  it('of the credential, of stored headers and of tokens got for the call is taken out', () => {
    const from = outgoing('sk-0123456789', ['authorization', 'Bearer ya29.token-0123', 'accept', '*/*']);
    expect(told('no sk-0123456789, ya29.token-0123 or team-secret “here”', from)).to.equal(
      'no *****, ***** or ***** “here”',
    );
  });

  it('of nothing secret stays as it is', () => {
    const bytes = Buffer.from('{"error":"plain"}');
    expect(withoutSecrets(bytes, outgoing(null, ['authorization', 'Bearer ya29.token-0123']))).to.equal(
      bytes,
    );
  });
});
