import { expect } from 'chai';
import fc from 'fast-check';
import { GatewayError } from '../../src/common/core/errors.js';
import type { JsonObject } from '../../src/common/core/exchange.js';
import { parseJson, stringifyJson } from '../../src/common/json/json.js';
import {
  geminiBatchEmbedContents,
  vertexPredictEmbeddings,
} from '../../src/data-plane/providers/formats/gemini-embeddings.js';
import { geminiGenerateContent } from '../../src/data-plane/providers/formats/gemini-generate-content.js';
import { InnerJson } from '../../src/data-plane/providers/inner-json.js';
import type { CanonicalChunk, ConversionContext } from '../../src/data-plane/providers/provider.js';
import { SseReader } from '../../src/data-plane/providers/streams/sse.js';
import { type SimulatedProvider, startSimulated } from '../../src/simulated/index.js';
import { examples } from '../support/long-forms.js';

const context: ConversionContext = { provider: 'google', strict: true, includeUsage: true };

/** Whatever is thrown but a GatewayError is a mistake of ours. */
function onlyRefuses(convert: () => unknown): void {
  try {
    convert();
  } catch (error) {
    if (!(error instanceof GatewayError)) throw error;
  }
}

const fields = [
  ...['messages', 'role', 'content', 'type', 'text', 'tool_calls', 'function', 'name', 'arguments', 'id'],
  ...['tool_call_id', 'image_url', 'url', 'file', 'file_data', 'tools', 'tool_choice', 'response_format'],
  ...['json_schema', 'schema', 'stop', 'thinking', 'budget_tokens', 'reasoning_effort', 'content_blocks'],
  ...['functions', 'function_call', 'parameters', 'allowed_tools', 'extra_content', 'google', 'input'],
  ...['properties', 'items', 'anyOf', '$ref', '$defs', 'const', 'generation_config', 'thinking_config'],
  ...['candidates', 'parts', 'functionCall', 'args', 'inlineData', 'mimeType', 'data', 'finishReason'],
  ...['index', 'usageMetadata', 'promptTokenCount', 'promptFeedback', 'blockReason', 'error', 'responseId'],
  ...['logprobsResult', 'chosenCandidates', 'topCandidates', 'thought', 'embeddings', 'values', 'audio'],
  ...['modalities', 'safety_settings', '__proto__', 'constructor'],
] as const;
const words = fc.constantFrom(
  ...['user', 'assistant', 'tool', 'system', 'text', 'function', 'image_url', 'file', 'json_schema'],
  ...['enabled', 'high', 'data:', 'data:image/png;base64,AA', 'https://x', '{}', '{"a":1', 'audio/L16'],
  ...['#/$defs/a', 'null', 'required', 'google_search', 'STOP', 'AUDIO', ''],
);
const { value: anyValue } = fc.letrec<{ value: unknown }>((tie) => ({
  value: fc.oneof(
    { maxDepth: 6, withCrossShrink: true },
    fc.oneof(words, fc.constantFrom(null, true, 0, -1, 1e308, 2048)),
    fc.array(tie('value'), { maxLength: 4 }),
    fc.array(fc.tuple(fc.constantFrom(...fields), tie('value')), { maxLength: 6 }).map((entries) => {
      // As a parser makes it: `__proto__` is a key like another.
      const text = entries.map(([key, value]) => `${JSON.stringify(key)}:${JSON.stringify(value)}`).join(',');
      return JSON.parse(`{${text}}`) as unknown;
    }),
  ),
}));
const anyObject = fc.dictionary(fc.constantFrom(...fields), anyValue, { noNullPrototype: true });
const anyModel = fc.constantFrom('gemini-1.5-pro', 'gemini-2.5-flash', 'gemini-3-pro-preview', 'x');

