// lane: not quick
import { expect } from 'chai';
import { makeCases } from '../../bench/labelled/cases.js';
import { pii } from '../../plugins/guardrails/checks/pii/check.js';
import { personalCategories, personalKinds } from '../../plugins/guardrails/checks/pii/kinds.js';
import { secrets } from '../../plugins/guardrails/checks/secrets/check.js';
import { secretCategories, secretKinds } from '../../plugins/guardrails/checks/secrets/kinds.js';
import type { HookOutcome } from '../../plugins/guardrails/run/outcome.js';
import { pieceChecks } from '../../plugins/guardrails/streams/piece-checks.js';
import { PieceText } from '../../plugins/guardrails/streams/piece-text.js';
import type { BodyRecord } from '../../src/common/bytes/body-record.js';
import type { Attempt } from '../../src/common/core/exchange.js';
import type { Settlement } from '../../src/common/ledger/record.js';
import { BareWorker, soon } from '../support/bare-worker.js';
import { type StreamedWay, streamedWays } from '../support/streamed-texts.js';
import { expectWithinMs } from '../support/time-limits.js';

interface Passed {
  readonly text: string;
  /** The most characters that were held back. */
  readonly held: number;
}

function inPieces(id: string, parameters: Record<string, unknown>, pieces: readonly string[]): Passed {
  const check = pieceChecks.get(id)!(parameters)!;
  const text = new PieceText([{ run: check.begin(), redacts: check.redacts, fail() {} }]);
  let [out, held, most] = ['', '', 0];
  for (const piece of pieces) {
    const made = text.push(held + piece, true);
    out += made.text;
    held = made.held;
    most = Math.max(most, held.length);
  }
  return { text: out + text.push(held, false).text, held: most };
}

describe('a stream in pieces', () => {
  for (const [id, check, kinds, categories] of [
    ['gateway.secrets', secrets, secretKinds, secretCategories],
    ['gateway.pii', pii, personalKinds, personalCategories],
  ] as const) {
    for (const kind of kinds) {
      const text = `Here is it: ${kind.example}, and so on.`;
      const parameters = {
        redact: true,
        not: false,
        categories: categories,
      };
      it(`gets the same placeholders as the whole text: ${kind.id}, ${kind.title}`, () => {
        const whole = check.run({ phase: 'after', texts: [text], text }, parameters).transformed![0]!;
        expect(whole).to.not.equal(text);
        const most = Math.max(...kinds.map(({ longest }) => longest));
        const wrong: string[] = [];
        for (let at = 0; at <= text.length; at++) {
          const { text: out, held } = inPieces(id, parameters, [text.slice(0, at), text.slice(at)]);
          if (out !== whole) wrong.push(`${text.slice(0, at)}|${text.slice(at)}: ${out}`);
          if (held > most) wrong.push(`${held} characters are held back`);
        }
        for (const length of [1, 3, 5]) {
          const pieces = text.match(new RegExp(`[^]{1,${length}}`, 'g'))!;
          const { text: out } = inPieces(id, parameters, pieces);
          if (out !== whole) wrong.push(`${length} at a time: ${out}`);
        }
        expect(wrong).to.deep.equal([]);
      });
    }
  }
});

describe('labelled texts in pieces', () => {
  for (const [id, check, categories] of [
    ['gateway.pii', pii, personalCategories],
    ['gateway.secrets', secrets, secretCategories],
  ] as const) {
    it(`get the same placeholders as whole ones from ${id}`, () => {
      const parameters = { redact: true, not: false, categories };
      let found = 0;
      for (const [i, { text }] of makeCases(1).entries()) {
        if (i % 5 !== 0) continue;
        const whole = check.run({ phase: 'after', texts: [text], text }, parameters).transformed?.[0] ?? text;
        if (whole !== text) found++;
        const pieces = text.match(new RegExp(`[^]{1,${1 + (i % 8)}}`, 'g')) ?? [];
        expect(inPieces(id, parameters, pieces).text, pieces.join('|')).to.equal(whole);
      }
      expect(found).to.be.above(20);
    });
  }
});

