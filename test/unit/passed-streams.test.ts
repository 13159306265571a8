import { expect } from 'chai';
import { GatewayError } from '../../src/common/core/errors.js';
import { WholeEvents } from '../../src/data-plane/providers/streams/whole-events.js';
import { type Ask, type Asked, BareWorker, type Client, soon } from '../support/bare-worker.js';

const passed = (events: WholeEvents, ...chunks: string[]): (string | undefined)[] =>
  chunks.map((chunk) => events.push(Buffer.from(chunk))?.toString());

const data = (value: unknown): string => `data: ${JSON.stringify(value)}\n\n`;
const chunk = (content: string, finish: string | null = null, index = 0): string =>
  data({ model: 'gpt-4o', choices: [{ index, delta: { content }, finish_reason: finish }] });
const usage = { prompt_tokens: 3, completion_tokens: 2, total_tokens: 5 };
const done = 'data: [DONE]\n\n';

describe('whole events', () => {
  it('pass without a copy where a chunk ends with a blank line', () => {
    const events = new WholeEvents('throw');
    for (const text of ['data: a\n\n', ': ping\r\n\r\n', 'data: b\n\ndata: c\n\n', 'data: d\r\r']) {
      const bytes = Buffer.from(text);
      expect(events.push(bytes)).to.equal(bytes);
    }
  });

  it('keep the unfinished event until it is whole', () => {
    const events = new WholeEvents('throw');
    expect(passed(events, 'data: a\n\ndata: b', '', '1\n', '\n', 'data: c\n\n')).to.deep.equal([
      'data: a\n\n',
      undefined,
      undefined,
      'data: b1\n\n',
      'data: c\n\n',
    ]);
    expect(passed(events, 'x\r\n', '\r\nda')).to.deep.equal([undefined, 'x\r\n\r\n']);
    expect(events.rest()?.toString()).to.equal('da');
    expect(events.rest()).to.equal(null);
  });

  for (const end of ['\n', '\r\n', '\r']) {
    it(`come in order and entire however they are cut, with lines that end in ${JSON.stringify(end)}`, () => {
      const event = (i: number): string => `event: e${end}data: {"i":${i}}${end}${end}`;
      const all = Array.from({ length: 20 }, (_, i) => event(i)).join('');
      for (let size = 1; size < 60; size++) {
        const events = new WholeEvents('throw');
        let out = '';
        for (let at = 0; at < all.length; at += size) {
          out += events.push(Buffer.from(all.slice(at, at + size)))?.toString() ?? '';
          // A last CRLF is a line end by its CR already.
          expect(out).to.match(/^$|\}(\r\n\r\n?|\n\n|\r\r)\n?$/);
        }
        expect(out + (events.rest()?.toString() ?? '')).to.equal(all);
        expect(out.trimEnd()).to.equal(all.trimEnd());
      }
    });
  }

  it('of up to 1 MiB are held; a longer one ends the stream, in pieces and in one', () => {
    const line = (bytes: number): Buffer => Buffer.from(`data: ${'x'.repeat(bytes - 8)}\n\n`);
    for (const size of [7000, 64 * 1024, 8 * 1024 * 1024]) {
      const feed = (bytes: Buffer, events: WholeEvents): number => {
        let out = 0;
        for (let at = 0; at < bytes.length; at += size)
          out += events.push(bytes.subarray(at, at + size))?.length ?? 0;
        return out;
      };
      const mib = 1024 * 1024;
      expect(feed(line(mib), new WholeEvents('throw'))).to.equal(mib);
      expect(() => feed(line(mib + 1), new WholeEvents('throw')))
        .to.throw(GatewayError)
        .with.property('code', 'upstream_stream_error');
      const passing = new WholeEvents('pass');
      expect(feed(Buffer.concat([line(2 * mib), line(100)]), passing)).to.equal(2 * mib + 100);
      expect(passed(passing, 'data: a')).to.deep.equal([undefined]);
    }
  });
});

