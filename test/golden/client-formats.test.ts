import { join } from 'node:path';
import type { Format } from '../../src/common/core/endpoint.js';
import type { JsonObject } from '../../src/common/core/exchange.js';
import { parseJson } from '../../src/common/json/json.js';
import { convertRequest } from '../../src/data-plane/pipeline/answer/conversion.js';
import type {
  CanonicalError,
  ClientFormat,
  ClientFormatContext,
} from '../../src/data-plane/providers/client-formats/client-format.js';
import { clientFormats } from '../../src/data-plane/providers/client-formats/index.js';
import { formats } from '../../src/data-plane/providers/formats/index.js';
import { InnerJson } from '../../src/data-plane/providers/inner-json.js';
import { SseReader } from '../../src/data-plane/providers/streams/sse.js';
import { frozen, type Golden, goldenCases, refusalOr } from '../support/golden.js';
import { root } from '../support/root.js';

/** A client's format, written down in `client-formats/<name>.json`: what goes in, and what must come out. */
interface ClientFormatCase extends Golden {
  readonly clientFormat: Format;
  readonly kind: 'request' | 'reply' | 'stream' | 'error';
  /** request: into which provider's format, dropped fields as the client calls them. */
  readonly to?: Format;
  /** reply, stream: the client's own body and what it asked for beside it. */
  readonly body?: JsonObject;
  readonly asked?: { readonly model?: string; readonly stream?: boolean };
  /** request: the client's body. reply: a canonical one. stream: canonical chunks. error: a canonical one. */
  readonly in: unknown;
}

describe('Client formats', () => {
  goldenCases<ClientFormatCase>(join(root, 'test/golden/client-formats'), (golden, text) => {
    const clientFormat = clientFormats.get(golden.clientFormat);
    if (clientFormat === undefined) throw new Error(`there is no client format ${golden.clientFormat}`);
    const given = frozen((parseJson(text) as unknown as ClientFormatCase).in);
    return refusalOr(() => run(clientFormat, golden, given));
  });
});

function run(clientFormat: ClientFormat, golden: ClientFormatCase, given: unknown): unknown {
  const context: ClientFormatContext = {
    requestId: '0190a1b2',
    asked: { model: golden.asked?.model ?? 'm', stream: golden.asked?.stream ?? golden.kind === 'stream' },
    body: frozen(golden.body ?? {}),
  };
  switch (golden.kind) {
    case 'request': {
      const body = given as JsonObject;
      const to = golden.to === undefined ? undefined : formats.get(golden.to);
      if (to !== undefined) {
        const { body: written, dropped } = convertRequest(clientFormat, to, [], body, context.asked);
        return { body: written, dropped };
      }
      const { request, dropped } = clientFormat.readRequest(body, context.asked, new InnerJson());
      return { request, dropped };
    }
    case 'reply':
      return clientFormat.writeReply(given as JsonObject, context);
    case 'error': {
      const origin = { requestId: context.requestId, provider: 'openai' };
      return {
        answer: JSON.parse(clientFormat.writeError(given as CanonicalError, origin)),
        event: clientFormat.errorEvent(given as CanonicalError, origin),
      };
    }
    case 'stream': {
      const writer = clientFormat.streamWriter(context);
      const text = (given as JsonObject[]).map((chunk) => writer.chunk(chunk)).join('') + writer.end();
      return { contentType: writer.contentType, events: eventsOf(text) };
    }
  }
}

/** `[name, data]` pairs of server-sent events. */
function eventsOf(text: string): unknown[] {
  const events: unknown[] = [];
  const reader = new SseReader((name, data) =>
    events.push([name, data.startsWith('{') ? parseJson(data) : data]),
  );
  reader.push(Buffer.from(text));
  reader.end();
  return events;
}
