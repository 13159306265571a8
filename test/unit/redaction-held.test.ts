import { expect } from 'chai';
import { secretKinds } from '../../plugins/guardrails/checks/secrets/kinds.js';
import { pieceChecks } from '../../plugins/guardrails/streams/piece-checks.js';
import { PieceText } from '../../plugins/guardrails/streams/piece-text.js';

type Rule = readonly [id: string, parameters: Record<string, unknown>];

const textOf = (...rules: readonly Rule[]): PieceText =>
  new PieceText(
    rules.map(([id, parameters]) => {
      const check = pieceChecks.get(id)!({ redact: true, ...parameters })!;
      return { run: check.begin(), redacts: check.redacts, fail() {} };
    }),
  );

/** What goes on of the pieces; `null` among them: the time for which the end is held back is over. */
function sent(text: PieceText, pieces: readonly (string | null)[]): string {
  let [out, held] = ['', ''];
  for (const piece of [...pieces, null]) {
    const made = text.push(held + (piece ?? ''), piece !== null);
    out += made.text;
    held = made.held;
  }
  return out;
}

const secrets: Rule = ['gateway.secrets', {}];
const email: Rule = ['gateway.pii', { categories: ['EMAIL_ADDRESS'] }];
const key = `-----BEGIN ${'RSA '}PRIVATE KEY-----\n${'MIIEpAIBAAKCAQEA\n'.repeat(90)}-----END RSA PRIVATE KEY-----`;

describe('a stream whose end was held back for too long', () => {
  it('keeps nothing of a value that goes on after it was replaced', () => {
    const out = sent(textOf(email), ['to ann@example.co', null, 'm.evil.example.org', ' now']);
    expect(out).to.equal('to {{EMAIL_ADDRESS_1}}{{EMAIL_ADDRESS_2}} now');
  });

  it('keeps nothing of a match that goes on after it was replaced', () => {
    const rule: Rule = ['default.regexReplace', { rule: 'TK-\\d{4,6}', redactText: '#' }];
    expect(sent(textOf(rule), ['see TK-1234', null, '56', ' and 78'])).to.equal('see ## and 78');
    expect(sent(textOf(rule), ['see TK-', null, '1', '2', '3', '456 and 78'])).to.equal('see TK-# and 78');
    expect(sent(textOf(rule), ['see TK-1234', null, ' TK-5678 and 9'])).to.equal('see # # and 9');
  });

  it('keeps nothing of the rest of a value that began long before', () => {
    const jwt = secretKinds.find(({ id }) => id === 'JWT')!.example;
    const [head = '', payload = '', signature = ''] = jwt.split('.');
    for (const value of [`${head}.${payload.repeat(80)}.${signature}`, key]) {
      for (const at of [30, 200, 1000]) {
        const pieces = value.slice(at).match(/[\s\S]{1,37}/g)!;
        const out = sent(textOf(secrets), [value.slice(0, at), null, ...pieces, ' and more']);
        const rest = out.slice(out.startsWith('{{') ? 0 : at);
        expect(rest, `after ${at} characters`).to.match(/^(?:\{\{(?:JWT|PRIVATE_KEY)_\d\}\})+ and more$/);
      }
    }
  });

  it('keeps nothing of a value that waits again', () => {
    const at = [5, 40, 300, 900, 1200, key.length - 8];
    const pieces = [...at, key.length].map((end, i) => key.slice(at[i - 1] ?? 0, end));
    const out = sent(textOf(secrets), [...pieces.flatMap((piece) => [piece, null]), ' and more']);
    expect(out.replaceAll(/\{\{PRIVATE_KEY_\d\}\}/g, '#')).to.equal(
      '-----#####-----END RSA PRIVATE # and more',
    );
  });
});

describe('a stream that would have to hold back more than it may', () => {
  it('does not split a value there', () => {
    const rule: Rule = ['default.regexReplace', { rule: 'TK-\\d{6}', redactText: '#' }];
    // A run of characters that may all begin an address; of three bytes each, at most 5461 are held back.
    for (let before = 5450; before < 5475; before++) {
      const out = sent(textOf(rule, email, secrets), [
        `${'字'.repeat(300)}TK-123456${'字'.repeat(before)}`,
        '。',
      ]);
      expect(out, `${before}`).to.match(/#/).and.not.match(/TK|\d/);
    }
  });
});

describe('a stream in which each value overlaps the next', () => {
  const rules: Rule[] = [
    ['default.regexReplace', { rule: 'ab', redactText: '#' }],
    ['default.regexReplace', { rule: 'ba', redactText: '#' }],
  ];

  it('is held back from the first one on', () => {
    const { text, held } = textOf(...rules).push(`so ${'ab'.repeat(4)}`, true);
    expect([text, held]).to.deep.equal(['so ', 'abababab']);
  });

  it('takes time in line with its length', () => {
    const from = performance.now();
    sent(textOf(...rules), ['ab'.repeat(4000), 'ab'.repeat(4000)]);
    expect(performance.now() - from).to.be.below(1000);
  });
});
