import protobuf from 'protobufjs';

/**
 * What is read of OTLP's protobuf, by the numbers of https://github.com/open-telemetry/opentelemetry-proto; other fields are
 * skipped.
 */
const { Request, Span } = protobuf.Root.fromJSON({
  nested: {
    Request: { fields: { resourceSpans: { rule: 'repeated', type: 'ResourceSpans', id: 1 } } },
    ResourceSpans: {
      fields: {
        resource: { type: 'Resource', id: 1 },
        scopeSpans: { rule: 'repeated', type: 'ScopeSpans', id: 2 },
      },
    },
    Resource: { fields: { attributes: { rule: 'repeated', type: 'KeyValue', id: 1 } } },
    ScopeSpans: {
      fields: { scope: { type: 'Scope', id: 1 }, spans: { rule: 'repeated', type: 'bytes', id: 2 } },
    },
    Scope: { fields: { name: { type: 'string', id: 1 } } },
    Span: {
      fields: {
        traceId: { type: 'bytes', id: 1 },
        spanId: { type: 'bytes', id: 2 },
        parentSpanId: { type: 'bytes', id: 4 },
        name: { type: 'string', id: 5 },
        startTimeUnixNano: { type: 'fixed64', id: 7 },
        endTimeUnixNano: { type: 'fixed64', id: 8 },
        attributes: { rule: 'repeated', type: 'KeyValue', id: 9 },
        events: { rule: 'repeated', type: 'Event', id: 11 },
        status: { type: 'Status', id: 15 },
      },
    },
    Event: {
      fields: {
        name: { type: 'string', id: 2 },
        attributes: { rule: 'repeated', type: 'KeyValue', id: 3 },
      },
    },
    Status: { fields: { message: { type: 'string', id: 2 }, code: { type: 'int32', id: 3 } } },
    KeyValue: { fields: { key: { type: 'string', id: 1 }, value: { type: 'AnyValue', id: 2 } } },
    AnyValue: {
      oneofs: {
        value: {
          oneof: [
            'stringValue',
            'boolValue',
            'intValue',
            'doubleValue',
            'arrayValue',
            'kvlistValue',
            'bytesValue',
          ],
        },
      },
      fields: {
        stringValue: { type: 'string', id: 1 },
        boolValue: { type: 'bool', id: 2 },
        intValue: { type: 'int64', id: 3 },
        doubleValue: { type: 'double', id: 4 },
        arrayValue: { type: 'ArrayValue', id: 5 },
        kvlistValue: { type: 'KeyValueList', id: 6 },
        bytesValue: { type: 'bytes', id: 7 },
      },
    },
    ArrayValue: { fields: { values: { rule: 'repeated', type: 'AnyValue', id: 1 } } },
    KeyValueList: { fields: { values: { rule: 'repeated', type: 'KeyValue', id: 1 } } },
  },
}).nested as { readonly Request: protobuf.Type; readonly Span: protobuf.Type };

/** A request with more fields than it may have. */
export class TooManyFields extends Error {
  override readonly name = 'TooManyFields';
}

/** Tags and lengths that may still be read. */
export interface FieldBudget {
  left: number;
}

/** Counts tags and lengths: the time to read a request depends on these more than on its size. */
class CountingReader extends protobuf.BufferReader {
  readonly #budget: FieldBudget;

  constructor(bytes: Uint8Array, budget: FieldBudget) {
    super(Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length));
    this.#budget = budget;
  }

  override uint32(): number {
    if (--this.#budget.left < 0) throw new TooManyFields();
    return super.uint32();
  }
}

const decoded = (type: protobuf.Type, bytes: Uint8Array, budget: FieldBudget): unknown =>
  type.toObject(type.decode(new CountingReader(bytes, budget)), { longs: Number, arrays: true });

/**
 * The request as its JSON would be read, but with ids and spans as bytes and times as numbers. Throws where it is none, or has more
 * tags and lengths.
 */
export const decodedRequest = (bytes: Uint8Array, budget: FieldBudget): unknown =>
  decoded(Request, bytes, budget);

/** One of its spans, likewise. */
export const decodedSpan = (bytes: Uint8Array, budget: FieldBudget): unknown => decoded(Span, bytes, budget);

/** `ExportTraceServiceResponse`; nothing rejected: empty. */
export function encodedResponse(rejected: number, message: string): Uint8Array {
  const writer = protobuf.Writer.create();
  if (rejected === 0) return writer.finish();
  const partial = protobuf.Writer.create().uint32(8).int64(rejected).uint32(18).string(message).finish();
  return writer.uint32(10).bytes(partial).finish();
}
