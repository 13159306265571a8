import type { JsonObject } from '../../../common/core/exchange.js';
import type { Usage } from '../../../common/core/usage.js';
import { stringifyJson } from '../../../common/json/json.js';
import type { ErrorFormat, StreamWriter } from '../../providers/client-formats/client-format.js';
import { JsonArrayWriter } from '../../providers/client-formats/json-array.js';
import type { ChatFormat, ConversionContext, StreamReader } from '../../providers/provider.js';
import { serverSentEvents } from '../../providers/streams/framing.js';
import type { Conversion } from './conversion.js';

/**
 * The same format on both sides with different framing: the provider sends events, whose texts become the elements of
 * the JSON array that the client asked for.
 */
export class ArrayConversion implements Conversion {
  readonly wire;
  readonly framing = serverSentEvents;

  constructor(
    readonly errors: ErrorFormat,
    readonly format: ChatFormat,
    readonly context: ConversionContext,
  ) {
    this.wire = format.name;
  }

  headed(): void {}

  usage(body: JsonObject): Usage | null {
    return this.format.usage(body);
  }

  reply(body: JsonObject): JsonObject {
    return body;
  }

  error(status: number, body: JsonObject | null): string {
    if (this.errors.isOwn?.(body) === true) return stringifyJson(body);
    const error = this.format.errorFromWire(status, body, this.context);
    return this.errors.writeError({ ...error, status }, { requestId: null, provider: this.context.provider });
  }

  stream(): { reader: StreamReader; writer: StreamWriter } {
    return { reader: new TextReader(this.format.stream(this.context)), writer: new TextWriter() };
  }
}

/** Returns the texts of events as received; the format reads what they mean for the stream. */
class TextReader implements StreamReader {
  constructor(readonly inner: StreamReader) {}

  event(name: string, data: string): readonly JsonObject[] {
    this.inner.event(name, data);
    return [{ data }];
  }

  get done(): boolean {
    return this.inner.done;
  }

  get usage(): Usage {
    return this.inner.usage;
  }

  get model(): string | null {
    return this.inner.model;
  }
}

class TextWriter implements StreamWriter {
  readonly contentType = 'application/json; charset=UTF-8';
  readonly #array = new JsonArrayWriter();

  chunk({ data }: JsonObject): string {
    return this.#array.item(String(data));
  }

  end(): string {
    return this.#array.end();
  }
}
