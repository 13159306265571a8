import { expect } from 'chai';
import type { BodyRecord } from '../../src/common/bytes/body-record.js';
import { GatewayError } from '../../src/common/core/errors.js';
import type { Attempt, Exchange } from '../../src/common/core/exchange.js';
import type { Settlement } from '../../src/common/ledger/record.js';
import type { TextPiece, TextResult } from '../../src/common/plugin-host/texts/text-piece.js';
import { OpenText, type TextHook } from '../../src/data-plane/pipeline/answer/texts/open-text.js';
import { passRequest } from '../../src/data-plane/pipeline/answer/texts/whole-texts.js';
import { composeChain } from '../../src/data-plane/pipeline/chain.js';
import { customStage } from '../../src/data-plane/pipeline/plugins/custom-stage.js';
import { BareWorker, soon } from '../support/bare-worker.js';
import { providerStreams, type StreamedWay, streamedWays } from '../support/streamed-texts.js';

const secret = 'sk-12345678';
const longest = secret.length;

/** Puts stars in place of the secret; holds back what may be its beginning. */
function redact({ text, canHold }: TextPiece): TextResult {
  const clean = text.replaceAll(secret, '***');
  for (let held = Math.min(longest - 1, clean.length); canHold && held > 0; held--)
    if (secret.startsWith(clean.slice(-held)))
      return { text: clean.slice(0, -held), held: clean.slice(-held) };
  return clean;
}

