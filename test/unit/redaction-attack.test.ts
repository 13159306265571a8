import { expect } from 'chai';
import type { TextCheck } from '../../plugins/guardrails/check.js';
import { checks } from '../../plugins/guardrails/checks/index.js';
import { BodyRecord } from '../../src/common/bytes/body-record.js';
import { soon } from '../support/bare-worker.js';
import { type InjectedGateway, openInjected } from '../support/inject.js';
import { OverlappingTexts, randomOf } from '../support/overlapping-texts.js';
import { providerStreams } from '../support/streamed-texts.js';

const seed = Number(process.env['SEED'] ?? 1);
const rounds = Number(process.env['ROUNDS'] ?? 12);

const pii = { categories: ['EMAIL_ADDRESS', 'CREDIT_CARD', 'IBAN', 'PHONE_NUMBER'], redact: true };
/** One after another in two guardrails, in every order. */
const redactions = [
  { 'gateway.pii': pii },
  { 'gateway.secrets': { redact: true } },
  { 'default.regexReplace': { rule: 'TK-\\d{5}', redactText: '[ticket]' } },
];
const finders = redactions.map((one): ((text: string) => readonly { start: number; end: number }[]) => {
  const [[id, parameters]] = Object.entries(one) as [[string, object]];
  return (text) => (checks.get(id) as TextCheck).begin!({ not: false, ...parameters }).find(text);
});

/** Runs of letters and digits of values that some check finds in the text. */
function secretsOf(text: string): string[] {
  return finders.flatMap((find) =>
    find(text).flatMap(({ start, end }) => text.slice(start, end).match(/[A-Za-z0-9]{6,}/g) ?? []),
  );
}