describe('a value that is written in an unusual way, in pieces', () => {
  const parameters = { redact: true, not: false, categories: personalCategories };
  const most = Math.max(...personalKinds.map(({ longest }) => longest));
  for (const text of [
    'Card ４１１１ １１１１ １１１１ １１１１, done',
    'Card ٤١١١١١١١١١١١١١١١ done',
    'Card 4111.1111.1111.1111, done',
    'Card 4111\n1111\n1111\n1111\nDone',
    'My card is 4111 1111\r\n1111 1111, done',
    'Card 4111\u00a01111\u00a01111\u00a01111 done',
    'Card 4111 1111 1111 1111 123 done',
    `Card ${[...'4111111111111111'].join('\u200b')} done`,
    `Card ${[...'4111111111111111'].join('\u200b\u2060')} done`,
    'Write to ju\u0308rgen@bu\u0308cher.example.de, please',
    'Write to an\u200bn@exam\u00adple.org, please',
    'Card 4111 \u200b1111 \u200b1111 \u200b1111 ok',
    'Card 4111\u200b 1111 \u2060\u200b1111\u200b \u200b1111 ok',
    'Card 4111 1111 1111 1111\u200b.joe@example-company.com done',
    'jo.smith@mail.example.org\u200bann@longer-name.mail.example.org done',
    'пишите иван@почта.рф, спасибо',
    `${'联系我们'.repeat(30)}jo@example.org谢谢`,
  ])
    it(`gets the same placeholder as in the whole text: ${text.replaceAll('\u200b', '·')}`, () => {
      const whole = pii.run({ phase: 'after', texts: [text], text }, parameters).transformed![0]!;
      expect(whole).to.match(/\{\{(?:CREDIT_CARD|EMAIL_ADDRESS)_1\}\}/);
      for (let at = 0; at <= text.length; at++) {
        const pieces = [text.slice(0, at), text.slice(at)];
        const { text: out, held } = inPieces('gateway.pii', parameters, pieces);
        expect(out, `at ${at}`).to.equal(whole);
        expect(held).to.be.at.most(most);
      }
      for (const length of [1, 2, 3]) {
        const { text: out, held } = inPieces(
          'gateway.pii',
          parameters,
          text.match(new RegExp(`[^]{1,${length}}`, 'g'))!,
        );
        expect(out, `${length} at a time`).to.equal(whole);
        expect(held).to.be.at.most(most);
      }
    });
});

describe('what looks like a value in a part of a stream', () => {
  for (const text of [
    'It is 4111 1111 1111 1111-a here',
    'It is a-4111 1111 1111 1111 here',
    'It is 41111111111111112 here',
    'It is 4111 1111 1111 1111.5 here',
    'Version 10.1.2.3 and 203.0.113.9.7 and git@host.org:team/x here',
    'See icon@2x.png and https://a.b/c:d@e here',
  ]) {
    it(`is what it is in the whole text: ${text}`, () => {
      for (const categories of [['CREDIT_CARD'], ['IP_ADDRESS'], ['EMAIL_ADDRESS'], personalCategories]) {
        const parameters = { redact: true, not: false, categories };
        const whole = pii.run({ phase: 'after', texts: [text], text }, parameters).transformed?.[0] ?? text;
        for (let at = 0; at <= text.length; at++)
          expect(
            inPieces('gateway.pii', parameters, [text.slice(0, at), text.slice(at)]).text,
            `at ${at}`,
          ).to.equal(whole);
        expect(inPieces('gateway.pii', parameters, [...text]).text).to.equal(whole);
      }
    });
  }
});