describe('a text hook on streams', () => {
  let worker: BareWorker;
  let key: string;
  before(async () => {
    worker = await new BareWorker().start();
    for (const provider of ['openai', 'anthropic', 'google']) worker.addProvider(provider, { provider });
    key = worker.key();
  });
  after(() => worker.close());

  const hooked = (...hooks: TextHook[]): void => {
    Object.assign(worker.pipeline.chain, { text: hooks.length === 0 ? null : hooks });
  };
  afterEach(() => hooked());

  /** What the client of a stream gets. */
  async function streamed({ slug, ask, events }: StreamedWay, pieces: readonly string[]): Promise<string> {
    const config = JSON.stringify({ provider: `@${slug}` });
    const [client, { handler, cancelled }] = await worker.asking(key, { ...ask, config });
    if (cancelled) throw new Error('given up');
    handler.head(200, ['content-type', 'text/event-stream']);
    for (const event of events(pieces)) handler.data(Buffer.from(event));
    handler.end();
    await soon('it has ended', () => client.ended);
    return client.text;
  }

  for (const way of streamedWays) {
    describe(way.name, () => {
      it('passes every event on as it came where nothing is changed', async () => {
        const pieces = ['One ', 'two', ', three.'];
        const plain = await streamed(way, pieces);
        const seen: string[] = [];
        hooked((_x, { text, last, where, role, part, index }) => {
          expect({ where, role, part, index }).to.deep.equal({
            ...{ where: 'answer', role: 'assistant', part: 'content', index: 0 },
          });
          if (text !== '') seen.push(text);
          if (last) seen.push('|');
        });
        const same = await streamed(way, pieces);
        const stable = (text: string): string =>
          text.replaceAll(/[0-9a-f]{8}-[0-9a-f-]{27}|[0-9a-f]{32}|"created(_at)?":\d+/g, '');
        expect(stable(same)).to.equal(stable(plain));
        expect(seen).to.deep.equal([...pieces, '|']);
      });

      it('catches a secret that is split at any two positions', async () => {
        hooked((_x, piece) => redact(piece));
        const text = `It is ${secret}, and so on`;
        const found = 'It is ***, and so on';
        for (let at = 6; at <= 6 + longest; at++) {
          for (const next of [at, at + 1, at + 4].filter((each) => each <= text.length)) {
            const pieces = [text.slice(0, at), text.slice(at, next), text.slice(next)].filter(
              (each) => each !== '',
            );
            const answer = await streamed(way, pieces);
            expect(way.read(answer), `at ${at} and ${next}`).to.equal(found);
            expect(answer).to.match(way.ended).and.match(way.usage).and.not.include('12345678');
          }
        }
      });

      it('gets what is held at the end in front of the closing events', async () => {
        hooked((_x, { text, canHold }) => (canHold ? { text: '', held: text } : `<${text}>`));
        const answer = await streamed(way, ['a', 'b', 'c']);
        expect(way.read(answer)).to.equal('<abc>');
        expect(answer).to.match(way.ended).and.match(way.usage);
      });
    });
  }

  const [chat] = streamedWays as [StreamedWay, ...StreamedWay[]];

  it('refuses with the error event of each format, and without the mark of a good end', async () => {
    for (const way of streamedWays) {
      hooked((_x, { text }) => {
        if (text.includes('secret')) throw new GatewayError('invalid_request', 'No secrets here.');
      });
      const config = JSON.stringify({ provider: `@${way.slug}` });
      const [client, asked] = await worker.asking(key, { ...way.ask, config });
      asked.handler.head(200, ['content-type', 'text/event-stream']);
      for (const event of way.events(['fine, ', 'a secret', ' and more']))
        asked.handler.data(Buffer.from(event));
      await soon('it has ended', () => asked.cancelled);
      expect(client.text, way.name).to.include('fine, ').and.not.include('secret"');
      expect(client.text, way.name).to.not.match(/and more|\[DONE\]|message_stop|response\.completed/);
      expect(client.text, way.name).to.include('No secrets here.');
      if (way.name.includes('array')) expect(JSON.parse(client.text).at(-1)).to.have.property('error');
      const { error } = await settled();
      expect(error).to.equal('invalid_request');
    }
  });

  const settled = async (): Promise<Settlement> => {
    await soon('it is settled', () => worker.settled.length > 0);
    return worker.settled.splice(0).at(-1)!;
  };

  it('gets what it holds back again when its time is over', async () => {
    const seen: [string, boolean][] = [];
    hooked((_x, { text, canHold }) => {
      seen.push([text, canHold]);
      return canHold ? { text: '', held: text, ms: 5 } : text.toUpperCase();
    });
    const config = '{"provider":"@openai"}';
    const [client, { handler }] = await worker.asking(key, { config });
    handler.head(200, ['content-type', 'text/event-stream']);
    const [first = '', ...rest] = providerStreams['openai']!(['a', 'b']);
    handler.data(Buffer.from(first + rest.slice(0, 2).join('')));
    await soon('what is held goes on', () => chat.read(client.text) === 'AB');
    expect(seen).to.deep.equal([
      ['a', true],
      ['ab', true],
      ['ab', false],
    ]);
    handler.data(Buffer.from(rest.slice(2).join('')));
    handler.end();
    await soon('it has ended', () => client.ended);
    expect(chat.read(client.text)).to.equal('AB');
  });

  it('is not asked again once the client has left', async () => {
    let asked = 0;
    hooked((_x, { text, canHold }) => {
      asked++;
      return canHold ? { text: '', held: text, ms: 5 } : text;
    });
    const [client, provider] = await worker.asking(key, { config: '{"provider":"@openai"}' });
    provider.handler.head(200, ['content-type', 'text/event-stream']);
    provider.handler.data(Buffer.from(providerStreams['openai']!(['a']).slice(0, 2).join('')));
    await soon('the hook has seen it', () => asked > 0);
    client.disconnect();
    const before = asked;
    await new Promise((resolve) => setTimeout(resolve, 20));
    expect([asked, provider.cancelled]).to.deep.equal([before, true]);
  });

  it('may give promises: the order of texts and events stays', async () => {
    for (const way of streamedWays) {
      let running = 0;
      hooked(async (_x, { text, last }) => {
        expect(++running).to.equal(1);
        await new Promise((resolve) => setImmediate(resolve));
        running--;
        return `${text.toUpperCase()}${last ? '!' : ''}`;
      });
      const answer = await streamed(way, ['a', 'b', 'c', 'd']);
      expect(way.read(answer), way.name).to.equal('ABCD!');
      expect(answer).to.match(way.ended).and.match(way.usage);
    }
  });

  it('refuses a request by its text, as an answer in the format of the client', async () => {
    const text: TextHook = (_x, piece) => {
      if (piece.where === 'request') throw new GatewayError('permission_denied', 'Not this one.');
    };
    const { chain } = worker.pipeline;
    const [auth, body, ...rest] = chain.request;
    const [ofText] = composeChain([{ text }], 0, passRequest).request;
    Object.assign(worker.pipeline, { chain: { ...chain, request: [auth, body, ofText, ...rest] } });
    try {
      for (const { ask, name } of streamedWays) {
        const client = worker.ask(key, { ...ask, config: '{"provider":"@openai"}' });
        await soon('it is refused', () => client.ended);
        expect(client.status, name).to.equal(403);
        expect(client.text, name).to.include('Not this one.');
      }
    } finally {
      Object.assign(worker.pipeline, { chain });
    }
  });

  it('of a plugin may return a string, a held text or nothing', () => {
    const log = { info() {}, warn() {}, error() {} };
    const x = { id: 'x', metadata: {}, request: { json: null } } as unknown as Exchange;
    const made = (answer: unknown): unknown => {
      const hooks = { text: () => answer as string };
      return customStage({ name: 'mine', hooks }, log, { ms: 1000, unlimited: null }).hooks.text!(
        x,
        {} as TextPiece,
      );
    };
    for (const right of [undefined, '', 'a', { text: 'a', held: '' }, { text: '', held: 'a', ms: 10_000 }])
      expect(made(right)).to.equal(right);
    for (const wrong of [
      null,
      1,
      [],
      {},
      { text: 'a' },
      { text: 'a', held: 'b', ms: 0 },
      { text: 'a', held: 'b', ms: 10_001 },
    ])
      expect(() => made(wrong), JSON.stringify(wrong)).to.throw(TypeError, 'It returned no text');
  });

  it('never parts the halves of a character, wherever it holds back', () => {
    const text = 'a😀b🎈';
    const found = { path: [], text: '', role: 'assistant', part: 'content', index: 0 } as const;
    for (let cut = 0; cut <= text.length; cut++) {
      const hook: TextHook = (_x, { text: given, canHold }) =>
        canHold ? { text: given.slice(0, cut), held: given.slice(cut) } : given;
      const open = new OpenText({} as Exchange, 'answer', [hook], found, 'a', true);
      const [first, rest] = [open.push(text, false).next().value, open.push('', true).next().value];
      expect(`${first}${rest}`).to.equal(text);
      expect(`${first}|${rest}`).not.to.match(/\p{Surrogate}/u);
    }
  });

  it('cannot hold back more than 16 KiB', () => {
    const hook: TextHook = (_x, { text, canHold }) => (canHold ? { text: '', held: text } : text);
    const found = { path: [], text: '', role: 'assistant', part: 'content', index: 0 } as const;
    const open = new OpenText({} as Exchange, 'answer', [hook], found, 'a', true);
    expect(open.push('x'.repeat(16 * 1024), false).next()).to.deep.equal({ done: true, value: '' });
    expect(() => open.push('x', false).next()).to.throw(RangeError, '16384 bytes');
  });

  it('runs in the order of the list, each over what the one before has made', async () => {
    hooked(
      (_x, piece) => redact(piece),
      (_x, { text }) => text.replaceAll('*', '+'),
    );
    const answer = await streamed(chat, ['a sk-123', '45678 b']);
    expect(chat.read(answer)).to.equal('a +++ b');
  });

  it('sees thinking, refusals and arguments of tools, each as a text of its own', async () => {
    const seen: Record<string, string> = {};
    hooked((_x, { id, part, text }) => {
      const name = `${part} ${id}`;
      seen[name] = (seen[name] ?? '') + text;
    });
    const delta = (given: object): string =>
      `data: ${JSON.stringify({ choices: [{ index: 0, delta: given, finish_reason: null }] })}\n\n`;
    const call = (index: number, text: string): string =>
      delta({ tool_calls: [{ index, function: { arguments: text } }] });
    const events = (): string[] => [
      delta({ reasoning_content: 'let me ' }),
      delta({ reasoning_content: 'think' }),
      delta({ content: 'yes' }),
      delta({ refusal: 'no' }),
      ...[call(0, '{"a"'), call(1, '{}'), call(0, ':1}')],
      'data: {"choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}\n\n',
      'data: [DONE]\n\n',
    ];
    await streamed({ ...chat, events }, []);
    expect(seen).to.deep.equal({
      'thinking 0/reasoning_content/': 'let me think',
      'content 0/content/': 'yes',
      'refusal 0/refusal/': 'no',
      'arguments 0/tool_calls/0/': '{"a":1}',
      'arguments 0/tool_calls/1/': '{}',
    });
  });

  it('is logged as it left, without log probabilities that would repeat the text', async () => {
    hooked((_x, piece) => redact(piece));
    const events = (): string[] => {
      const logprobs = { content: [{ token: 'sk-12345678', logprob: -1 }] };
      const choice = { index: 0, delta: { content: 'a sk-12345678' }, logprobs, finish_reason: null };
      const end = { index: 0, delta: {}, logprobs: null, finish_reason: 'stop' };
      return [choice, end]
        .map((one) => `data: ${JSON.stringify({ choices: [one] })}\n\n`)
        .concat('data: [DONE]\n\n');
    };
    const answer = await streamed({ ...chat, events }, []);
    expect(chat.read(answer)).to.equal('a ***');
    expect(answer).to.not.include('sk-');
    const { attempts } = await settled();
    expect(String(((attempts[0] as Attempt).received as BodyRecord).bytes())).to.equal(answer);
  });

  it('changes the texts of whole answers, and of requests at the place of its stage', async () => {
    const seen: string[] = [];
    const text: TextHook = (_x, { where, role, id, text: given, streamed: isStreamed, last, canHold }) => {
      expect([isStreamed, last, canHold]).to.deep.equal([false, true, false]);
      seen.push(`${where} ${role} ${id}: ${given}`);
      return given.replaceAll('secret', '***');
    };
    const made = composeChain([{ request() {} }, { text }], 0, passRequest);
    const { chain } = worker.pipeline;
    const [body, ...others] = [chain.request.slice(0, 2), chain.request.slice(2)].flat();
    Object.assign(worker.pipeline, {
      chain: {
        ...chain,
        text: made.text,
        request: [body, others[0], made.request.at(-1), ...others.slice(1)],
      },
    });
    try {
      const messages = [
        { role: 'system', content: 'a secret' },
        { role: 'user', content: [{ type: 'text', text: 'secret two' }] },
      ];
      const config = '{"provider":"@openai"}';
      const [client, { request, handler }] = await worker.asking(key, {
        config,
        body: { model: 'm', temperature: 0.1, messages },
      });
      expect(String(request.body)).to.include('a ***').and.include('*** two').and.not.include('secret');
      handler.head(200, ['content-type', 'application/json']);
      const message = { role: 'assistant', content: 'the secret' };
      handler.data(Buffer.from(JSON.stringify({ choices: [{ index: 0, message, finish_reason: 'stop' }] })));
      handler.end();
      await soon('it has ended', () => client.ended);
      expect(client.text).to.include('the ***').and.not.include('secret');
      expect(seen).to.deep.equal([
        'request system messages.0.content: a secret',
        'request user messages.1.content.0.text: secret two',
        'answer assistant choices.0.message.content: the secret',
      ]);
    } finally {
      Object.assign(worker.pipeline, { chain });
    }
  });
});
