import { Broadcast } from '../../plugins/cache/answers/broadcast.js';
import type { Sink } from '../../src/common/bytes/body.js';
import { BodyRecord } from '../../src/common/bytes/body-record.js';
import { Pieces } from '../../src/common/bytes/pieces.js';
import type { Attempt, Exchange } from '../../src/common/core/exchange.js';
import { BodyWriter } from '../../src/data-plane/journal/body-writer.js';
import { Answer } from '../../src/data-plane/pipeline/answer/answer.js';
import type { Outgoing } from '../../src/data-plane/pipeline/outgoing/outgoing.js';
import type { Pipeline } from '../../src/data-plane/pipeline/parts.js';
import { askThrough } from '../../src/data-plane/providers/auth/ask.js';
import { SseReader } from '../../src/data-plane/providers/streams/sse.js';
import { StreamTail } from '../../src/data-plane/providers/streams/stream-tail.js';
import { Collector, Uploader } from '../../src/data-plane/transport/upload.js';
import type { UpstreamHandler } from '../../src/data-plane/upstream/upstream.js';

/**
 * Run with `--expose-gc`: prints, as JSON, how many bytes of memory each place keeps that collects or records what comes
 * over the network, when `argv[2]` bytes come one at a time.
 */
const total = Number(process.argv[2]);
const nothing = (): void => {};

/** Each makes one of its kind, and gives what takes a byte for it. It is kept alive by that. */
const places: Record<string, () => (byte: Buffer) => void> = {
  'a list of what came': () => {
    const list: Buffer[] = [];
    return (byte) => void list.push(byte);
  },
  pieces: () => {
    const pieces = new Pieces();
    return (byte) => pieces.add(byte);
  },
  'an answer that is collected': () => {
    const limits = { maxAnswerBytes: 2 * total };
    const pipeline = { limits, chain: { attempt: null } } as unknown as Pipeline;
    const x = { streaming: false, onAbort: () => nothing, elapsedMs: () => 0 } as unknown as Exchange;
    const target = { deadlineMs: null, requestTimeoutMs: null, fields: {}, forwardHeaders: [] };
    const address = { credential: null, headers: [], fields: null, provider: { auth: { kind: 'none' } } };
    const outgoing = {
      wire: 'openai-chat',
      conversion: null,
      address,
      call: { target },
    } as unknown as Outgoing;
    const answer = new Answer(pipeline, x, outgoing, {} as Attempt, nothing, nothing);
    answer.head(200, ['content-type', 'application/json']);
    return (byte) => void answer.data(byte);
  },
  'the record of a streamed answer': () => {
    const record = new BodyRecord(1024 * 1024);
    return (byte) => record.add(byte);
  },
  'a stream that several clients read': () => {
    let sink: Sink | null = null;
    const start = (to: Sink): void => {
      sink = to;
    };
    const source = { start, resume: nothing, cancel: nothing };
    const broadcast = new Broadcast(source, 1024 * 1024, nothing, nothing);
    // One that reads everything at once, and one that takes nothing.
    for (const takes of [true, false])
      broadcast.reader().start({ data: () => takes, end: nothing, error: nothing });
    return (byte) => void sink?.data(byte);
  },
  'the end of a stream': () => {
    const tail = new StreamTail('anthropic-messages');
    return (byte) => tail.push(byte);
  },
  'a line of server-sent events': () => {
    const reader = new SseReader(nothing);
    return (byte) => reader.push(byte);
  },
  'a collected request': () => {
    const collector = new Collector(total + 1, nothing);
    return (byte) => void collector.push(byte, false);
  },
  'an upload whose upstream is full': () => {
    const uploader = new Uploader(total + 1, { pauseBody: nothing, resumeBody: nothing });
    return (byte) => void uploader.push(byte, false);
  },
  'an answer about a credential': () => {
    let handler: UpstreamHandler | null = null;
    const upstream = {
      send(_request: unknown, given: UpstreamHandler) {
        handler = given;
        return { sent: true, resume: nothing, cancel: nothing };
      },
      close: () => Promise.resolve(),
    };
    void askThrough(upstream, { organisationId: 'o', workspaceId: 'w' })({
      method: 'GET',
      url: 'http://x',
      headers: [],
      body: null,
    });
    return (byte) => void handler?.data(byte);
  },
  'bodies that wait for the disk': () => {
    const writer = new BodyWriter({ dir: '/nonexistent', worker: '0', onProblem: nothing });
    let count = 0;
    return (byte) => {
      // With the line before them, the two bodies of a request take about so many bytes.
      if (count++ % 40 === 0) writer.add({ ...bodies, request: byte, response: byte });
    };
  },
};
const bodies = { id: 'x', at: 0, org: 'o', workspace: 'w', cut: false };

const used = (): number => {
  // Memory outside the heap is freed by the collection after the one that finds it unused.
  for (let i = 0; i < 4; i++) globalThis.gc?.();
  const { heapUsed, external } = process.memoryUsage();
  return heapUsed + external;
};

/** Of every few bytes one is kept: as on a machine with other traffic, each comes out of another slab. */
function feed(take: (byte: Buffer) => void, count: number): void {
  for (let i = 0; i < count; i++) {
    const byte = Buffer.allocUnsafe(1);
    byte[0] = 0x61;
    if (i % 64 === 0) Buffer.allocUnsafe(2_000);
    take(byte);
  }
}

const kept: unknown[] = [];
const figures: Record<string, number> = {};
for (const [name, make] of Object.entries(places)) {
  // What is compiled and set up once is not counted.
  feed(make(), 2_000);
  const take = make();
  feed(places['pieces']!(), 20_000);
  const before = used();
  feed(take, total);
  figures[name] = used() - before;
  kept.push(take);
}
console.log(JSON.stringify(figures));
process.exit(0);
