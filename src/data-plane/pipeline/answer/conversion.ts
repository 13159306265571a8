import type { Format } from '../../../common/core/endpoint.js';
import { GatewayError } from '../../../common/core/errors.js';
import type { JsonObject } from '../../../common/core/exchange.js';
import type { Usage } from '../../../common/core/usage.js';
import type { HeaderList } from '../../../common/http/headers.js';
import type {
  CallOptions,
  CanonicalIn,
  ClientFormat,
  ClientFormatContext,
  PlainClientFormat,
  StreamWriter,
} from '../../providers/client-formats/client-format.js';
import { droppedPath, mostDropped } from '../../providers/dropped-fields.js';
import { cannotCount } from '../../providers/formats/count-tokens.js';
import { InnerJson } from '../../providers/inner-json.js';
import type {
  CanonicalReply,
  CanonicalRequest,
  ChatFormat,
  ConversionContext,
  CountFormat,
  Quirk,
  StreamReader,
  WireFormat,
  WireRequest,
} from '../../providers/provider.js';
import { withQuirks } from '../../providers/quirks.js';
import { type Framing, serverSentEvents } from '../../providers/streams/framing.js';

/** Converts the answer of a provider whose format differs from the client's. */
export interface Conversion {
  /** The format the provider speaks. */
  readonly wire: Format;
  /** How its streams are divided into events. */
  readonly framing: Framing;
  /** The answer's head has arrived; called before the methods below. */
  headed(headers: HeaderList): void;
  usage(body: JsonObject): Usage | null;
  /** Throws `upstream_invalid_response`. */
  reply(body: JsonObject): JsonObject;
  /** An error answer in the client's format, as JSON text. */
  error(status: number, body: JsonObject | null): string;
  /** null where this endpoint never streams. */
  stream(): { readonly reader: StreamReader; readonly writer: StreamWriter } | null;
}

/** Client format → canonical → provider format, and back. Created for each attempt, from the client's own body. */
export class ChatConversion implements Conversion {
  readonly wire: Format;
  readonly framing: Framing;

  constructor(
    readonly clientFormat: ClientFormat,
    readonly format: ChatFormat,
    readonly context: ConversionContext,
    readonly from: ClientFormatContext,
  ) {
    this.wire = format.name;
    this.framing = format.framing ?? serverSentEvents;
  }

  headed(headers: HeaderList): void {
    this.context.headers = headers;
  }

  usage(body: JsonObject): Usage | null {
    return this.format.usage(body, this.context);
  }

  reply(body: JsonObject): JsonObject {
    const reply: CanonicalReply = this.format.fromWire(body, this.context);
    return this.clientFormat.writeReply(reply, this.from);
  }

  error(status: number, body: JsonObject | null): string {
    const error = this.format.errorFromWire(status, body, this.context);
    const origin = { requestId: this.from.requestId, provider: this.context.provider };
    return this.clientFormat.writeError({ ...error, status }, origin);
  }

  stream(): { reader: StreamReader; writer: StreamWriter } {
    return { reader: this.format.stream(this.context), writer: this.clientFormat.streamWriter(this.from) };
  }
}

/** For endpoints whose canonical shape is OpenAI's and whose answers are never streamed: embeddings, rerank. */
export class PlainConversion implements Conversion {
  readonly wire: Format;
  readonly framing = serverSentEvents;

  constructor(
    readonly format: WireFormat,
    readonly context: ConversionContext,
  ) {
    this.wire = format.name;
  }

  headed(headers: HeaderList): void {
    this.context.headers = headers;
  }

  usage(body: JsonObject): Usage | null {
    return this.format.usage(body, this.context);
  }

  reply(body: JsonObject): JsonObject {
    return this.format.fromWire(body, this.context);
  }

  error(status: number, body: JsonObject | null): string {
    const error = this.format.errorFromWire(status, body, this.context);
    return JSON.stringify({ error, provider: this.context.provider });
  }

  stream(): null {
    return null;
  }
}