describe(`redacted values that touch, nest and overlap (SEED=${seed})`, function () {
  this.timeout(120_000);
  const made = new OverlappingTexts(randomOf(seed));
  let gateway: InjectedGateway;
  let answer = '';

  before(async () => {
    gateway = await openInjected({
      providers: { openai: { provider: 'openai', credential: 'the-key-of-the-provider' } },
      answer: ({ url, body }) => {
        if (url.hostname === 'hook.example.com') return { body: JSON.stringify({ verdict: true }) };
        if (body.includes('"stream":true'))
          return { contentType: 'text/event-stream', body: streamed(answer) };
        return { body: JSON.stringify(completion(answer)) };
      },
    });
  });
  after(() => gateway.close());

  /** A text in pieces of random lengths, in UTF-16 units: halves of a pair are in different events. */
  function streamed(text: string): string[] {
    const pieces: string[] = [];
    for (let at = 0; at < text.length; ) {
      const length = 1 + made.random(12);
      pieces.push(text.slice(at, at + length));
      at += length;
    }
    // Chunks of the connection end within events.
    const all = Buffer.from(escaped(providerStreams['openai']!(pieces).join('')));
    const cut = made.random(all.length);
    return [all.subarray(0, cut), all.subarray(cut)].map((part) => part.toString('utf8'));
  }

  /** As JSON that has ASCII alone. */
  const escaped = (json: string): string =>
    json.replace(/[^\n -~]/g, (char) => `\\u${char.charCodeAt(0).toString(16).padStart(4, '0')}`);

  const completion = (content: string): object => ({
    ...{ id: 'c', object: 'chat.completion', created: 1, model: 'gpt-4o-mini' },
    choices: [{ index: 0, message: { role: 'assistant', content }, finish_reason: 'stop', logprobs: null }],
    usage: { prompt_tokens: 1, completion_tokens: 1, total_tokens: 2 },
  });

  /** Two that redact, with a service that is asked after that, and one that asks it in the background. */
  function guardrails(more: object): object[] {
    const order = redactions.map((one) => ({ one, by: made.random(1000) })).sort((a, b) => a.by - b.by);
    const [first, second, third] = order.map(({ one }) => one);
    const hook = { 'default.webhook': { webhookURL: 'https://hook.example.com/' } };
    return [
      { id: 'beside', async: true, ...hook },
      { id: 'a', ...more, ...first, ...second },
      { id: 'b', sequential: made.random(2) === 0, ...more, ...third, ...hook },
    ];
  }

  /** Everything that has left the data worker since then. */
  async function left(
    begin: { calls: number; settled: number; asked: number },
    count: number,
  ): Promise<string> {
    await soon('it is settled', () => gateway.settled.length >= begin.settled + count);
    return JSON.stringify(
      [
        gateway.calls.slice(begin.calls),
        gateway.settled.slice(begin.settled),
        gateway.questions.slice(begin.asked),
      ],
      (_, value: unknown) => {
        if (value instanceof BodyRecord) return value.bytes().toString();
        if (Buffer.isBuffer(value)) return value.toString();
        return typeof value === 'bigint' ? String(value) : value;
      },
    );
  }
  const now = () => ({
    calls: gateway.calls.length,
    settled: gateway.settled.length,
    asked: gateway.questions.length,
  });

  function expectNone(secrets: readonly string[], out: string, what: string): void {
    const kept = secrets.filter((one) => one !== 'password' && out.includes(one));
    const places = kept.map((one) => out.slice(Math.max(0, out.indexOf(one) - 60), out.indexOf(one) + 60));
    expect(places, what).to.deep.equal([]);
  }

  it('are in nothing that leaves of a request', async () => {
    let found = 0;
    answer = 'Fine';
    for (let round = 0; round < rounds; round++) {
      const texts = Array.from({ length: 5 }, () => made.text());
      const secrets = texts.flatMap(secretsOf);
      found += secrets.length;
      const [system, first, reply, tool, last] = texts;
      const messages = [
        { role: 'system', content: system },
        {
          role: 'user',
          content: [
            { type: 'text', text: first },
            { type: 'text', text: reply },
          ],
        },
        { role: 'tool', tool_call_id: 't', content: tool },
        { role: 'user', content: last },
      ];
      const begin = now();
      const response = await gateway.inject('/v1/chat/completions', {
        config: {
          provider: '@openai',
          cache: { mode: 'simple' },
          strict_open_ai_compliance: false,
          input_guardrails: guardrails({ deny: true }),
        },
        body: { model: 'gpt-4o-mini', messages },
      });
      expect(response.status).to.equal(200);
      expectNone(secrets, (await response.text()) + (await left(begin, 1)), JSON.stringify(texts));
    }
    expect(found).to.be.above(rounds);
  });

  it('are in nothing that leaves of an answer', async () => {
    for (let round = 0; round < rounds; round++) {
      answer = made.text();
      const begin = now();
      const response = await gateway.inject('/v1/chat/completions', {
        config: {
          provider: '@openai',
          cache: { mode: 'simple' },
          strict_open_ai_compliance: false,
          output_guardrails: guardrails({}),
        },
        body: { model: 'gpt-4o-mini', messages: [{ role: 'user', content: `Hello ${round}` }] },
      });
      expect(response.status).to.equal(200);
      expectNone(secretsOf(answer), (await response.text()) + (await left(begin, 1)), JSON.stringify(answer));
    }
  });

  it('are in nothing that leaves of a stream', async () => {
    for (let round = 0; round < rounds; round++) {
      answer = made.text();
      const begin = now();
      const response = await gateway.inject('/v1/chat/completions', {
        config: {
          provider: '@openai',
          cache: { mode: 'simple' },
          strict_open_ai_compliance: false,
          output_guardrails: guardrails({ stream: 'incremental' }),
        },
        body: { model: 'gpt-4o-mini', stream: true, messages: [{ role: 'user', content: `Hi ${round}` }] },
      });
      const text = await response.text();
      const said = [...text.matchAll(/"content":("(?:[^"\\]|\\.)*")/g)]
        .map(([, one]) => JSON.parse(one!))
        .join('');
      expectNone(secretsOf(answer), said + text + (await left(begin, 1)), JSON.stringify(answer));
    }
  });
});
