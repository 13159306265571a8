import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { expect } from 'chai';
import type { Format } from '../../src/core/endpoint.js';
import { GatewayError } from '../../src/core/errors.js';
import type { JsonObject } from '../../src/core/exchange.js';
import { isJsonObject, parseJson, stringifyJson } from '../../src/core/json.js';
import { formats } from '../../src/providers/formats/index.js';
import type { CanonicalChunk, ChatFormat, ConversionContext } from '../../src/providers/provider.js';
import { SseReader, writeEvent } from '../../src/providers/sse.js';

/**
 * A conversion, written down: `cases/<name>.json` says what goes in, and what must come out to the digit. There is
 * no code per case. UPDATE_GOLDEN=1 writes what comes out now into the files, for a person to read over.
 */
interface GoldenCase {
  /** A sentence: the name of the test. */
  readonly about: string;
  readonly format: Format;
  readonly kind: 'request' | 'reply' | 'stream' | 'error';
  readonly context?: Partial<ConversionContext>;
  /** request, reply: a body. stream: `[name, data]` pairs, or the bytes as text. error: `{status, body}`. */
  readonly in: unknown;
  out?: unknown;
}

const folder = new URL('./cases/', import.meta.url);
const update = process.env['UPDATE_GOLDEN'] === '1';

describe('Conversions', () => {
  for (const file of readdirSync(folder).sort()) {
    const text = readFileSync(new URL(file, folder), 'utf8');
    const golden = parseJson(text) as unknown as GoldenCase;
    it(`${file}: ${golden.about}`, () => {
      const format = formats.get(golden.format);
      if (format === undefined) throw new Error(`there is no format ${golden.format}`);
      const out = run(format, golden, text);
      if (update) {
        writeFileSync(new URL(file, folder), `${pretty({ ...golden, out }, '')}\n`);
      } else {
        expect(pretty(out, '')).to.equal(pretty(golden.out ?? null, ''));
      }
    });
  }
});

function run(format: ChatFormat, golden: GoldenCase, text: string): unknown {
  const context: ConversionContext = {
    provider: 'anthropic',
    strict: true,
    includeUsage: false,
    ...golden.context,
  };
  switch (golden.kind) {
    case 'request': {
      const request = frozen((parseJson(text) as { in: JsonObject }).in);
      return refusalOr(() => format.toWire(request));
    }
    case 'reply': {
      const body = frozen(golden.in as JsonObject);
      return refusalOr(() => ({ reply: undated(format.fromWire(body, context)), usage: format.usage(body) }));
    }
    case 'error': {
      const { status, body } = golden.in as { status: number; body: JsonObject | null };
      return format.errorFromWire(status, frozen(body), context);
    }
    case 'stream':
      return runStream(format, golden.in, context);
  }
}

/** The whole at once, then cut in two at every byte, then byte by byte: always the same. */
function runStream(format: ChatFormat, given: unknown, context: ConversionContext): unknown {
  const bytes = Buffer.from(
    typeof given === 'string' ? given : (given as [string, unknown][]).map(asEvent).join(''),
  );
  const whole = readStream(format, [bytes], context);
  const expected = stringifyJson(whole);
  for (let k = 1; k < bytes.length; k++) {
    const cut = readStream(format, [bytes.subarray(0, k), bytes.subarray(k)], context);
    expect(stringifyJson(cut), `cut at byte ${k}`).to.equal(expected);
  }
  const single = Array.from(bytes, (_, i) => bytes.subarray(i, i + 1));
  expect(stringifyJson(readStream(format, single, context)), 'byte by byte').to.equal(expected);
  return whole;
}

function readStream(format: ChatFormat, parts: readonly Buffer[], context: ConversionContext): unknown {
  const chunks: CanonicalChunk[] = [];
  const stream = format.stream(context);
  const reader = new SseReader((name, data) => chunks.push(...stream.event(name, data).map(undated)));
  const ended = refusalOr(() => {
    for (const part of parts) reader.push(part);
    reader.end();
    return {};
  });
  return { chunks, done: stream.done, model: stream.model, usage: { ...stream.usage }, ...(ended as object) };
}

function asEvent([name, data]: [string, unknown]): string {
  return writeEvent(name, typeof data === 'string' ? data : stringifyJson(data));
}

function refusalOr(convert: () => unknown): unknown {
  try {
    return convert();
  } catch (error) {
    if (!(error instanceof GatewayError)) throw error;
    return { refused: { code: error.code, param: error.param, message: error.message } };
  }
}

/** `created` must be now, and is written down as 0. */
function undated(object: JsonObject): JsonObject {
  if (!('created' in object)) return object;
  expect(object['created']).to.be.closeTo(Date.now() / 1000, 10);
  return { ...object, created: 0 };
}

/** Conversions never write to what they are given: here they cannot. */
function frozen<T>(value: T): T {
  if (typeof value === 'object' && value !== null) {
    for (const member of Object.values(value)) frozen(member);
    Object.freeze(value);
  }
  return value;
}

/** Indented JSON that keeps every digit. */
function pretty(value: unknown, indent: string): string {
  const deeper = `${indent}  `;
  if (Array.isArray(value) && value.length > 0) {
    return `[\n${value.map((item) => deeper + pretty(item, deeper)).join(',\n')}\n${indent}]`;
  }
  if (isJsonObject(value)) {
    const members = Object.entries(value).filter(([, member]) => member !== undefined);
    if (members.length === 0) return '{}';
    const lines = members.map(
      ([key, member]) => `${deeper}${JSON.stringify(key)}: ${pretty(member, deeper)}`,
    );
    return `{\n${lines.join(',\n')}\n${indent}}`;
  }
  return stringifyJson(value);
}
