import { expect } from 'chai';
import type { JsonObject } from '../../src/common/core/exchange.js';
import { type Ask, BareWorker, soon } from '../support/bare-worker.js';

const thought = 'Paris it is.';
const call = { id: 'call_1', type: 'function', function: { name: 'look', arguments: '{"a":1}' } };
const answer = {
  id: 'c',
  object: 'chat.completion',
  created: 1,
  model: 'm',
  choices: [
    {
      index: 0,
      message: { role: 'assistant', content: null, reasoning_content: thought, tool_calls: [call] },
      finish_reason: 'tool_calls',
    },
  ],
};
const events = [
  { ...answer, choices: [{ index: 0, delta: { reasoning_content: 'Paris ' } }] },
  { ...answer, choices: [{ index: 0, delta: { reasoning_content: 'it is.' } }] },
  { ...answer, choices: [{ index: 0, delta: { tool_calls: [{ index: 0, ...call }] } }] },
  { ...answer, choices: [{ index: 0, delta: {}, finish_reason: 'tool_calls' }] },
];
const stream = `${events.map((event) => `data: ${JSON.stringify(event)}\n\n`).join('')}data: [DONE]\n\n`;

/** How a client of a format calls for thinking, and what it sends after an answer. */
interface Dialogue {
  readonly path: (stream: boolean) => string;
  readonly first: JsonObject;
  next(answer: JsonObject): JsonObject;
  /** The answer as its client puts it together from the events of a stream; absent: not tried here. */
  joined?(events: readonly JsonObject[]): JsonObject;
}

const hi = { role: 'user', content: 'Where?' };
const thinking = { type: 'enabled', budget_tokens: 1024 };
const include = ['reasoning.encrypted_content'];
const generationConfig = { thinkingConfig: { includeThoughts: true } };
const where = { role: 'user', parts: [{ text: 'Where?' }] };

const dialogues: Readonly<Record<string, Dialogue>> = {
  Messages: {
    path: () => '/v1/messages',
    first: { model: 'm', max_tokens: 4096, thinking, messages: [hi] },
    next: ({ content }) => ({
      ...dialogues['Messages']!.first,
      messages: [
        hi,
        { role: 'assistant', content },
        { role: 'user', content: [{ type: 'tool_result', tool_use_id: 'call_1', content: 'x' }] },
      ],
    }),
  },
  Responses: {
    path: () => '/v1/responses',
    first: { model: 'm', include, input: 'Where?' },
    next: ({ output }) => ({
      model: 'm',
      include,
      input: [
        hi,
        ...(output as JsonObject[]),
        { type: 'function_call_output', call_id: 'call_1', output: 'x' },
      ],
    }),
    joined: (all) => all.at(-1)!['response'] as JsonObject,
  },
  Gemini: {
    path: (streaming) => `/v1beta/models/m:${streaming ? 'streamGenerateContent' : 'generateContent'}`,
    first: { generationConfig, contents: [where] },
    next: ({ candidates }) => ({
      generationConfig,
      contents: [
        where,
        (candidates as JsonObject[])[0]!['content'],
        { role: 'user', parts: [{ functionResponse: { name: 'look', response: { x: 1 } } }] },
      ],
    }),
    joined: (all) => {
      const contents = all.map((each) => (each['candidates'] as JsonObject[])[0]!['content'] as JsonObject);
      const parts = contents.flatMap(({ parts }) => parts);
      return { candidates: [{ content: { role: 'model', parts } }] };
    },
  },
};

describe('the thinking of an earlier answer', () => {
  let worker: BareWorker;

  before(async () => {
    worker = await new BareWorker().start();
  });
  after(() => worker.close());

  async function answered(how: Ask, provider: string): Promise<{ text: string; sent: JsonObject }> {
    const config = `{"provider":"@${provider}"}`;
    const [client, { handler, request }] = await worker.asking(worker.key(), { ...how, config });
    const streams = how.stream === true;
    handler.head(200, ['content-type', streams ? 'text/event-stream' : 'application/json']);
    handler.data(Buffer.from(streams ? stream : JSON.stringify(answer)));
    handler.end();
    await soon('it is answered', () => client.ended);
    return { text: client.text, sent: JSON.parse(String(request.body)) as JsonObject };
  }

  /** What the assistant's message is in the second request. */
  async function sentBack(format: string, provider: string, streams: boolean): Promise<JsonObject> {
    const { path, first, next, joined } = dialogues[format]!;
    const query = streams && format === 'Gemini' ? 'alt=sse' : '';
    const body = format === 'Gemini' ? first : { ...first, stream: streams };
    const { text } = await answered({ path: path(streams), query, body, stream: streams }, provider);
    const said = streams
      ? joined!([...text.matchAll(/^data: (.*)$/gm)].map(([, data]) => JSON.parse(data!) as JsonObject))
      : (JSON.parse(text) as JsonObject);
    const { sent } = await answered({ path: path(false), body: next(said), stream: false }, provider);
    const message = (sent['messages'] as JsonObject[]).find(({ role }) => role === 'assistant');
    return message!;
  }

  for (const format of Object.keys(dialogues)) {
    for (const streams of dialogues[format]!.joined === undefined ? [false] : [false, true]) {
      const how = `${format} clients${streams ? ', streamed' : ''}`;

      it(`goes back to providers that refuse tool calls without it: ${how}`, async () => {
        for (const provider of ['deepseek', 'moonshot']) {
          expect(await sentBack(format, provider, streams)).to.deep.equal({
            role: 'assistant',
            content: null,
            tool_calls: [call],
            reasoning_content: thought,
          });
        }
      });

      it(`goes to no others: ${how}`, async () => {
        for (const provider of ['mistral-ai', 'groq']) {
          expect(await sentBack(format, provider, streams)).to.not.have.property('reasoning_content');
        }
      });
    }
  }
});
