import { request as httpRequest } from 'node:http';
import Anthropic from '@anthropic-ai/sdk';
import { expect } from 'chai';
import OpenAI from 'openai';
import {
  countMessages,
  countTokens,
  faults,
  type SimulatedProvider,
  startSimulated,
} from '../../src/simulated/index.js';

describe('The simulated provider', () => {
  let provider: SimulatedProvider;
  let openai: OpenAI;
  let anthropic: Anthropic;

  before(async () => {
    provider = await startSimulated({ record: true });
    openai = new OpenAI({ apiKey: 'k', baseURL: `${provider.url}/v1`, maxRetries: 0 });
    anthropic = new Anthropic({ apiKey: 'k', baseURL: provider.url, maxRetries: 0 });
  });
  afterEach(() => provider.reset());
  after(() => provider.close());

  const hello = [{ role: 'user' as const, content: 'Hello there' }];
  const tool = {
    type: 'function' as const,
    function: {
      name: 'get_weather',
      parameters: { type: 'object', properties: { city: { type: 'string' }, days: { type: 'integer' } } },
    },
  };

  describe("in OpenAI's dialect", () => {
    it('answers a chat from the request, with usage a test can work out', async () => {
      const reply = await openai.chat.completions.create({ model: 'gpt-4o-mini', messages: hello });
      expect(reply.choices[0]?.message.content).to.equal('You said: Hello there');
      expect(reply.usage?.prompt_tokens).to.equal(countMessages(hello));
      expect(reply.usage?.completion_tokens).to.equal(countTokens('You said: Hello there'));
    });

    it('streams the same text, and its usage when asked', async () => {
      const stream = await openai.chat.completions.create({
        model: 'gpt-4o-mini',
        messages: hello,
        stream: true,
        stream_options: { include_usage: true },
      });
      let text = '';
      let usage = 0;
      for await (const chunk of stream) {
        text += chunk.choices[0]?.delta.content ?? '';
        usage = chunk.usage?.total_tokens ?? usage;
      }
      expect(text).to.equal('You said: Hello there');
      expect(usage).to.equal(countMessages(hello) + countTokens(text));
    });

    it('calls a tool that is demanded, streamed and not', async () => {
      const asked = { model: 'gpt-4o', messages: hello, tools: [tool], tool_choice: 'required' as const };
      const reply = await openai.chat.completions.create(asked);
      const call = reply.choices[0]?.message.tool_calls?.[0];
      expect(reply.choices[0]?.finish_reason).to.equal('tool_calls');
      if (call?.type !== 'function') throw new Error('no function call came');
      expect(JSON.parse(call.function.arguments)).to.deep.equal({ city: 'Hello there', days: 7 });
      let json = '';
      for await (const chunk of await openai.chat.completions.create({ ...asked, stream: true })) {
        json += chunk.choices[0]?.delta.tool_calls?.[0]?.function?.arguments ?? '';
      }
      expect(json).to.equal(call.function.arguments);
    });

    it('gives an object in JSON mode', async () => {
      const reply = await openai.chat.completions.create({
        model: 'gpt-4o',
        messages: hello,
        response_format: { type: 'json_object' },
      });
      expect(JSON.parse(reply.choices[0]?.message.content ?? '')).to.deep.equal({
        answer: 'You said: Hello there',
      });
    });

    it('stops at max_tokens and reports it', async () => {
      const reply = await openai.chat.completions.create({
        model: 'gpt-4o',
        messages: hello,
        max_completion_tokens: 2,
      });
      expect(reply.choices[0]?.finish_reason).to.equal('length');
      expect(reply.usage?.completion_tokens).to.equal(2);
    });

    it('gives the same embedding as floats and as base64', async () => {
      const asked = { model: 'text-embedding-3-small', input: ['a', 'b'], dimensions: 8 };
      const floats = await openai.embeddings.create({ ...asked, encoding_format: 'float' });
      // The SDK asks for base64 unless told otherwise and decodes it itself.
      const decoded = await openai.embeddings.create(asked);
      expect(floats.data).to.have.length(2);
      expect(floats.data[0]?.embedding).to.have.length(8);
      expect(Array.from(decoded.data[1]?.embedding ?? [])).to.deep.equal(floats.data[1]?.embedding);
    });

    it('completes text, moderates and lists models', async () => {
      const text = await openai.completions.create({ model: 'gpt-3.5-turbo-instruct', prompt: 'abc' });
      expect(text.choices[0]?.text).to.equal(' You said: abc');
      const verdict = await openai.moderations.create({ input: 'some violence here' });
      expect(verdict.results[0]?.flagged).to.equal(true);
      expect(verdict.results[0]?.categories.violence).to.equal(true);
      expect((await openai.models.list()).data.map((model) => model.id)).to.include('gpt-4o-mini');
    });

    it('refuses a missing key as OpenAI does', async () => {
      const answer = await fetch(`${provider.url}/v1/chat/completions`, { method: 'POST', body: '{}' });
      const body = (await answer.json()) as { error: { type: string; code: null } };
      expect(answer.status).to.equal(401);
      expect(body.error).to.include({ type: 'invalid_request_error', code: null });
    });
  });

  describe("in Anthropic's dialect", () => {
    it('answers a message, plain and streamed alike', async () => {
      const asked = { model: 'claude-opus-5-5', max_tokens: 100, messages: hello };
      const reply = await anthropic.messages.create(asked);
      expect(reply.content).to.deep.equal([{ type: 'text', text: 'You said: Hello there' }]);
      const streamed = await anthropic.messages.stream(asked).finalMessage();
      expect(streamed.content).to.deep.equal(reply.content);
      expect(streamed.usage.input_tokens).to.equal(countMessages(hello));
      expect(streamed.usage.output_tokens).to.equal(reply.usage.output_tokens);
    });

    it('uses a tool and thinks first on request', async () => {
      const asked = {
        model: 'claude-opus-5-5',
        max_tokens: 100,
        messages: [{ role: 'user' as const, content: 'get_weather please' }],
        thinking: { type: 'adaptive' as const },
        tools: [
          {
            name: 'get_weather',
            input_schema: { type: 'object' as const, properties: { city: { type: 'string' } } },
          },
        ],
      };
      const streamed = await anthropic.messages.stream(asked).finalMessage();
      expect(streamed.stop_reason).to.equal('tool_use');
      expect(streamed.content.map((block) => block.type)).to.deep.equal(['thinking', 'tool_use']);
      expect(streamed.content[1]).to.deep.include({
        name: 'get_weather',
        input: { city: 'get_weather please' },
      });
    });

    it('counts tokens', async () => {
      const counted = await anthropic.messages.countTokens({ model: 'claude-opus-5-5', messages: hello });
      expect(counted.input_tokens).to.equal(countMessages(hello));
    });

    it('refuses what the real one refuses, in its shape', async () => {
      const ask = async (
        headers: Record<string, string>,
        body: unknown,
      ): Promise<{ status: number; type: string; message: string }> => {
        const answer = await fetch(`${provider.url}/v1/messages`, {
          method: 'POST',
          headers,
          body: JSON.stringify(body),
        });
        const { error } = (await answer.json()) as { error: { type: string; message: string } };
        return { status: answer.status, ...error };
      };
      const good = { 'x-api-key': 'k', 'anthropic-version': '2023-06-01' };
      const body = { model: 'm', max_tokens: 5, messages: hello };
      expect(await ask({}, body)).to.include({ status: 401, type: 'authentication_error' });
      expect(await ask({ 'x-api-key': 'k' }, body)).to.include({
        status: 400,
        message: 'anthropic-version: header is required',
      });
      expect(await ask(good, { ...body, max_tokens: undefined })).to.include({
        message: 'max_tokens: Field required',
      });
      expect(await ask(good, { ...body, temperature: 1.5 })).to.include({
        message: 'temperature: range: 0..1',
      });
      expect(
        await ask({ ...good, 'anthropic-version': '2026-10-21' }, { ...body, temperature: 1 }),
      ).to.include({ status: 400 });
      expect(await ask(good, { ...body, stop: 'x' })).to.include({
        message: 'stop: Extra inputs are not permitted',
      });
    });
  });

  it('gives an account of an upload to any other path', async () => {
    const answer = await fetch(`${provider.url}/v1/files?purpose=batch`, {
      method: 'PUT',
      headers: { authorization: 'Bearer k', 'content-type': 'application/octet-stream' },
      body: Buffer.alloc(100_000, 'x'),
    });
    expect(await answer.json()).to.include({
      object: 'echo',
      method: 'PUT',
      path: '/v1/files',
      query: '?purpose=batch',
      bytes: 100_000,
    });
  });

  it('has no path outside of /v1/, as the real one: a base URL without it is an error', async () => {
    for (const path of ['/chat/completions', '/v1', '/', '/v2/models']) {
      const answer = await fetch(`${provider.url}${path}`, {
        method: 'POST',
        headers: { authorization: 'Bearer k', 'content-type': 'application/json' },
        body: '{"model":"gpt-4o-mini","messages":[]}',
      });
      expect(answer.status).to.equal(404);
      expect(await answer.json()).to.deep.equal({
        error: {
          message: `Invalid URL (POST ${path})`,
          type: 'invalid_request_error',
          param: null,
          code: null,
        },
      });
    }
  });

  it('records what came: bytes, headers and nonce', async () => {
    await fetch(`${provider.url}/v1/things`, {
      method: 'POST',
      headers: { authorization: 'Bearer k', 'X-Thing': '1' },
      body: 'nonce:abc-1',
    });
    const [seen] = provider.requests;
    expect(seen).to.include({ method: 'POST', path: '/v1/things', nonce: 'abc-1', aborted: false });
    expect(seen?.headers['x-thing']).to.equal('1');
    expect(seen?.body.toString()).to.equal('nonce:abc-1');
  });

  it('survives paths that do not decode and bodies that are no JSON', async () => {
    const headers = { authorization: 'Bearer k' };
    expect((await fetch(`${provider.url}/v1/models/%ff`, { headers })).status).to.equal(500);
    expect(
      (await fetch(`${provider.url}/v1/embeddings`, { method: 'POST', headers, body: '[' })).status,
    ).to.equal(400);
    expect((await fetch(`${provider.url}/v1/models`, { headers })).status).to.equal(200);
  });

  describe('failing on demand', () => {
    /** What a client gets: head, bytes, and how the connection ended. */
    const ask = (
      spec: string,
      stream: boolean,
      waitMs = 1000,
    ): Promise<{ status: number; text: string; end: string; headers: Record<string, unknown> }> =>
      new Promise((resolve) => {
        const result = { status: 0, text: '', end: 'waiting', headers: {} as Record<string, unknown> };
        const sent = httpRequest(
          `${provider.url}/v1/chat/completions`,
          { method: 'POST', headers: { authorization: 'Bearer k', 'x-simulate': spec }, agent: false },
          (answer) => {
            result.status = answer.statusCode ?? 0;
            result.headers = answer.headers;
            answer.on('data', (chunk) => {
              result.text += chunk;
            });
            answer.on('error', () => finish('broken'));
            answer.on('end', () => finish('clean'));
          },
        );
        const finish = (end: string): void => {
          result.end = end;
          clearTimeout(timer);
          sent.destroy();
          resolve(result);
        };
        const timer = setTimeout(() => finish('waiting'), waitMs);
        sent.on('error', () => finish('broken'));
        sent.end(JSON.stringify({ model: 'm', messages: hello, stream }));
      });

    it('cuts an answer whose value no header can carry, at once and after a pause, and answers the next call', async () => {
      for (const pace of ['', 'slow-head=5,']) {
        for (const fault of ['redirect=/\u0100', '429=\u0100']) {
          const answer = await fetch(`${provider.url}/v1/chat/completions`, {
            method: 'POST',
            headers: { authorization: 'Bearer k' },
            body: JSON.stringify({ model: `sim-fault:${pace}${fault}`, messages: hello }),
          }).catch(() => null);
          expect(answer?.status ?? 500).to.equal(500);
        }
      }
      expect((await ask('chunks=1', false)).status).to.equal(200);
    });

    it('breaks connections before, in and at the end of an answer', async () => {
      expect(await ask('reset-before-head', false)).to.include({ status: 0, end: 'broken' });
      expect(await ask('refuse', true)).to.include({ status: 0, end: 'broken' });
      const body = await ask('reset-mid-body', false);
      expect(body).to.include({ status: 200, end: 'broken' });
      expect(body.text).to.not.equal('');
      const stream = await ask('reset-mid-stream', true);
      expect(stream).to.include({ status: 200, end: 'broken' });
      expect(stream.text).to.contain('data: ').and.not.contain('[DONE]');
      expect(await ask('wrong-length-short', false)).to.include({ status: 200, end: 'broken' });
    });

    it('hangs and stalls until one gives up', async () => {
      expect(await ask('hang', false, 60)).to.include({ status: 0, end: 'waiting' });
      const stalled = await ask('stall-mid-stream', true, 60);
      expect(stalled).to.include({ status: 200, end: 'waiting' });
      expect(stalled.text).to.contain('data: ').and.not.contain('[DONE]');
    });

    it('ends a stream too early, or with an error of its own', async () => {
      const ended = await ask('eof-mid-stream', true);
      expect(ended.end).to.equal('clean');
      expect(ended.text).to.not.contain('[DONE]');
      const failed = await ask('error-event', true);
      expect(failed.end).to.equal('clean');
      expect(failed.text).to.contain('"error":{"message":"The server had an error').and.not.contain('[DONE]');
    });

    it('answers with statuses, Retry-After, redirects and things that are no answers', async () => {
      expect((await ask('429=2', false)).headers).to.include({ 'retry-after': '2' });
      expect((await ask('429=abc', false)).headers).to.include({ 'retry-after': 'abc' });
      expect(Date.parse(String((await ask('429=date', false)).headers['retry-after'])))
        .to.be.a('number')
        .above(Date.now() - 1000);
      expect((await ask('429', false)).headers).to.not.have.property('retry-after');
      expect(await ask('500', true)).to.include({ status: 500 });
      expect(await ask('redirect=http://127.0.0.1:1/x', false)).to.include({ status: 307 });
      expect(await ask('bad-json', false)).to.include({ status: 200, end: 'clean' });
      expect((await ask('html', false)).text).to.contain('<html>');
      expect((await ask('empty', false)).text).to.equal('');
      expect((await ask('bad-sse', true)).text).to.match(/^\{/);
      expect((await ask('huge=200000', false)).text).to.have.length.above(200_000);
    });

    it('keeps the requested pace', async () => {
      const began = performance.now();
      const paced = await ask('chunks=4,delay=15', true);
      expect(performance.now() - began).to.be.above(60);
      expect(paced.text.match(/"content":"[^"]+"/g)).to.have.length(4);
      const slow = performance.now();
      await ask('slow-first-token=50', false);
      expect(performance.now() - slow).to.be.above(45);
      const dripped = await ask('drip=0', false, 3000);
      expect(JSON.parse(dripped.text).choices[0].message.content).to.equal('You said: Hello there');
    });

    it('fails by model name, by path, and not at all once switched off', async () => {
      const byModel = await openai.chat.completions
        .create({ model: 'sim-fault:503', messages: hello })
        .catch((error) => error.status);
      expect(byModel).to.equal(503);
      provider.fault('/v1/models', '418');
      expect(
        (await fetch(`${provider.url}/v1/models`, { headers: { authorization: 'Bearer k' } })).status,
      ).to.equal(418);
      provider.fault('/v1/models', null);
      expect(
        (await fetch(`${provider.url}/v1/models`, { headers: { authorization: 'Bearer k' } })).status,
      ).to.equal(200);
    });

    it('reports an unknown fault', async () => {
      expect(() => provider.fault('*', 'explode')).to.throw('there is no fault "explode"');
      expect((await ask('explode', false)).text).to.contain('there is no fault');
      expect(faults).to.include('hang');
    });

    it('stops listening and comes back on its port', async () => {
      await provider.stopListening();
      expect(await ask('', false)).to.include({ status: 0, end: 'broken' });
      await provider.listenAgain();
      expect(await ask('', false)).to.include({ status: 200 });
    });

    it('notes a client that left', async () => {
      await ask('hang', false, 30);
      await new Promise((resolve) => setTimeout(resolve, 20));
      expect(provider.requests[0]?.aborted).to.equal(true);
    });
  });
});
