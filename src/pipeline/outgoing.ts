import type { Format } from '../core/endpoint.js';
import { GatewayError } from '../core/errors.js';
import type { Exchange, JsonObject, UpstreamCall } from '../core/exchange.js';
import type { HeaderList } from '../core/headers.js';
import { isJsonObject } from '../core/json.js';
import { jsonBytes } from '../core/json-bytes.js';
import type { Target } from '../core/target.js';
import { wantsEvents } from '../endpoints/gemini-path.js';
import type { Asked, Door, PlainDoor } from '../providers/doors/door.js';
import { plainDoors } from '../providers/doors/index.js';
import type { ChatFormat, Provider, WireFormat } from '../providers/provider.js';
import { type Address, urlOf } from './address.js';
import { ArrayConversion } from './array-conversion.js';
import {
  asCanonical,
  ChatConversion,
  type Conversion,
  convertRequest,
  PlainConversion,
  PlainDoorConversion,
} from './conversion.js';
import { addProviderHeaders } from './provider-headers.js';
import { mergedBody, sameFormatBytes, sameFormatJson } from './target-body.js';

/** A call ready to leave, and how its answer is to be read. */
export interface Outgoing {
  readonly call: UpstreamCall;
  /** What the body of `call` is to say, where that is too long to be written in one turn; null: it says it. */
  readonly unwritten: JsonObject | null;
  readonly address: Address;
  /** The format the provider speaks here; `none` for passthrough. */
  readonly wire: Format;
  /** Set where the provider's format is not the client's. */
  readonly conversion: Conversion | null;
  readonly dropped: readonly string[];
}

const userAgent = 'headgate';

/** Where the client's body has more bytes than these, what is made of it is written in slices. */
const longBytes = 1024 * 1024;

const isLong = (x: Exchange): boolean => x.request.bytes!.length > longBytes;

/** What a call can be translated from and into. */
interface Languages {
  readonly formats: ReadonlyMap<Format, ChatFormat>;
  readonly doors: ReadonlyMap<Format, Door>;
  readonly plainFormats: ReadonlyMap<Format, readonly WireFormat[]>;
}

/** Builds what is sent for a body that the gateway understands (`json` endpoints). */
export function unifiedCall(
  x: Exchange,
  target: Target,
  address: Address,
  { formats, doors, plainFormats }: Languages,
): Outgoing {
  const { provider } = address;
  const format = x.endpoint.format;
  const path = provider.paths[format];
  const headers: HeaderList = [
    'content-type',
    'application/json',
    'accept',
    '*/*',
    'accept-encoding',
    'identity',
    'user-agent',
    userAgent,
  ];
  addProviderHeaders(x, target, address, headers);
  const long = isLong(x);
  if (path !== undefined) {
    const json = sameFormatJson(x, target, address);
    return {
      call: {
        target,
        provider: provider.name,
        method: x.request.method,
        url: urlOf(address, path),
        headers,
        body: json === null ? sameFormatBytes(x, target, address) : long ? null : jsonBytes(json),
      },
      unwritten: long ? json : null,
      address,
      wire: format,
      conversion: sameFormatConversion(x, target, address, formats, doors),
      dropped: [],
    };
  }
  if (target.passthrough) {
    throw new GatewayError(
      'unsupported_by_provider',
      `${provider.name} does not speak the format of this request, and ${target.path} says passthrough: leave passthrough out to have it converted.`,
    );
  }
  const plainDoor = plainDoors.get(format) ?? null;
  const plain = plainFormats
    .get(plainDoor?.canonical ?? format)
    ?.find(({ name }) => provider.paths[name] !== undefined);
  if (plain !== undefined) return plainCall(x, target, address, plain, plainDoor, headers);
  const door = doors.get(format);
  const spoken = chatFormatOf(provider, formats);
  if (door === undefined || spoken === null) {
    throw new GatewayError(
      'unsupported_by_provider',
      `${provider.name} has no ${x.endpoint.name} endpoint: choose another provider for this call.`,
    );
  }
  const asked = askedOf(x, address);
  const body = mergedBody(x, target, address);
  const wire = convertRequest(door, spoken, provider.quirks, body, asked);
  const conversion = chatConversion(door, spoken, x, target, address, wantsUsage(body));
  return {
    call: {
      target,
      provider: provider.name,
      method: x.request.method,
      url: urlOf(address, provider.paths[spoken.name]!),
      headers,
      body: long ? null : jsonBytes(wire.body),
    },
    unwritten: long ? wire.body : null,
    address,
    wire: spoken.name,
    conversion,
    dropped: wire.dropped,
  };
}

