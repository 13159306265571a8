import { EventStreamCodec } from '@smithy/core/event-streams';
import { clientFormats } from '../src/data-plane/providers/client-formats/index.js';
import { bedrockConverse } from '../src/data-plane/providers/formats/bedrock-converse.js';
import { eventStream } from '../src/data-plane/providers/streams/framing.js';

/**
 * What a streamed chunk of Bedrock costs from the provider's bytes to the client's: frame, event, canonical chunk, text
 * of a server-sent event. `node dist/bench/bedrock-stream.js [events]`; 15 µs a chunk is the most it may be.
 */
const events = Number(process.argv[2] ?? 20_000);
const codec = new EventStreamCodec(
  (bytes) => Buffer.from(bytes).toString('utf8'),
  (text) => Buffer.from(text),
);

function frame(name: string, payload: unknown): Buffer {
  const text = (value: string) => ({ type: 'string', value }) as const;
  const headers = {
    ':event-type': text(name),
    ':content-type': text('application/json'),
    ':message-type': text('event'),
  };
  return Buffer.from(codec.encode({ headers, body: Buffer.from(JSON.stringify(payload)) }));
}

const p = 'abcdefghijklmnopqrstuvwxyz';
const deltas = Array.from({ length: events }, (_, i) =>
  frame('contentBlockDelta', { contentBlockIndex: 0, delta: { text: ` word ${i}` }, p: p.slice(0, i % 26) }),
);
const bytes = Buffer.concat([
  frame('messageStart', { role: 'assistant', p }),
  ...deltas,
  frame('contentBlockStop', { contentBlockIndex: 0, p }),
  frame('messageStop', { stopReason: 'end_turn', p }),
  frame('metadata', { usage: { inputTokens: 1, outputTokens: events, totalTokens: events + 1 } }),
]);

/** CPU microseconds a chunk, the stream arriving in pieces of so many bytes. */
function run(piece: number): number {
  const context = { provider: 'bedrock', strict: true, includeUsage: true, model: 'm', headers: [] };
  const reader = bedrockConverse.stream(context);
  const asked = { model: 'm', stream: true };
  const writer = clientFormats.get('openai-chat')?.streamWriter({ requestId: 'r', asked, body: {} });
  if (writer === undefined) throw new Error('there is no client format for chat');
  let out = '';
  const from = process.cpuUsage();
  const frames = eventStream.reader((name, data) => {
    for (const chunk of reader.event(name, data)) out += writer.chunk(chunk);
  });
  for (let at = 0; at < bytes.length; at += piece) {
    frames.push(bytes.subarray(at, at + piece));
    if (out !== '') Buffer.from(out);
    out = '';
  }
  const { user, system } = process.cpuUsage(from);
  if (!reader.done) throw new Error('the stream did not end');
  return (user + system) / events;
}

run(1460);
for (const piece of [100, 1460, 16_384]) {
  const best = Math.min(...Array.from({ length: 5 }, () => run(piece)));
  console.log(`pieces of ${piece} bytes: ${best.toFixed(2)} µs of CPU a chunk`);
}
