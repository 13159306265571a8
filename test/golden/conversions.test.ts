import { join } from 'node:path';
import { expect } from 'chai';
import type { Format } from '../../src/common/core/endpoint.js';
import type { JsonObject } from '../../src/common/core/exchange.js';
import { parseJson, stringifyJson } from '../../src/common/json/json.js';
import { formats, plainFormats } from '../../src/data-plane/providers/formats/index.js';
import { InnerJson } from '../../src/data-plane/providers/inner-json.js';
import type {
  CanonicalChunk,
  ChatFormat,
  ConversionContext,
  WireFormat,
} from '../../src/data-plane/providers/provider.js';
import { type Framing, serverSentEvents } from '../../src/data-plane/providers/streams/framing.js';
import { writeEvent } from '../../src/data-plane/providers/streams/sse.js';
import { awsEvent } from '../../src/simulated/aws/aws-event-stream.js';
import { frozen, type Golden, goldenCases, refusalOr } from '../support/golden.js';
import { root } from '../support/root.js';

/** A conversion, written down in `cases/<name>.json`. There is no code per case. */
interface GoldenCase extends Golden {
  readonly format: Format;
  readonly kind: 'request' | 'reply' | 'stream' | 'error';
  readonly context?: Partial<ConversionContext>;
  /** request, reply: a body. stream: `[name, data]` pairs, or the bytes as text. error: `{status, body}`. */
  readonly in: unknown;
}

describe('Conversions', () => {
  goldenCases<GoldenCase>(join(root, 'test/golden/cases'), (golden, text) => {
    const format =
      formats.get(golden.format) ??
      [...plainFormats.values()].flat().find(({ name }) => name === golden.format);
    if (format === undefined) throw new Error(`there is no format ${golden.format}`);
    return run(format, golden, text);
  });
});

function run(format: WireFormat, golden: GoldenCase, text: string): unknown {
  const context: ConversionContext = {
    provider: 'anthropic',
    strict: true,
    includeUsage: false,
    ...golden.context,
  };
  switch (golden.kind) {
    case 'request': {
      const request = frozen((parseJson(text) as { in: JsonObject }).in);
      return refusalOr(() => format.toWire(request, new InnerJson()));
    }
    case 'reply': {
      const body = frozen(golden.in as JsonObject);
      return refusalOr(() => ({
        reply: undated(format.fromWire(body, context)),
        usage: format.usage(body, context),
      }));
    }
    case 'error': {
      const { status, body } = golden.in as { status: number; body: JsonObject | null };
      return format.errorFromWire(status, frozen(body), context);
    }
    case 'stream':
      return runStream(format as ChatFormat, golden.in, context);
  }
}

/**
 * The whole at once, then byte by byte: always the same. Cut in two, at every byte, it must come to the same events, which
 * are all that a format sees of it.
 */
function runStream(format: ChatFormat, given: unknown, context: ConversionContext): unknown {
  const framing = format.framing ?? serverSentEvents;
  const bytes =
    typeof given === 'string'
      ? Buffer.from(given)
      : Buffer.concat((given as [string, unknown][]).map((event) => asEvent(framing, event)));
  const whole = readStream(format, [bytes], context);
  const events = eventsOf(framing, [bytes]);
  for (let k = 1; k < bytes.length; k++) {
    const cut = eventsOf(framing, [bytes.subarray(0, k), bytes.subarray(k)]);
    if (cut !== events) expect(cut, `cut at byte ${k}`).to.equal(events);
  }
  const single = Array.from(bytes, (_, i) => bytes.subarray(i, i + 1));
  const again = readStream(format, single, context);
  expect(stringifyJson(again), 'byte by byte').to.equal(stringifyJson(whole));
  return whole;
}

/** The events in a stream of these parts, and how it was refused, where it was; as text, to be compared. */
function eventsOf(framing: Framing, parts: readonly Buffer[]): string {
  const events: [string, unknown][] = [];
  const reader = framing.reader((name, data) => void events.push([name, data]));
  const ended = refusalOr(() => {
    for (const part of parts) reader.push(part);
    reader.end();
    return {};
  });
  return JSON.stringify([events, ended]);
}

function readStream(format: ChatFormat, parts: readonly Buffer[], context: ConversionContext): unknown {
  const chunks: CanonicalChunk[] = [];
  const stream = format.stream(context);
  const { reader: open } = format.framing ?? serverSentEvents;
  const reader = open((name, data) => {
    chunks.push(...stream.event(name, data).map(undated));
  });
  const ended = refusalOr(() => {
    for (const part of parts) reader.push(part);
    reader.end();
    if (stream.done) chunks.push(...(stream.end?.() ?? []).map(undated));
    return {};
  });
  return { chunks, done: stream.done, model: stream.model, usage: { ...stream.usage }, ...(ended as object) };
}

function asEvent(framing: Framing, [name, data]: [string, unknown]): Buffer {
  const text = typeof data === 'string' ? data : stringifyJson(data);
  return framing === serverSentEvents ? Buffer.from(writeEvent(name, text)) : awsEvent(name, text);
}

/** `created` must be now, and is written down as 0. */
function undated(object: JsonObject): JsonObject {
  if (!('created' in object)) return object;
  expect(object['created']).to.be.closeTo(Date.now() / 1000, 10);
  return { ...object, created: 0 };
}
