import { expect } from 'chai';
import {
  emailKey,
  emailPart,
  emailProblem,
  normalEmail,
  normalEmails,
} from '../../src/common/access/email.js';

describe('an e-mail address', () => {
  it('is stored with the DNS form of its domain, and compared in lower case', () => {
    for (const [typed, kept] of [
      ['ada@example.com', 'ada@example.com'],
      ['Ada.Lovelace+x@Mail.EXAMPLE.com', 'Ada.Lovelace+x@mail.example.com'],
      ['ada@m\u00fcnchen.example', 'ada@xn--mnchen-3ya.example'],
      ['ada@mu\u0308nchen.example', 'ada@xn--mnchen-3ya.example'],
      ['ada@XN--MNCHEN-3YA.example', 'ada@xn--mnchen-3ya.example'],
      ['ada@\uff45xample.com', 'ada@example.com'],
      ['ada@ex\u0430mple.com', 'ada@xn--exmple-4nf.com'],
      ['ada@\u4f8b\u3048.\u30c6\u30b9\u30c8', 'ada@xn--r8jz45g.xn--zckzah'],
    ] as const) {
      expect(emailProblem(typed), typed).to.equal(null);
      expect(normalEmail(typed)).to.equal(kept);
      expect(emailKey(typed)).to.equal(kept.toLowerCase());
      expect(normalEmail(kept), 'again').to.equal(kept);
    }
  });

  it('is refused with a character beyond ASCII before the @', () => {
    for (const name of [
      '\u0430da',
      'ad\u0430',
      '\uff41da',
      'ad\u00e1',
      'a\u0301da',
      '\u212aarl',
      '\u{1d41a}da',
      '\ud83d\ude00',
    ]) {
      const problem = emailProblem(`${name}@example.com`);
      expect(problem, name).to.match(/^must be ASCII before the @, and has U\+[0-9A-F]{4,6} there/);
    }
  });

  it('is refused with an invisible character', () => {
    for (const code of [
      0x200b, 0x200d, 0x2060, 0xfeff, 0xad, 0x202e, 0x2066, 0x61c, 0x7f, 0x85, 0, 0x3164, 0xe0041, 0x2028,
    ]) {
      const hidden = String.fromCodePoint(code);
      for (const text of [`a${hidden}da@example.com`, `ada@exam${hidden}ple.com`, `ada@example.com${hidden}`])
        expect(emailProblem(text), text).to.match(/^contains U\+[0-9A-F]{4,5}, which is not visible/);
    }
  });

  it('is refused unless it is a single address with a valid domain', () => {
    for (const text of [
      '',
      'ada',
      '@example.com',
      'ada@',
      'ada@com',
      'ada@example.com.',
      'ada@.example.com',
      'ada@example..com',
      'ada@-example.com',
      'ada@exa_mple.com',
      'ada@[127.0.0.1]',
      'ada@127.0.0.1',
      'ada@0x7f.1',
      'ada@2130706433.1',
      'ada@xn--a.com',
      'ada@example\u3002com',
      'ada@example.com/path',
      'ada@exam%70le.com',
      'ada@example.com:25',
      'ada@bob@example.com',
      '.ada@example.com',
      'ada.@example.com',
      'a..da@example.com',
      'a da@example.com',
      '"ada"@example.com',
      'ada <ada@example.com>',
      'ada,bob@example.com',
      `${'a'.repeat(65)}@example.com`,
      `ada@${'a'.repeat(64)}.com`,
      `ada@${'abcdefgh.'.repeat(30)}com`,
    ])
      expect(emailProblem(text), text).to.be.a('string');
  });

  it('that would be refused now but is stored already is compared by its compatibility form', () => {
    expect(emailKey('\uff21da@example.com')).to.equal('ada@example.com');
    expect(emailKey(' a\u200bda@m\u00dcnchen.example')).to.equal('ada@xn--mnchen-3ya.example');
    expect(emailKey('\u0430da@example.com')).to.equal('\u0430da@example.com');
    expect(normalEmail('\uff21da@example.com')).to.equal('\uff21da@example.com');
  });

  it('appears in a list once, and is found by a part of it', () => {
    expect(normalEmails(['a@\u00fc.example', 'b@x.example', 'A@xn--tda.example'])).to.deep.equal([
      'A@xn--tda.example',
      'b@x.example',
    ]);
    expect(emailPart('@m\u00fcnchen.example')).to.equal('@xn--mnchen-3ya.example');
    for (const part of ['find.ME', 'find_me', '1', '0x7f.1', '@Example', ''])
      expect(emailPart(part)).to.equal(part);
  });
});
