import { expect } from 'chai';
import { soon } from '../support/bare-worker.js';
import { type InjectedGateway, openInjected } from '../support/inject.js';
import { providerStreams } from '../support/streamed-texts.js';

// Not written as one text: it would be taken for a secret of this repository.
const key = ['sk', 'live', 'a2W6QzKvEp7j1d5Y9T3NxHsB'].join('_');
const secrets = { 'gateway.secrets': { redact: true } };
const pii = { 'gateway.pii': { categories: ['EMAIL_ADDRESS', 'CREDIT_CARD'], redact: true } };
const replace = (rule: string, redactText = '#'): object => ({
  'default.regexReplace': { rule, redactText },
});

interface Case {
  readonly about: string;
  readonly guardrails: readonly object[];
  readonly text: string;
  readonly out: string;
}

const cases: readonly Case[] = [
  {
    about: 'a value within that of a later check',
    guardrails: [{ ...replace('QzKv'), ...secrets }],
    text: `use ${key} now`,
    out: 'use {{STRIPE_KEY_1}} now',
  },
  {
    about: 'a value that begins in that of an earlier check',
    guardrails: [{ ...replace('use sk_live'), ...secrets }],
    text: `please use ${key} now`,
    out: 'please {{STRIPE_KEY_1}} now',
  },
  {
    about: 'a value that ends in that of a later guardrail',
    guardrails: [replace('NxHsB and all the rest of that text'), secrets],
    text: `use ${key} and all the rest of that text`,
    out: 'use #',
  },
  {
    about: 'two of as many characters, with the placeholder of the first',
    guardrails: [replace('abcd', '[first]'), { ...replace('cdef', '[second]') }],
    text: 'x abcdef x',
    out: 'x [first] x',
  },
  {
    about: 'a chain of values',
    guardrails: [replace('abc', '1'), replace('cde', '2'), replace('efghi', '3')],
    text: 'abcdefghi abc',
    out: '3 1',
  },
  {
    about: 'values that only touch, each by itself',
    guardrails: [replace('abc', '1'), replace('def', '2')],
    text: 'abcdef def',
    out: '12 2',
  },
  {
    about: 'an address whose name is a key',
    guardrails: [pii, secrets],
    text: `write to ${key}@mail.example.org today`,
    out: 'write to {{EMAIL_ADDRESS_1}} today',
  },
];

describe('values of several checks that overlap', () => {
  let gateway: InjectedGateway;
  let answer: readonly string[] = [];
  before(async () => {
    gateway = await openInjected({
      providers: { openai: { provider: 'openai', credential: 'the-key-of-the-provider' } },
      answer: ({ url, body }) => {
        if (url.hostname === 'hook.example.com') return { body: '{"verdict":true}' };
        if (body.includes('"stream":true'))
          return { contentType: 'text/event-stream', body: providerStreams['openai']!(answer) };
        const choices = [
          { index: 0, message: { role: 'assistant', content: answer.join('') }, finish_reason: 'stop' },
        ];
        return { body: JSON.stringify({ id: 'c', object: 'chat.completion', choices }) };
      },
    });
  });
  after(() => gateway.close());

  const ask = async (
    config: object,
    messages: object[] = [{ role: 'user', content: 'hi' }],
    stream = false,
  ) => {
    const response = await gateway.inject('/v1/chat/completions', {
      config: { provider: '@openai', ...config },
      body: { model: 'gpt-4o-mini', messages, ...(stream ? { stream } : {}) },
    });
    return { status: response.status, text: await response.text() };
  };
  const said = (events: string): string =>
    [...events.matchAll(/"content":("(?:[^"\\]|\\.)*")/g)].map(([, one]) => JSON.parse(one!)).join('');

  for (const { about, guardrails, text, out } of cases) {
    it(`are replaced together: ${about}`, async () => {
      answer = [text];
      await ask({ input_guardrails: guardrails }, [
        { role: 'user', content: text },
        { role: 'user', content: text },
      ]);
      const { messages } = JSON.parse(gateway.calls.at(-1)!.body);
      expect(messages.map(({ content }: { content: string }) => content)).to.deep.equal([out, out]);
      const whole = await ask({ output_guardrails: guardrails });
      expect(JSON.parse(whole.text).choices[0].message.content).to.equal(out);
      const incremental = guardrails.map((one) => ({ ...one, stream: 'incremental' }));
      for (let at = 0; at <= text.length; at += 2) {
        answer = [text.slice(0, at), text.slice(at)];
        expect(
          said((await ask({ output_guardrails: incremental }, undefined, true)).text),
          `split at ${at}`,
        ).to.equal(out);
      }
    });
  }

  it('are found again after a service was called in between', async () => {
    const hook = { 'default.webhook': { webhookURL: 'https://hook.example.com/' } };
    await ask({ input_guardrails: [{ ...replace('QzKv'), ...hook, ...secrets }] }, [
      { role: 'user', content: `use ${key} now` },
    ]);
    expect(JSON.parse(gateway.calls.at(-1)!.body).messages[0].content).to.equal('use {{STRIPE_KEY_1}} now');
  });

  it('are found in the text as earlier checks have changed it', async () => {
    const guardrails = [replace('a+', 'b'), replace('b', 'c'), replace('(c)-', '$1')];
    await ask({ input_guardrails: guardrails }, [{ role: 'user', content: 'aa-b' }]);
    expect(JSON.parse(gateway.calls.at(-1)!.body).messages[0].content).to.equal('cc');
  });

  it('keep nothing that a replacement quotes of them', async () => {
    await ask({ input_guardrails: [replace('(sk_live_a2W6)Qz', '$1-'), secrets] }, [
      { role: 'user', content: `use ${key} now` },
    ]);
    expect(JSON.parse(gateway.calls.at(-1)!.body).messages[0].content).to.equal('use {{STRIPE_KEY_1}} now');
  });

  it('do not pass where one that only judges was replaced in part', async () => {
    const guardrail = { ...replace('QzKv'), 'gateway.secrets': {}, deny: true };
    const { status } = await ask({ input_guardrails: [guardrail] }, [
      { role: 'user', content: `use ${key} now` },
    ]);
    expect(status).to.equal(446);
    answer = [`use ${key.slice(0, 20)}`, `${key.slice(20)} now`];
    const { text } = await ask(
      { output_guardrails: [{ ...guardrail, stream: 'incremental' }] },
      undefined,
      true,
    );
    expect(text).to.include('did not pass').and.not.include('a2W6');
  });

  it('pass where one that only judges was replaced whole', async () => {
    const guardrail = { ...secrets, 'gateway.pii': { categories: ['EMAIL_ADDRESS'] }, deny: true };
    const text = 'see https://ann:pw9xk2Lm@db.example.org/x';
    const { status } = await ask({ input_guardrails: [guardrail] }, [{ role: 'user', content: text }]);
    expect(status).to.equal(200);
  });

  it('are not sent to services of guardrails in the background', async () => {
    const beside = { async: true, 'default.webhook': { webhookURL: 'https://hook.example.com/' } };
    const from = gateway.calls.length;
    await ask({ input_guardrails: [beside, secrets] }, [{ role: 'user', content: `use ${key} now` }]);
    const asked = () => gateway.calls.slice(from).find(({ url }) => url.hostname === 'hook.example.com');
    await soon('the service is asked', () => asked() !== undefined);
    expect(asked()!.body).to.include('use {{STRIPE_KEY_1}} now').and.not.include('a2W6');
  });
});
