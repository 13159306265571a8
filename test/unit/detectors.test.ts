import { expect } from 'chai';
import { kindFacts, makeCases } from '../../bench/labelled/cases.js';
import { compare, independentTexts } from '../../bench/labelled/independent.js';
import { rowsWhere, score, totals } from '../../bench/labelled/score.js';
import { Detector } from '../../plugins/guardrails/checks/detect/detector.js';
import { findingsResult } from '../../plugins/guardrails/checks/detect/findings-result.js';
import { keccak256 } from '../../plugins/guardrails/checks/detect/keccak.js';
import { Redactor } from '../../plugins/guardrails/checks/detect/redact.js';
import { personalCategories, personalKinds } from '../../plugins/guardrails/checks/pii/kinds.js';
import { secretCategories, secretKinds } from '../../plugins/guardrails/checks/secrets/kinds.js';
import { guardrailChecks } from '../../src/common/guardrails/guardrail-checks.js';

const all = new Detector([...secretKinds, ...personalKinds]);
const found = (text: string, detector = all): string[] =>
  detector.find(text).map(({ kind, start, end }) => `${kind.id} ${text.slice(start, end)}`);

/** What a guardrail may name, from the table of checks. */
const choicesOf = (id: string): unknown =>
  (guardrailChecks.get(id)!.parameters.properties['categories'] as unknown as { items: { enum: unknown } })
    .items.enum;