describe('a stream in the format of its client', () => {
  let worker: BareWorker;

  beforeEach(async () => {
    worker = await new BareWorker().start();
  });
  afterEach(() => worker.close());

  const begun = async (slug: string, how: Ask = {}): Promise<[Client, Asked]> => {
    const config = `{"provider":"@${slug}"}`;
    const [client, asked] = await worker.asking(worker.key(), { config, ...how });
    asked.handler.head(200, ['content-type', 'text/event-stream']);
    return [client, asked];
  };
  /** The whole stream that the client of a provider reads. */
  const answered = async (text: string, how: Ask = {}, slug = 'openai', broken = false): Promise<string> => {
    const [client, { handler }] = await begun(slug, how);
    // The status may take a few turns: until then it comes in small pieces.
    let left = text;
    await soon('the client reads', () => {
      const piece = left.slice(0, 40);
      left = left.slice(40);
      if (piece !== '') handler.data(Buffer.from(piece));
      return client.status !== 0;
    });
    if (left !== '') handler.data(Buffer.from(left));
    if (broken) handler.error(new GatewayError('upstream_truncated', 'The connection broke.'));
    else handler.end();
    await soon('it ends', () => client.ended);
    return client.text;
  };
  const settled = async (): Promise<string | null> => {
    await soon('it is settled', () => worker.settled.length > 0);
    return worker.settled.at(-1)!.error;
  };

  const messages: Ask = {
    path: '/v1/messages',
    body: {
      model: 'claude-sonnet-4-5',
      max_tokens: 9,
      stream: true,
      messages: [{ role: 'user', content: 'Hi' }],
    },
  };
  const responses: Ask = { path: '/v1/responses', body: { model: 'gpt-4o', stream: true, input: 'Hi' } };
  const gemini: Ask = {
    path: '/v1beta/models/gemini-2.5-flash:streamGenerateContent',
    query: 'alt=sse',
    body: { contents: [{ role: 'user', parts: [{ text: 'Hi' }] }] },
  };
  const named = (value: { type: string }): string => `event: ${value.type}\n${data(value)}`;

  it('that breaks off is counted with the prompt that the provider reported', async () => {
    const reported = { input_tokens: 10, cache_read_input_tokens: 900, cache_creation_input_tokens: 90 };
    const start = { model: 'claude-sonnet-4-5', usage: { ...reported, output_tokens: 1 } };
    const delta = { type: 'text_delta', text: 'some words came' };
    const begin = named({ type: 'message_start', message: start } as { type: string });
    const text = named({ type: 'content_block_delta', index: 0, delta } as { type: string });
    for (const how of [
      messages,
      { body: { model: 'claude-sonnet-4-5', stream: true, messages: [{ role: 'user', content: 'Hi' }] } },
    ]) {
      worker.settled.length = 0;
      await answered(begin + text, how, 'anthropic', true);
      await settled();
      const { usage } = worker.settled[0]!.attempts[0]!;
      expect(usage).to.include({ input: 1000, cached: 900, cacheWrite: 90, source: 'counted' });
    }
  });

  it('that breaks inside an event ends with the last whole one and an error event of its own', async () => {
    for (const broken of [true, false]) {
      const text = await answered(`${chunk('Hello')}data: {"choices":[{"del`, {}, 'openai', broken);
      expect(text.startsWith(`${chunk('Hello')}event: error\ndata: {"error":`)).to.equal(true, text);
      expect(text).to.include('upstream_truncated').and.not.include('{"choices":[{"del"');
      for (const line of text.match(/^data: .*$/gm) ?? []) JSON.parse(line.slice(6));
      expect(text).to.not.include('[DONE]');
    }
  });

  it('passes each event on as soon as it is whole', async () => {
    const [client, { handler }] = await begun('openai');
    handler.data(Buffer.from(chunk('one') + chunk('two').slice(0, 20)));
    await soon('the client reads', () => client.text === chunk('one'));
    handler.data(Buffer.from(chunk('two').slice(20)));
    expect(client.text).to.equal(chunk('one') + chunk('two'));
  });

  it('with an event of more than 1 MiB ends with an error event', async () => {
    const [client, { handler }] = await begun('openai');
    handler.data(Buffer.from(chunk('one')));
    await soon('the client reads', () => client.text !== '');
    const piece = Buffer.alloc(64 * 1024, 'x');
    for (let i = 0; i < 17; i++) handler.data(piece);
    await soon('it ends', () => client.ended);
    expect(client.text).to.match(/^data: .*\n\nevent: error\ndata: .*upstream_stream_error.*\n\n$/);
    expect(await settled()).to.equal('upstream_stream_error');
  });

  it('that ended after the finish_reason of every choice is whole: [DONE] is added', async () => {
    const last = data({ model: 'gpt-4o', choices: [], usage });
    const text = chunk('a') + chunk('b', null, 1) + chunk('', 'stop') + chunk('', 'length', 1) + last;
    expect(await answered(text)).to.equal(text + done);
    expect(await settled()).to.equal(null);
    expect(worker.settled[0]?.attempts[0]?.usage).to.include({ input: 3, output: 2 });
  });

  it('that came with [DONE] is not changed', async () => {
    const text = chunk('a') + chunk('', 'stop') + done;
    expect(await answered(text)).to.equal(text);
    expect(await answered(text.trimEnd())).to.equal(text);
  });

  it('is truncated where a choice has no finish_reason, or where its last event is cut', async () => {
    for (const text of [
      chunk('a'),
      chunk('', 'stop') + chunk('b', null, 1),
      `${chunk('', 'stop')}data: {"us`,
    ])
      expect(await answered(text))
        .to.include('upstream_truncated')
        .and.not.include('[DONE]');
  });

  it('of Anthropic is whole with its stop_reason: message_stop is added', async () => {
    const start = named({
      type: 'message_start',
      message: { model: 'claude', usage: { input_tokens: 3 } },
    } as {
      type: string;
    });
    const delta = (stop_reason: string | null): string =>
      named({ type: 'message_delta', delta: { stop_reason }, usage: { output_tokens: 2 } } as {
        type: string;
      });
    const stop = named({ type: 'message_stop' });
    expect(await answered(start + delta('end_turn'), messages, 'anthropic')).to.equal(
      start + delta('end_turn') + stop,
    );
    expect(await answered(start + delta('end_turn') + stop, messages, 'anthropic')).to.equal(
      start + delta('end_turn') + stop,
    );
    const broken = await answered(start + delta(null), messages, 'anthropic');
    expect(broken).to.include('event: error\ndata: {"type":"error"').and.not.include('message_stop');
  });

  it('of the Responses API is whole with its last event, and of Gemini with a finishReason', async () => {
    const completed = named({ type: 'response.completed', response: { model: 'gpt-4o', usage: {} } } as {
      type: string;
    });
    expect(await answered(completed, responses)).to.equal(completed);
    const created = named({ type: 'response.created', response: { model: 'gpt-4o' } } as { type: string });
    expect(await answered(created, responses)).to.include('upstream_truncated');
    const part = (finishReason?: string): string =>
      data({ candidates: [{ content: { parts: [{ text: 'a' }] }, finishReason }] });
    expect(await answered(part('STOP'), gemini, 'google')).to.equal(part('STOP'));
    expect(await answered(part(), gemini, 'google')).to.include('"error"');
  });

  it("has no second error event after a provider's own", async () => {
    const error = { code: 'server_error', message: 'Provider disconnected' };
    const openRouter = data({
      id: 'gen-1',
      error,
      choices: [{ index: 0, delta: { content: '' }, finish_reason: 'error' }],
    });
    for (const broken of [false, true]) {
      worker.settled.length = 0;
      const text = chunk('a') + openRouter;
      expect(await answered(text, {}, 'openrouter', broken)).to.equal(text);
      expect(await settled()).to.equal(broken ? 'upstream_truncated' : 'upstream_stream_error');
    }
    const anthropic = named({ type: 'error', error: { type: 'overloaded_error', message: 'Overloaded' } } as {
      type: string;
    });
    const start = named({ type: 'message_start', message: { model: 'claude' } } as { type: string });
    expect(await answered(start + anthropic, messages, 'anthropic')).to.equal(start + anthropic);
    const inWords = `event: error\ndata: {"message":"Out of memory"}\n\n`;
    expect(await answered(chunk('a') + inWords)).to.equal(chunk('a') + inWords);
    const cut = await answered(chunk('a') + openRouter.trimEnd(), {}, 'openrouter');
    expect(cut.match(/"error"/g)).to.have.lengthOf(1);
  });

  it('is whole without [DONE] for a client of another format too', async () => {
    const text = await answered(chunk('a') + chunk('', 'stop'), messages);
    expect(text).to.include('message_stop').and.not.include('event: error');
    const broken = await answered(chunk('a'), messages);
    expect(broken).to.include('event: error').and.not.include('message_stop');
  });

  it('of Anthropic is whole without message_stop for a client of another format too', async () => {
    const event = (type: string, more: object): string => `event: ${type}\n${data({ type, ...more })}`;
    const start = event('message_start', { message: { model: 'claude', usage: { input_tokens: 3 } } });
    const delta = event('message_delta', { delta: { stop_reason: 'end_turn' }, usage: { output_tokens: 2 } });
    const body = { model: 'claude', stream: true, messages: [{ role: 'user', content: 'Hi' }] };
    for (const end of ['', event('message_stop', {})]) {
      const plain = await answered(start + delta + end, { body }, 'anthropic');
      expect(plain)
        .to.match(/data: \[DONE\]\n\n$/)
        .and.not.include('event: error');
      const asked = { ...body, stream_options: { include_usage: true } };
      const counted = await answered(start + delta + end, { body: asked }, 'anthropic');
      expect(counted.match(/"completion_tokens":2/g), counted).to.have.lengthOf(1);
    }
    expect(await answered(start, { body }, 'anthropic')).to.include('upstream_truncated');
  });

  it('that breaks inside an event is truncated for a client of another format too', async () => {
    for (const half of ['data: {"id":"c1","cho', 'data: [DO']) {
      const text = await answered(chunk('a') + half, messages);
      expect(text).to.include('ended its stream before its end').and.not.include('message_stop');
    }
    const whole = await answered(chunk('a') + chunk('', 'stop').trimEnd(), messages);
    expect(whole).to.include('message_stop').and.not.include('event: error');
    const failed = await answered(`${chunk('a')}data: {"error":{"message":"Boom"}}`, messages);
    expect(failed).to.include('Boom').and.not.include('ended its stream');
  });
});
