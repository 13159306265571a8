import type { Format } from '../../src/core/endpoint.js';
import type { JsonObject } from '../../src/core/exchange.js';
import { parseJson } from '../../src/core/json.js';
import { convertRequest } from '../../src/pipeline/conversion.js';
import type { Door, DoorContext, DoorError } from '../../src/providers/doors/door.js';
import { doors } from '../../src/providers/doors/index.js';
import { formats } from '../../src/providers/formats/index.js';
import { SseReader } from '../../src/providers/sse.js';
import { frozen, type Golden, goldenCases, refusalOr } from '../support/golden.js';

/** A client's format, written down in `doors/<name>.json`: what goes in, and what must come out. */
interface DoorCase extends Golden {
  readonly door: Format;
  readonly kind: 'request' | 'reply' | 'stream' | 'error';
  /** request: into which provider's format, dropped fields as the client calls them. */
  readonly to?: Format;
  /** reply, stream: the client's own body and what it asked for beside it. */
  readonly body?: JsonObject;
  readonly asked?: { readonly model?: string; readonly stream?: boolean };
  /** request: the client's body. reply: a canonical one. stream: canonical chunks. error: a canonical one. */
  readonly in: unknown;
}

describe('Doors', () => {
  goldenCases<DoorCase>(new URL('./doors/', import.meta.url), (golden, text) => {
    const door = doors.get(golden.door);
    if (door === undefined) throw new Error(`there is no door ${golden.door}`);
    const given = frozen((parseJson(text) as unknown as DoorCase).in);
    return refusalOr(() => run(door, golden, given));
  });
});

function run(door: Door, golden: DoorCase, given: unknown): unknown {
  const context: DoorContext = {
    requestId: '0190a1b2',
    asked: { model: golden.asked?.model ?? 'm', stream: golden.asked?.stream ?? golden.kind === 'stream' },
    body: frozen(golden.body ?? {}),
  };
  switch (golden.kind) {
    case 'request': {
      const body = given as JsonObject;
      const to = golden.to === undefined ? undefined : formats.get(golden.to);
      if (to !== undefined) {
        const { body: written, dropped } = convertRequest(door, to, [], body, context.asked);
        return { body: written, dropped };
      }
      const { request, dropped } = door.readRequest(body, context.asked);
      return { request, dropped };
    }
    case 'reply':
      return door.writeReply(given as JsonObject, context);
    case 'error': {
      const origin = { requestId: context.requestId, provider: 'openai' };
      return {
        answer: JSON.parse(door.writeError(given as DoorError, origin)),
        event: door.errorEvent(given as DoorError, origin),
      };
    }
    case 'stream': {
      const writer = door.streamWriter(context);
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