describe('detectors of personal data and secrets', () => {
  for (const kind of [...personalKinds, ...secretKinds]) {
    it(`find ${kind.id}: ${kind.title}`, () => {
      const own = new Detector([kind]);
      const hits = own.find(`See ${kind.example}.`);
      expect(hits).to.have.length(1);
      expect(hits[0]!.end - hits[0]!.start).to.be.at.most(kind.longest);
      expect(all.find(`See ${kind.example}.`).map(({ kind: { id } }) => id)).to.deep.equal([kind.id]);
    });
  }

  it('are those whose categories a guardrail may name', () => {
    expect(choicesOf('gateway.pii')).to.have.members([...personalCategories]);
    expect(choicesOf('gateway.secrets')).to.have.members([...secretCategories]);
    expect(personalCategories).to.have.length.at.least(25);
  });

  describe('on labelled texts, half of which hold nothing', () => {
    for (const seed of [1, 2]) {
      const cases = makeCases(seed);
      const { rows, mistakes } = score(cases, (text) =>
        all.find(text).map(({ kind: { id }, start, end }) => ({ kind: id, start, end })),
      );
      const why = mistakes.slice(0, 20).join('\n');

      it(`are right in 95 of 100, and find 90 of 100 values whose form is known (seed ${seed})`, () => {
        expect(cases).to.have.length.at.least(1000);
        expect(cases.filter(({ value }) => value === null)).to.have.length(cases.length / 2);
        const patterned = totals(rowsWhere(rows, kindFacts, ({ isPatterned }) => isPatterned));
        expect(patterned.precision, why).to.be.at.least(0.95);
        expect(patterned.recall, why).to.be.at.least(0.9);
        expect(totals(rows).precision, why).to.be.at.least(0.95);
      });

      it(`never take a number with a wrong checksum (seed ${seed})`, () => {
        const checked = rowsWhere(rows, kindFacts, ({ isChecked }) => isChecked);
        expect(checked).to.have.length.at.least(20);
        expect(
          checked.filter(({ falseAlarms }) => falseAlarms > 0).map(({ kind }) => kind),
          why,
        ).to.deep.equal([]);
      });
    }

    it('are not right because they report nothing, or everything', () => {
      const cases = makeCases(1);
      expect(totals(score(cases, () => []).rows).recall).to.equal(0);
      const everything = score(cases, (text) => [{ kind: 'SSN', start: 0, end: text.length }]);
      expect(totals(everything.rows).precision).to.be.below(0.05);
    });
  });

  it('are right on texts that were written without a look at them', () => {
    const texts = independentTexts();
    expect(texts).to.have.length.at.least(400);
    expect(texts.filter(({ kinds }) => kinds.length === 0)).to.have.length.at.least(texts.length / 2);
    const { precision, recall, mistakes } = compare(texts, (text) =>
      all.find(text).map(({ kind: { id } }) => id),
    );
    expect(precision, mistakes.join('\n')).to.be.at.least(0.97);
    expect(recall, mistakes.join('\n')).to.be.at.least(0.95);
    expect(compare(texts, () => ['SSN']).precision).to.be.below(0.05);
  });

  it('find numbers of telephones as Germans write them', () => {
    expect(found('meine Nummer: +49 (0)30 901820')).to.deep.equal(['PHONE_NUMBER +49 (0)30 901820']);
    expect(found('Tel. 030 / 23 12 45 67')).to.deep.equal(['PHONE_NUMBER 030 / 23 12 45 67']);
  });

  it('find a value at each place of a long text, and each value of one', () => {
    // Windows of 8,192 characters begin and end within the value.
    const value = 'DE89 3704 0044 0532 0130 00';
    for (let place = 8150; place <= 8200; place++) {
      const text = `${'a '.repeat(place / 2).padEnd(place)}${value} end`;
      expect(found(text), String(place)).to.deep.equal([`IBAN ${value}`]);
    }
    expect(found(`${'jo@example.org, '.repeat(5000)}`)).to.have.length(5000);
  });

  it('report of two that overlap the one that holds the other', () => {
    expect(found('postgres://app:tr0ub4dor@mail.example.org/db')).to.deep.equal([
      'URL_CREDENTIALS app:tr0ub4dor',
    ]);
    expect(found('call 4111 1111 1111 1111')).to.deep.equal(['CREDIT_CARD 4111 1111 1111 1111']);
  });

  describe('find a value however it is written', () => {
    const card = '4111 1111 1111 1111';
    const forms: Readonly<Record<string, readonly [kind: string, value: string]>> = {
      'a card with points': ['CREDIT_CARD', '4111.1111.1111.1111'],
      'a card with no-break spaces': ['CREDIT_CARD', card.replaceAll(' ', '\u00a0')],
      'a card in four lines': ['CREDIT_CARD', card.replaceAll(' ', '\n')],
      'a card over the end of a line': ['CREDIT_CARD', '4111-1111-\r\n1111-1111'],
      'an American Express card with points': ['CREDIT_CARD', '3782.822463.10005'],
      'a card with an invisible character between all digits': ['CREDIT_CARD', [...card].join('\u200b')],
      'a card with two invisible characters': ['CREDIT_CARD', '4111\u200b\u2060111111111111'],
      'a card in Arabic digits': ['CREDIT_CARD', '٤١١١ ١١١١ ١١١١ ١١١١'],
      'a card in full-width digits': ['CREDIT_CARD', '４１１１１１１１１１１１１１１１'],
      'an IBAN with thin spaces': ['IBAN', 'DE89 3704 0044 0532 0130 00'.replaceAll(' ', '\u2009')],
      'an address with a soft hyphen': ['EMAIL_ADDRESS', 'ann\u00ad.smith@exam\u00adple.org'],
      'an address with letters outside of ASCII': ['EMAIL_ADDRESS', 'jürgen@bücher.example.de'],
      'an address with combining marks': ['EMAIL_ADDRESS', 'ju\u0308rgen@example.de'],
      'a Cyrillic address': ['EMAIL_ADDRESS', 'иван@почта.рф'],
      'an Arabic address': ['EMAIL_ADDRESS', 'مستخدم@مثال.إختبار'],
      'a full-width address': ['EMAIL_ADDRESS', 'ｊｏ＠ｅｘａｍｐｌｅ．ｏｒｇ'],
      'a secret with an invisible character': [
        'GITHUB_TOKEN',
        secretKinds.find(({ id }) => id === 'GITHUB_TOKEN')!.example.replace('_', '_\u200b'),
      ],
    };
    for (const [name, [kind, value]] of Object.entries(forms))
      it(name, () => {
        expect(found(`My card: ${value}, thanks`)).to.deep.equal([`${kind} ${value}`]);
      });

    it('a card before its security code', () => {
      expect(found(`${card} 123`)).to.deep.equal([`CREDIT_CARD ${card}`]);
      expect(found(`${card} 110`)).to.deep.equal([`CREDIT_CARD ${card} 110`]);
    });

    it('replace all forms of one value by the same placeholder', () => {
      const redactor = new Redactor();
      const text = `${card}; 4111.1111.1111.1111; ${card.replaceAll(' ', '\u00a0')}; 4111\u200b111111111111; ４１１１１１１１１１１１１１１１`;
      expect(redactor.replace(text, all.find(text))).to.equal(Array(5).fill('{{CREDIT_CARD_1}}').join('; '));
    });

    for (const [text, kinds] of [
      [`${card}\u200b.joe@example-company.com`, ['CREDIT_CARD', 'EMAIL_ADDRESS']],
      ['DE89 3704 0044 0532 0130 00\u200b.joe@example-company-with-long-name.com', ['IBAN', 'EMAIL_ADDRESS']],
      ['jo.smith@mail.example.org\u200bann@longer-name.mail.example.org', ['EMAIL_ADDRESS']],
    ] as const)
      it(`cover all that is found with and without invisible characters: ${JSON.stringify(text)}`, () => {
        const hits = all.find(`Card ${text} is it`);
        expect(hits.map(({ start, end }) => [start, end])).to.deep.equal([[5, 5 + text.length]]);
        const options = { redact: true, not: false, what: 'personal data' };
        const { data, transformed } = findingsResult(all, [`Card ${text} is it`], options);
        expect(transformed![0]).to.match(/^Card \{\{[A-Z_]+_1\}\} is it$/);
        expect((data as { counts: object }).counts).to.deep.equal(
          Object.fromEntries(kinds.map((kind) => [kind, 1])),
        );
      });

    for (const filler of ['\u3164', '\u115f', '\u1160', '\uffa0'])
      it(`a card with a filler of Korean between all digits: ${JSON.stringify(filler)}`, () => {
        const value = [...card].join(filler);
        expect(found(`My card: ${value}, thanks`)).to.deep.equal([`CREDIT_CARD ${value}`]);
      });

    it('exclude text that follows without a space', () => {
      expect(found('联系我jo@example.org谢谢')).to.deep.equal(['EMAIL_ADDRESS jo@example.org']);
      expect(found('jo@example.com으로')).to.deep.equal(['EMAIL_ADDRESS jo@example.com']);
      expect(found('jo@example.com.谢谢')).to.deep.equal(['EMAIL_ADDRESS jo@example.com']);
      expect(found(`${card}\u200bHello`)).to.deep.equal([`CREDIT_CARD ${card}`]);
    });

    for (const text of [
      '4111\n1111\n1111\n1111',
      '4111 1111\n1111 1111',
      'card 4111 1111-1111.1111',
      'card 4111\u200b\u200b\u200b111111111111',
      'card ٤١١١ ١١١١ ١١١١ ١١١٢',
      '回复@张三：谢谢',
      'می\u200cخواهم ۱۲۳۴ کتاب',
    ])
      it(`but not ${JSON.stringify(text)}`, () => {
        expect(found(text)).to.deep.equal([]);
      });
  });

  describe('take time in proportion to the text, whatever is in it', () => {
    const pieces = [
      ...['1', '1-', '1.', '1:', '@', 'a@', 'a.b@c.', '(', '[', '{"', '(2', '+4', '-', '123456789 ', '4111 '],
      ...[
        'Mr ',
        'straße 1',
        '12 Abc Def Ghi ',
        'DE89 ',
        'born 1 ',
        '://a:',
        '1\u200b',
        '\u200b',
        '4111\u200b\n',
        '٤\u00a0',
        'ü@',
        '用@用.',
        'eyJ',
        'eyJa.',
        '-----BEGIN ',
        'password: ',
      ],
      ...[
        '-----BEGIN PRIVATE KEY-----',
        'api_key=',
        'ssn tax 123456789 ',
        'A1',
        'é1 ',
        '\u0000',
        '0x',
        '::',
        'Q~',
      ],
    ];
    for (const piece of pieces) {
      it(`of ${JSON.stringify(piece)} a quarter of a million characters`, () => {
        // What is quadratic takes minutes.
        all.find(piece.repeat(250_000 / piece.length));
      }).timeout(20_000);
    }
  });

  it('replace the same value by the same placeholder, in all texts of one call', () => {
    const redactor = new Redactor();
    const replace = (text: string): string => redactor.replace(text, all.find(text));
    expect(replace('jo@example.org and al@example.org')).to.equal(
      '{{EMAIL_ADDRESS_1}} and {{EMAIL_ADDRESS_2}}',
    );
    expect(replace('AL@example.org paid with 4111-1111-1111-1111')).to.equal(
      '{{EMAIL_ADDRESS_2}} paid with {{CREDIT_CARD_1}}',
    );
    expect(replace('4111 1111 1111 1111')).to.equal('{{CREDIT_CARD_1}}');
    expect(found(replace('password=Tr0ub4dor&3'))).to.deep.equal([]);
  });

  it('hash as Ethereum does', () => {
    expect(keccak256('')).to.equal('c5d2460186f7233c927e7db2dcc703c0e500b653ca82273b7bfad8045d85a470');
    expect(keccak256('abc')).to.equal('4e03657aea45a94fc7d47ba826c8d667c0d1e6e33a64a036ec44f58fa12d6c45');
  });
});