describe('The Gemini format', () => {
  it('refuses with a GatewayError or converts, whatever the request', () => {
    fc.assert(
      fc.property(
        anyObject,
        fc.array(anyObject, { minLength: 1, maxLength: 3 }),
        anyModel,
        (request, messages, model) => {
          onlyRefuses(() => geminiGenerateContent.toWire({ ...request, model, messages }, new InnerJson()));
          onlyRefuses(() => geminiGenerateContent.toWire(request, new InnerJson()));
          onlyRefuses(() => geminiBatchEmbedContents.toWire(request, new InnerJson()));
          onlyRefuses(() => vertexPredictEmbeddings.toWire(request, new InnerJson()));
        },
      ),
      { numRuns: examples(2000) },
    );
  });

  it('refuses with a GatewayError or converts, whatever the answer and the events', () => {
    const request = { model: 'm', input: 'a' };
    fc.assert(
      fc.property(
        anyObject,
        fc.array(anyObject, { maxLength: 4 }),
        fc.boolean(),
        (body, candidates, strict) => {
          const how = { ...context, strict };
          onlyRefuses(() => geminiGenerateContent.fromWire({ ...body, candidates }, how));
          onlyRefuses(() => geminiGenerateContent.usage(body));
          onlyRefuses(() => geminiGenerateContent.errorFromWire(400, body, how));
          for (const format of [geminiBatchEmbedContents, vertexPredictEmbeddings]) {
            onlyRefuses(() => format.fromWire({ ...body, predictions: candidates }, { ...how, request }));
            onlyRefuses(() => format.usage(body));
          }
          const stream = geminiGenerateContent.stream(how);
          onlyRefuses(() => stream.event('', JSON.stringify({ ...body, candidates })));
          onlyRefuses(() => stream.event('', JSON.stringify(body)));
          onlyRefuses(() => stream.end?.());
          expect(stream.usage.input).to.be.at.least(0);
        },
      ),
      { numRuns: examples(1000) },
    );
  });

  it('leaves nothing out in silence: each documented field changes what is sent, or is named as dropped', () => {
    const full: JsonObject = {
      model: 'gemini-2.5-flash',
      messages: [{ role: 'user', content: 'Hi' }],
      audio: { voice: 'Kore', format: 'mp3' },
      frequency_penalty: 0.1,
      logit_bias: { '1': 1 },
      logprobs: true,
      max_completion_tokens: 10,
      metadata: { a: 'b' },
      modalities: ['text', 'audio'],
      n: 2,
      parallel_tool_calls: false,
      prediction: { type: 'content', content: 'x' },
      presence_penalty: 0.1,
      prompt_cache_key: 'k',
      prompt_cache_retention: '24h',
      reasoning_effort: 'low',
      response_format: { type: 'json_object' },
      safety_identifier: 's',
      seed: 1,
      service_tier: 'flex',
      stop: ['x'],
      store: true,
      temperature: 0.1,
      tool_choice: 'required',
      tools: [{ type: 'function', function: { name: 'f' } }],
      top_logprobs: 2,
      top_p: 0.1,
      user: 'u',
      verbosity: 'low',
      web_search_options: {},
    };
    const whole = geminiGenerateContent.toWire(full, new InnerJson());
    for (const field of Object.keys(full)) {
      if (field === 'model' || field === 'messages') continue;
      const { [field]: _, ...rest } = full;
      const sent =
        stringifyJson(geminiGenerateContent.toWire(rest, new InnerJson()).body) !== stringifyJson(whole.body);
      const named = whole.dropped.some((path) => path === field || path.startsWith(`${field}.`));
      expect(sent || named, field).to.equal(true);
    }
    expect(whole.dropped).to.deep.equal([
      ...['logit_bias', 'metadata', 'prediction', 'prompt_cache_key', 'prompt_cache_retention'],
      ...['safety_identifier', 'store', 'user', 'verbosity', 'web_search_options', 'parallel_tool_calls'],
      'audio.format',
    ]);
  });

  describe('against the simulated provider', () => {
    let provider: SimulatedProvider;
    before(async () => {
      provider = await startSimulated();
    });
    after(() => provider.close());

    const post = (model: string, how: string, body: JsonObject): Promise<Response> =>
      fetch(`${provider.url}/v1beta/models/${model}:${how}`, {
        method: 'POST',
        headers: { 'x-goog-api-key': 'k', 'content-type': 'application/json' },
        body: stringifyJson(body),
      });

    const tool = {
      type: 'function',
      function: {
        name: 'look_up',
        parameters: { type: 'object', properties: { q: { type: 'string' } }, additionalProperties: false },
      },
    };
    const other = { type: 'function', function: { name: 'look_down' } };
    const schema = {
      type: 'object',
      properties: { a: { type: ['string', 'null'] } },
      additionalProperties: false,
    };
    const requests: Record<string, JsonObject> = {
      'a plain question': {},
      'with everything that OpenAI has': {
        max_completion_tokens: 50,
        temperature: 1.7,
        top_p: 0.5,
        stop: 'never',
        seed: 1,
        frequency_penalty: 1,
        user: 'u',
        stream_options: { include_usage: true },
        parallel_tool_calls: false,
        tool_choice: 'auto',
        service_tier: 'auto',
      },
      'with tools': {
        tools: [tool, other],
        messages: [{ role: 'user', content: 'look_up and look_down' }],
      },
      'with a schema': { response_format: { type: 'json_schema', json_schema: { name: 'x', schema } } },
      'with an effort': { reasoning_effort: 'medium' },
      'with its thoughts': { thinking: { type: 'enabled', budget_tokens: 2000 } },
    };

    for (const model of ['gemini-2.0-flash', 'gemini-2.5-flash', 'gemini-3-pro-preview', 'an-alias']) {
      for (const [title, extra] of Object.entries(requests)) {
        it(`${model} takes a request ${title} and answers the same, streamed or not`, async () => {
          const request = { model, messages: [{ role: 'user', content: 'Hello there' }], ...extra };
          const { body } = geminiGenerateContent.toWire(request, new InnerJson());
          const plain = await post(model, 'generateContent', body);
          expect(plain.status, await plain.clone().text()).to.equal(200);
          const how = { ...context, strict: false, canonicalReasons: true };
          const answer = parseJson(await plain.text()) as JsonObject;
          const whole = geminiGenerateContent.fromWire(answer, how) as never as Whole;
          const streamed = await post(model, 'streamGenerateContent?alt=sse', body);
          const chunks: CanonicalChunk[] = [];
          const stream = geminiGenerateContent.stream(how);
          const reader = new SseReader((name, data) => chunks.push(...stream.event(name, data)));
          reader.push(Buffer.from(await streamed.arrayBuffer()));
          reader.end();
          expect(stream.done).to.equal(true);
          chunks.push(...(stream.end?.() ?? []));
          const seen = chunks as never as Chunk[];
          const deltas = seen.flatMap((chunk) => chunk.choices.map((choice) => choice.delta));
          const { message, finish_reason } = whole.choices[0];
          expect(deltas.map((delta) => delta.content ?? '').join('')).to.equal(message.content ?? '');
          const calls = deltas.flatMap((delta) => delta.tool_calls ?? []);
          expect(calls.map((call) => call.function)).to.deep.equal(
            (message.tool_calls ?? []).map((call) => call.function),
          );
          expect(calls.map((call) => call.index)).to.deep.equal(calls.map((_, i) => i));
          expect(new Set(calls.map((call) => call.id)).size).to.equal(calls.length);
          const thinking = deltas
            .flatMap((delta) => delta.content_blocks ?? [])
            .map(({ delta }) => delta.thinking);
          expect(thinking.join('')).to.equal(message.content_blocks?.[0]?.thinking ?? '');
          expect(seen.flatMap((chunk) => chunk.choices).at(-1)?.finish_reason).to.equal(finish_reason);
          expect(seen.at(-1)?.usage).to.deep.equal(whole.usage);
          expect(new Set(seen.map((chunk) => chunk.id)).size).to.equal(1);
        });
      }
    }

    it('reads a stream in time that grows with its length alone', () => {
      const frame = JSON.stringify({
        candidates: [{ content: { role: 'model', parts: [{ text: 'word ' }] }, index: 0 }],
        usageMetadata: { promptTokenCount: 1, totalTokenCount: 1 },
        modelVersion: 'gemini-2.5-flash',
        responseId: 'r',
      });
      const timeOf = (frames: number): number => {
        const stream = geminiGenerateContent.stream(context);
        const began = performance.now();
        for (let i = 0; i < frames; i++) stream.event('', frame);
        return performance.now() - began;
      };
      timeOf(2000);
      const [short, long] = [timeOf(2000), timeOf(20_000)];
      expect(long).to.be.below(Math.max(short, 5) * 40);
    });
  });
});

interface Call {
  readonly index: number;
  readonly id: string;
  readonly function: { readonly name: string; readonly arguments: string };
}
interface Whole {
  readonly choices: readonly [
    {
      readonly message: {
        readonly content: string | null;
        readonly tool_calls?: readonly Call[];
        readonly content_blocks?: readonly { readonly thinking?: string }[];
      };
      readonly finish_reason: string;
    },
  ];
  readonly usage: unknown;
}
interface Chunk {
  readonly id: string;
  readonly choices: readonly {
    readonly delta: {
      readonly content?: string;
      readonly tool_calls?: readonly Call[];
      readonly content_blocks?: readonly { readonly delta: { readonly thinking?: string } }[];
    };
    readonly finish_reason: string | null;
  }[];
  readonly usage?: unknown;
}