describe('an expression in pieces', () => {
  const replaced = (rule: string, pieces: readonly string[]): string =>
    inPieces('default.regexReplace', { rule, redactText: '#' }, pieces).text;
  const rules = [
    ...[
      'ab',
      'a?b',
      'a{2,3}b',
      '[ab]{3}',
      'a(?:b|cd)e',
      '(?:ab|a)c',
      '\\bab',
      'a(?=b)',
      'a(?!b)',
      '(?<=a)b',
      'aa|aba',
    ],
    ...[
      '/AB/i',
      'a.b',
      '\\d{2}-\\d{2,3}',
      '(?:a-){0,2}b',
      '/\\u{61}b/u',
      '[^a]b',
      'a+?'.replace('+', '{1,4}'),
    ],
  ];

  it('replaces what it matches in the whole text, wherever that is split', () => {
    let seed = 7;
    const random = (below: number): number => {
      seed = (seed * 1103515245 + 12345) % 2147483648;
      return Math.floor((seed / 2147483648) * below);
    };
    for (const rule of rules) {
      const [, source = rule, flags = ''] = /^\/(.+)\/(\w*)$/.exec(rule) ?? [];
      const pattern = new RegExp(source, `${flags}g`);
      for (let round = 0; round < 60; round++) {
        const alphabet = rule.includes('d{') ? '12--3' : 'aabbc-de ';
        const text = Array.from({ length: 14 }, () => alphabet[random(alphabet.length)]).join('');
        const pieces: string[] = [];
        for (let at = 0; at < text.length; ) {
          const length = 1 + random(4);
          pieces.push(text.slice(at, at + length));
          at += length;
        }
        expect(replaced(rule, pieces), `${rule} in ${pieces.join('|')}`).to.equal(text.replace(pattern, '#'));
      }
    }
  });

  it('needs a bound, and few ways to match', () => {
    const check = pieceChecks.get('default.regexReplace')!;
    for (const rule of [
      'a+',
      'a*b',
      '^a',
      'a$',
      '(a)\\1',
      'a{1,2000}',
      '(?:a?){30}',
      '(?:a|a){20}',
      'a{0,20}a{0,20}b',
    ])
      expect(check({ rule, redactText: '#' }), rule).to.equal(null);
    expect(check({ rule: 'a', redactText: '<$&>' })).to.equal(null);
    for (const rule of rules) expect(check({ rule }), rule).to.not.equal(null);
  });
});

