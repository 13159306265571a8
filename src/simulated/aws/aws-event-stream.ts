import { createRequire } from 'node:module';
import type { EventStreamCodec } from '@smithy/core/event-streams';

let codec: EventStreamCodec | null = null;

/** Loaded with the first frame: it takes 70 ms, and most starts of the simulated provider never send one. */
function codecOfAws(): EventStreamCodec {
  if (codec === null) {
    const streams = createRequire(import.meta.url)('@smithy/core/event-streams');
    codec = new (streams as typeof import('@smithy/core/event-streams')).EventStreamCodec(
      (bytes) => Buffer.from(bytes).toString('utf8'),
      (text) => Buffer.from(text),
    );
  }
  return codec;
}

const text = (value: string) => ({ type: 'string', value }) as const;

/** One frame of an AWS event stream, by AWS's own library. A name that ends in `Exception` is one. */
export function awsEvent(name: string, payload: unknown): Buffer {
  const exception = name.endsWith('Exception');
  return frame(
    {
      [exception ? ':exception-type' : ':event-type']: text(name),
      ':content-type': text('application/json'),
      ':message-type': text(exception ? 'exception' : 'event'),
    },
    typeof payload === 'string' ? payload : JSON.stringify(payload),
  );
}

/** The frame of an error that the service has no model of. */
export function awsError(code: string, message: string): Buffer {
  return frame(
    { ':message-type': text('error'), ':error-code': text(code), ':error-message': text(message) },
    '',
  );
}

export function frame(headers: Parameters<EventStreamCodec['encode']>[0]['headers'], body: string): Buffer {
  return Buffer.from(codecOfAws().encode({ headers, body: Buffer.from(body) }));
}
