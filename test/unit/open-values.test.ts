import { expect } from 'chai';
import { email } from '../../plugins/guardrails/checks/pii/email.js';
import { personalKinds } from '../../plugins/guardrails/checks/pii/kinds.js';
import { secretKinds } from '../../plugins/guardrails/checks/secrets/kinds.js';
import { OpenValues } from '../../plugins/guardrails/streams/open-values.js';
import { quickest } from '../support/quickest.js';
import { expectWithinMs } from '../support/time-limits.js';

describe('the search for values that a text does not end', () => {
  const kinds = [...personalKinds, ...secretKinds];
  const searches = new Map(kinds.map((kind) => [`${kind.id}, ${kind.title}`, new OpenValues([kind])]));
  for (const text of [
    'use @EnableGlobalMethodSecurity(x) ',
    'x @ConditionalOnMissingBeanAnnotation( ',
    `x @${'a'.repeat(250)}(`,
    `x @${'a-'.repeat(125)}(`,
    `x @${'a.'.repeat(125)}(`,
    `${'-eyJabc'.repeat(1300)}!`,
    `${'eyJabcdefgh.'.repeat(750)}!`,
    `-----BEGIN PRIVATE KEY-----\n${'a: '.repeat(130)}!`,
    `-----BEGIN PRIVATE KEY-----\n${'a: '.repeat(9)}${'A'.repeat(8000)}!`,
    `://${'a:'.repeat(4000)}!`,
    `${'Ab-'.repeat(3000)}!`,
    `${'123 '.repeat(2000)}!`,
  ]) {
    const shown = text.length > 50 ? `${text.slice(0, 40)}… of ${text.length} characters` : text;
    it(`takes little time in ${shown}`, async () => {
      for (const [what, values] of searches)
        expectWithinMs(await quickest(3, () => values.open(text, 0)), 10, { what });
    }).timeout(60_000);
  }

  it('finds the beginnings of e-mail addresses, and of nothing else', () => {
    const open = (text: string): string => text.slice(email.open!(text, 0));
    for (const begun of [
      'jo',
      'jo@',
      'jo@mail',
      'jo@mail.',
      'jo@mail.example',
      'jo@mail.example.org',
      'jo@用',
    ])
      expect(open(`Ask (${begun}`)).to.equal(begun);
    for (const other of ['jo@mail ', 'jo@mail..(', 'jo@mail(x)', 'jo@.(', ''])
      expect(open(`Ask (${other}`), other).to.equal('');
  });

  it('finds the beginnings of private keys with lines before the key', () => {
    const values = new OpenValues(secretKinds.filter(({ id }) => id === 'PRIVATE_KEY'));
    const begun =
      '-----BEGIN RSA PRIVATE KEY-----\nProc-Type: 4,ENCRYPTED\nDEK-Info: AES-128-CBC,1F\n\nMIIEpAIB\nAAKC';
    for (let length = 1; length <= begun.length; length++)
      expect(values.open(`See ${begun.slice(0, length)}`, 0), begun.slice(0, length)).to.equal(4);
    expect(values.open(`See ${begun}!`, 0)).to.equal(5 + begun.length);
  });

  it('finds the beginnings of JSON web tokens', () => {
    const token = secretKinds.find(({ id }) => id === 'JWT')!;
    const values = new OpenValues([token]);
    const open = (text: string): string => text.slice(values.open(text, 0));
    for (let length = 1; length <= token.example.length; length++)
      expect(open(`See.${token.example.slice(0, length)}`)).to.equal(token.example.slice(0, length));
    for (const other of ['eyjabc', 'eyJabcdefgh ', 'eyJabcdefgh.x', 'aeyJabcdefgh', '-eyJabcdefgh'])
      expect(open(other), other).to.equal('');
  });
});