describe('a stream with a guardrail that judges it while it comes', () => {
  let worker: BareWorker;
  let key: string;
  before(async () => {
    worker = await new BareWorker().start();
    for (const provider of ['openai', 'anthropic', 'google']) worker.addProvider(provider, { provider });
    key = worker.key();
  });
  after(() => worker.close());

  const github = secretKinds.find(({ id }) => id === 'GITHUB_TOKEN')!;
  const card = '4111 1111 1111 1111';

  interface Streamed {
    readonly answer: string;
    readonly settlement: Settlement;
    readonly cancelled: boolean;
  }

  async function streamed(
    { slug, ask, events }: StreamedWay,
    guardrails: readonly object[],
    pieces: readonly string[],
    more: object = {},
  ): Promise<Streamed> {
    const config = JSON.stringify({ provider: `@${slug}`, output_guardrails: guardrails, ...more });
    worker.settled.length = 0;
    const [client, asked] = await worker.asking(key, { ...ask, config });
    asked.handler.head(200, ['content-type', 'text/event-stream']);
    for (const event of events(pieces)) asked.handler.data(Buffer.from(event));
    asked.handler.end();
    await soon('it is settled', () => worker.settled.length > 0);
    const [settlement] = worker.settled.splice(0);
    return { answer: client.text, settlement: settlement!, cancelled: asked.cancelled };
  }

  const redacting = {
    ...{ id: 'redact', stream: 'incremental' },
    'gateway.secrets': { redact: true },
    'gateway.pii': { categories: ['CREDIT_CARD'], redact: true },
  };
  const denying = {
    ...redacting,
    id: 'deny',
    deny: true,
    'gateway.secrets': {},
    'gateway.pii': { categories: ['CREDIT_CARD'] },
  };
  const [chat] = streamedWays as [StreamedWay, ...StreamedWay[]];

  for (const [number, way] of streamedWays.entries()) {
    describe(way.name, () => {
      // A third of the places outside of CI: the ways share the search for what is split.
      const step = process.env['CI'] === 'true' ? 1 : 3;
      it('gets no secret and no card number, wherever they are split', async () => {
        const text = `Use ${github.example}, pay by ${card}. Done`;
        const found = 'Use {{GITHUB_TOKEN_1}}, pay by {{CREDIT_CARD_1}}. Done';
        for (let at = 1 + (number % step); at < text.length; at += step) {
          const { answer } = await streamed(way, [redacting], [text.slice(0, at), text.slice(at)]);
          expect(way.read(answer), `split at ${at}`).to.equal(found);
          expect(answer).to.match(way.ended).and.match(way.usage);
        }
        const { answer } = await streamed(way, [redacting], [...text]);
        expect(way.read(answer), 'a character at a time').to.equal(found);
      });

      it('ends with the error of its format and without a good end if it is denied', async () => {
        const text = `Use ${github.example} now`;
        for (let at = 1; at < text.length; at += 3) {
          const { answer, settlement, cancelled } = await streamed(
            way,
            [denying],
            [text.slice(0, at), text.slice(at)],
          );
          expect(answer)
            .to.not.include(github.example.slice(0, 12))
            .and.not.include(github.example.slice(-12));
          expect(answer).to.not.match(/\[DONE\]|message_stop|response\.completed|"STOP"/);
          expect(answer).to.include('The guardrail deny did not pass this answer');
          expect(cancelled).to.equal(true);
          expect(settlement.error).to.equal('guardrail_denied');
          expect(settlement.stages?.['guardrails']).to.include({ verdict: false, denied_by: 'deny' });
        }
      });
    });
  }

  const frames = { strict_open_ai_compliance: false };
  const hooks = (answer: string): HookOutcome[] =>
    JSON.parse(/data: (\{"hook_results".*)$/m.exec(answer)![1]!).hook_results.after_request_hooks;

  it('has the verdicts of all its checks in its last frame and in its row', async () => {
    const guardrail = {
      ...{ id: 'mixed', stream: 'incremental' },
      'gateway.pii': { categories: ['CREDIT_CARD'], redact: true },
      'default.endsWith': { suffix: 'never' },
      'default.contains': { words: ['ugly'], operator: 'none' },
    };
    const { answer, settlement } = await streamed(chat, [guardrail], ['an ug', `ly ${card}`, ' end'], frames);
    expect(chat.read(answer)).to.equal('an ugly {{CREDIT_CARD_1}} end');
    const [outcome] = hooks(answer);
    expect(outcome!.verdict).to.equal(false);
    expect(outcome!.checks.map(({ id, verdict, transformed }) => [id, verdict, transformed])).to.deep.equal([
      ['gateway.pii', true, true],
      ['default.endsWith', false, false],
      ['default.contains', false, false],
    ]);
    expect(answer.indexOf('hook_results')).to.be.above(answer.indexOf('[DONE]'));
    expect(settlement.stages?.['guardrails']).to.deep.include({
      ...{ verdict: false, transformed: 'mixed' },
      failed: 'mixed (default.endsWith, default.contains)',
    });
  });

  it('has the rest of a value replaced whose beginning has waited for too long', () => {
    const check = pieceChecks.get('gateway.pii')!({ categories: ['CREDIT_CARD'], redact: true })!;
    const text = new PieceText([{ run: check.begin(), redacts: true, fail() {} }]);
    expect(text.push('4111 1111', true)).to.deep.equal({ text: '', held: '4111 1111' });
    expect(text.push('4111 1111', false)).to.deep.equal({ text: '4111 1111', held: '' });
    expect(text.push(' 1111 1111 is it', true)).to.deep.equal({ text: '{{CREDIT_CARD_1}} is it', held: '' });
  });

  it('may come in long pieces, and in several choices, of which the first is judged', async () => {
    const long = `${'word '.repeat(3000)}${card} `.repeat(2);
    const { answer } = await streamed(chat, [redacting], [long, 'end']);
    expect(chat.read(answer)).to.equal(`${long.replaceAll(card, '{{CREDIT_CARD_1}}')}end`);
    const second = (delta: object, finish: string | null): string =>
      `data: ${JSON.stringify({ choices: [{ index: 1, delta, finish_reason: finish }] })}\n\n`;
    const events = (): string[] => [
      second({ content: 'pay by 4111 1111 ' }, null),
      second({ content: '1111 1111' }, 'stop'),
      ...chat.events(['fine']),
    ];
    const redacted = await streamed({ ...chat, events }, [redacting], []);
    expect(redacted.answer).to.include('{{CREDIT_CARD_1}}').and.not.include('1111');
    const judged = await streamed({ ...chat, events }, [denying], []);
    expect(judged.answer).to.include('[DONE]');
  });

  it('is logged as it left', async () => {
    const { answer, settlement } = await streamed(chat, [redacting], ['by 4111 1111', ' 1111 1111']);
    const { received } = settlement.attempts[0] as Attempt;
    expect(String((received as BodyRecord).bytes()))
      .to.equal(answer)
      .and.not.include('4111 1111');
  });

  it('is judged at its end only without `stream: "incremental"`, and when checks need the whole text', async () => {
    const { stream: _, ...atEnd } = denying;
    const needsAll = {
      id: 'all',
      deny: true,
      stream: 'incremental',
      'default.endsWith': { suffix: 'never' },
    };
    for (const guardrail of [atEnd, { ...denying, stream: 'end' }, needsAll]) {
      const { answer } = await streamed(chat, [guardrail], ['by 4111 1111', ' 1111 1111'], frames);
      expect(chat.read(answer)).to.equal(`by ${card}`);
      expect(answer).to.include('[DONE]');
      expect(hooks(answer)[0]).to.include({ verdict: false, deny: true });
    }
  });

  it('ends as soon as it is longer than a maximum, or has a word or a match that it must not have', async () => {
    for (const [check, shown] of [
      [{ 'default.characterCount': { maxCharacters: 6 } }, 'abc '],
      [{ 'default.wordCount': { maxWords: 1 } }, 'abc '],
      [{ 'default.contains': { words: ['def'], operator: 'none' } }, 'abc '],
      [{ 'default.regexMatch': { rule: 'd[e-h]{2}', not: true } }, 'abc '],
      [{ 'default.alluppercase': {} }, ''],
    ] as const) {
      const guardrail = { id: 'g', deny: true, stream: 'incremental', ...check };
      const { answer } = await streamed(chat, [guardrail], ['abc ', 'd', 'ef', ' ghi']);
      expect(chat.read(answer).startsWith(shown), JSON.stringify(check)).to.equal(true);
      expect(answer, JSON.stringify(check)).to.include('guardrail g did not').and.not.include('ghi');
    }
  });

  it('replaces matches with a bound, and leaves others to the end', async () => {
    const rule = { rule: '[A-Z]{2}-\\d{4,6}', redactText: '[ticket]' };
    const bounded = { id: 'g', stream: 'incremental', 'default.regexReplace': rule };
    const text = 'See AB-12345, and XY-1 or CD-9999';
    for (let at = 1; at < text.length; at++) {
      const { answer } = await streamed(chat, [bounded], [text.slice(0, at), text.slice(at)]);
      expect(chat.read(answer)).to.equal('See [ticket], and XY-1 or [ticket]');
    }
    const endless = { ...bounded, 'default.regexReplace': { rule: '(a+)+$' } };
    const { answer } = await streamed(chat, [endless], ['aaaa', 'aaaa!']);
    expect(chat.read(answer)).to.equal('aaaaaaaa!');
  });

  it('is refused in a config that has another value of `stream`, with its path', async () => {
    const config = JSON.stringify({
      provider: '@openai',
      output_guardrails: [{ ...redacting, stream: 'now' }],
    });
    const client = worker.ask(key, { config });
    await soon('it is refused', () => client.ended);
    expect(client.status).to.equal(400);
    expect(client.text).to.include('output_guardrails[0].stream').and.include('must be end or incremental');
  });

  it('adds at most a millisecond to the first text, and holds back none that begins no value', async () => {
    const times: Record<string, number[]> = { with: [], without: [] };
    for (let round = 0; round < 60; round++) {
      for (const [name, guardrails] of [
        ['with', [redacting]],
        ['without', []],
      ] as const) {
        const config = JSON.stringify({ provider: '@openai', output_guardrails: guardrails });
        const [client, { handler }] = await worker.asking(key, { config });
        handler.head(200, ['content-type', 'text/event-stream']);
        const [head = '', first = '', ...rest] = chat.events(['Hello', ' there']);
        handler.data(Buffer.from(head));
        await soon('it has begun', () => client.text !== '');
        const from = performance.now();
        handler.data(Buffer.from(first));
        expect(chat.read(client.text)).to.equal('Hello');
        times[name]!.push(performance.now() - from);
        for (const event of rest) handler.data(Buffer.from(event));
        handler.end();
        await soon('it has ended', () => client.ended);
      }
    }
    const median = (list: number[]): number => list.sort((a, b) => a - b)[Math.floor(list.length / 2)]!;
    const added = median(times['with']!) - median(times['without']!);
    expectWithinMs(added, 1, { what: 'a guardrail that has nothing to redact' });
  });
});