/** The same for a client whose format is not the canonical one. */
export class PlainClientConversion extends PlainConversion {
  constructor(
    readonly clientFormat: PlainClientFormat,
    format: WireFormat,
    context: ConversionContext,
    readonly from: ClientFormatContext,
  ) {
    super(format, context);
  }

  override reply(body: JsonObject): JsonObject {
    return this.clientFormat.writeReply(super.reply(body), this.from);
  }

  override error(status: number, body: JsonObject | null): string {
    const error = this.format.errorFromWire(status, body, this.context);
    const origin = { requestId: this.from.requestId, provider: this.context.provider };
    return this.clientFormat.writeError({ ...error, status }, origin);
  }
}

/** For calls that only count input tokens, which cost nothing. */
export class CountConversion implements Conversion {
  readonly wire: Format;
  readonly framing = serverSentEvents;
  /** Did the provider answer that it cannot count? */
  isRefused = false;

  constructor(
    readonly clientFormat: ClientFormat,
    readonly format: CountFormat,
    readonly context: ConversionContext,
    readonly requestId: string,
  ) {
    this.wire = format.name;
  }

  headed(headers: HeaderList): void {
    this.context.headers = headers;
  }

  usage(): null {
    return null;
  }

  reply(body: JsonObject): JsonObject {
    const tokens = this.format.count(body);
    if (tokens !== null) return this.clientFormat.writeCount!(tokens);
    throw new GatewayError(
      'upstream_invalid_response',
      `${this.context.provider} answered with something that is not a count of tokens.`,
    );
  }

  error(status: number, body: JsonObject | null): string {
    const error = this.format.errorFromWire(status, body, this.context);
    this.isRefused = cannotCount(status, error.message);
    const origin = { requestId: this.requestId, provider: this.context.provider };
    return this.clientFormat.writeError({ ...error, status }, origin);
  }

  stream(): null {
    return null;
  }
}

export interface ConvertedRequest extends WireRequest {
  /** The request between the two conversions. */
  readonly canonical: CanonicalRequest;
}

/** Converts a client's body to a provider's. Dropped and refused fields have the client's names. */
export function convertRequest(
  clientFormat: Pick<ClientFormat, 'readRequest'>,
  format: Pick<WireFormat, 'toWire'>,
  quirks: readonly Quirk[] | undefined,
  body: JsonObject,
  asked: CallOptions,
): ConvertedRequest {
  const inner = new InnerJson();
  const read = clientFormat.readRequest(body, asked, inner);
  const wire = toWire(format, read, inner);
  return {
    canonical: read.request,
    body: withQuirks(quirks, wire.body),
    dropped: allDropped(read, wire),
  };
}

/** The dropped fields of both conversions, the first ones of many; most requests have none. */
function allDropped(read: CanonicalIn, wire: WireRequest): readonly string[] {
  if (wire.dropped.length === 0 && read.dropped.length === 0) return read.dropped;
  const paths = new Set(read.dropped.slice(0, mostDropped).map(droppedPath));
  for (const path of wire.dropped.slice(0, mostDropped)) paths.add(droppedPath(read.clientPath(path)));
  return [...paths].slice(0, mostDropped);
}

/** For a client whose format is the canonical one. */
export const asCanonical: Pick<ClientFormat, 'readRequest'> = {
  readRequest: (request) => ({ request, dropped: [], clientPath: (path) => path }),
};

function toWire(format: Pick<WireFormat, 'toWire'>, read: CanonicalIn, inner: InnerJson): WireRequest {
  try {
    return format.toWire(read.request, inner);
  } catch (thrown) {
    if (!(thrown instanceof GatewayError) || thrown.param === null) throw thrown;
    const { code, message, param } = thrown;
    const path = read.clientPath(param);
    if (path === param) throw thrown;
    throw new GatewayError(code, message.startsWith(param) ? path + message.slice(param.length) : message, {
      param: path,
      cause: thrown,
    });
  }
}