function chatConversion(
  door: Door,
  spoken: ChatFormat,
  x: Exchange,
  target: Target,
  address: Address,
  includeUsage: boolean,
): ChatConversion {
  const canonical = x.endpoint.format === 'openai-chat';
  return new ChatConversion(
    door,
    spoken,
    {
      provider: address.provider.name,
      strict: canonical && target.strictOpenAiCompliance,
      canonicalReasons: !canonical,
      includeUsage: !canonical || includeUsage,
      model: address.model,
    },
    {
      requestId: x.id,
      asked: askedOf(x, address),
      body: x.request.json!,
    },
  );
}

function askedOf(x: Exchange, { model }: Address): Asked {
  return { model, stream: x.streaming, events: !wantsArray(x) };
}

/** Is this a stream that is to come as one JSON array? */
function wantsArray(x: Exchange): boolean {
  return x.streaming && x.endpoint.modelInPath === true && !wantsEvents(x.request.query);
}

/** For a request that goes as it came, and an answer that is not quite what the client reads; null: it is. */
function sameFormatConversion(
  x: Exchange,
  target: Target,
  address: Address,
  formats: ReadonlyMap<Format, ChatFormat>,
  doors: ReadonlyMap<Format, Door>,
): Conversion | null {
  const { dialect, name } = address.provider;
  const { format } = x.endpoint;
  if (dialect?.name === format && !target.passthrough) {
    const door = doors.get(format);
    return door === undefined
      ? null
      : chatConversion(door, dialect, x, target, address, wantsUsage(x.request.json!));
  }
  if (!wantsArray(x)) return null;
  return new ArrayConversion(formats.get(format)!, { provider: name, strict: true, includeUsage: false });
}

function plainCall(
  x: Exchange,
  target: Target,
  address: Address,
  format: WireFormat,
  door: PlainDoor | null,
  headers: HeaderList,
): Outgoing {
  const { provider } = address;
  const long = isLong(x);
  const asked = askedOf(x, address);
  const merged = mergedBody(x, target, address);
  const wire = convertRequest(door ?? asCanonical, format, provider.quirks, merged, asked);
  const context = {
    provider: provider.name,
    strict: target.strictOpenAiCompliance,
    includeUsage: false,
    request: wire.canonical,
    model: address.model,
  };
  return {
    call: {
      target,
      provider: provider.name,
      method: x.request.method,
      url: urlOf(address, provider.paths[format.name]!),
      headers,
      body: long ? null : jsonBytes(wire.body),
    },
    unwritten: long ? wire.body : null,
    address,
    wire: format.name,
    conversion:
      door === null
        ? new PlainConversion(format, context)
        : new PlainDoorConversion(door, format, context, {
            requestId: x.id,
            asked,
            body: x.request.json!,
          }),
    dropped: wire.dropped,
  };
}

/** The first of the formats in which this provider can be asked to chat. */
function chatFormatOf(provider: Provider, formats: ReadonlyMap<Format, ChatFormat>): ChatFormat | null {
  for (const name in provider.paths) {
    if (provider.dialect?.name === name) return provider.dialect;
    const format = formats.get(name as Format);
    if (format !== undefined) return format;
  }
  return null;
}

/** Did a chat client ask for `stream_options.include_usage`? */
function wantsUsage(body: JsonObject): boolean {
  const options = body['stream_options'];
  return isJsonObject(options) && options['include_usage'] === true;
}
