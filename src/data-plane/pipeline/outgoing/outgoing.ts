import type { Format } from '../../../common/core/endpoint.js';
import { GatewayError } from '../../../common/core/errors.js';
import type { Exchange, JsonObject, UpstreamCall } from '../../../common/core/exchange.js';
import type { Target } from '../../../common/core/target.js';
import type { HeaderList } from '../../../common/http/headers.js';
import { jsonBytes } from '../../../common/json/json-bytes.js';
import type {
  CallOptions,
  ClientFormat,
  PlainClientFormat,
} from '../../providers/client-formats/client-format.js';
import { plainClientFormats } from '../../providers/client-formats/index.js';
import { countFormats } from '../../providers/formats/count-tokens.js';
import { toOpenAiRequestWithThinking } from '../../providers/formats/openai-request.js';
import type { ChatFormat, CountFormat, ProviderDefinition, WireFormat } from '../../providers/provider.js';
import { ArrayConversion } from '../answer/array-conversion.js';
import {
  asCanonical,
  ChatConversion,
  type Conversion,
  type ConvertedRequest,
  CountConversion,
  convertRequest,
  PlainClientConversion,
  PlainConversion,
} from '../answer/conversion.js';
import { type Address, urlOf } from './address.js';
import { callHeaders, type PreparedCall } from './prepared-calls.js';
import { mergedBody, sameFormatBytes, sameFormatJson } from './target-body.js';

/** A call ready to be sent, and how to read its answer. */
export interface Outgoing {
  readonly call: UpstreamCall;
  /** The JSON of `call`'s body, where that is too long to be written in one turn; null: the body is complete. */
  readonly unwritten: JsonObject | null;
  readonly address: Address;
  /** The format the provider speaks here; `none` for passthrough. */
  readonly wire: Format;
  /** Set where the provider's format is not the client's. */
  readonly conversion: Conversion | null;
  readonly dropped: readonly string[];
  /** What `call` was begun with; null: it was built from nothing. */
  readonly prepared: PreparedCall | null;
  /** Headers of its trace that were added to `call`; null: none. */
  trace: readonly string[] | null;
}

/** If the client's body is longer, in bytes, the provider's body is written in slices. */
const longBytes = 1024 * 1024;

/** The formats that a call can be converted from and to. */
interface Languages {
  readonly formats: ReadonlyMap<Format, ChatFormat>;
  readonly clientFormats: ReadonlyMap<Format, ClientFormat>;
  readonly plainFormats: ReadonlyMap<Format, readonly WireFormat[]>;
}

/** Builds the call for a body that the gateway parses (`json` endpoints). `prepared`: null, if nothing is for it. */
export function unifiedCall(
  x: Exchange,
  target: Target,
  address: Address,
  { formats, clientFormats, plainFormats }: Languages,
  prepared: PreparedCall | null,
): Outgoing {
  const { provider } = address;
  const format = x.endpoint.format;
  const path = provider.paths[format];
  const headers =
    prepared === null ? callHeaders(x, target, address) : prepared.headersFor(x.request.headers);
  const long = x.request.bytes!.length > longBytes;
  if (path !== undefined) {
    const isRewritten = provider.quirks !== undefined || x.endpoint.modelInPath === true;
    const json = isRewritten ? sameFormatJson(x, target, address) : null;
    const isConverted = provider.dialect !== undefined || x.streaming;
    return {
      call: {
        target,
        provider: provider.name,
        method: x.request.method,
        url: prepared === null ? urlOf(address, path) : prepared.request.url,
        headers,
        body: json === null ? sameFormatBytes(x, target, address) : long ? null : jsonBytes(json),
      },
      unwritten: long ? json : null,
      address,
      wire: format,
      conversion: isConverted ? sameFormatConversion(x, target, address, formats, clientFormats) : null,
      dropped: [],
      prepared,
      trace: null,
    };
  }
  if (target.passthrough) {
    throw new GatewayError(
      'unsupported_by_provider',
      `${provider.name} does not speak the format of this request, and ${target.path} says passthrough: leave passthrough out to have it converted.`,
    );
  }
  const counting = x.endpoint.counts === true ? countFormatOf(provider) : null;
  if (counting !== null) {
    const clientFormat = clientFormats.get(format)!;
    return { ...countCall(x, target, address, clientFormat, counting, headers), prepared, trace: null };
  }
  const plainClientFormat = plainClientFormats.get(format) ?? null;
  const plain = plainFormatOf(provider, plainClientFormat?.canonical ?? format, plainFormats);
  if (plain !== undefined)
    return { ...plainCall(x, target, address, plain, plainClientFormat, headers), prepared, trace: null };
  const clientFormat = clientFormats.get(format);
  const spoken = chatFormatOf(provider, formats);
  if (clientFormat === undefined || spoken === null) {
    throw new GatewayError(
      'unsupported_by_provider',
      `${provider.name} has no ${x.endpoint.name} endpoint: choose another provider for this call.`,
    );
  }
  const asked = askedOf(x, address);
  const body = mergedBody(x, target, address);
  const wire = convertRequest(clientFormat, spoken, provider.quirks, body, asked);
  const conversion = chatConversion(clientFormat, spoken, x, target, address, body);
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
    prepared,
    trace: null,
  };
}

function chatConversion(
  clientFormat: ClientFormat,
  spoken: ChatFormat,
  x: Exchange,
  target: Target,
  address: Address,
  body: JsonObject,
): ChatConversion {
  const canonical = clientFormat.isCanonical === true;
  return new ChatConversion(
    clientFormat,
    spoken,
    {
      provider: address.provider.name,
      strict: canonical && target.strictOpenAiCompliance,
      canonicalReasons: !canonical,
      includeUsage: clientFormat.wantsUsage?.(body) ?? true,
      model: address.model,
    },
    {
      requestId: x.id,
      asked: askedOf(x, address),
      body: x.request.json!,
    },
  );
}

function askedOf(x: Exchange, { model }: Address): CallOptions {
  return { model, stream: x.streaming, events: !wantsArray(x) };
}

/** Does the client want the stream as one JSON array? */
function wantsArray(x: Exchange): boolean {
  return x.streaming && x.endpoint.wantsArray?.(x.request.query) === true;
}

/** The conversion of an answer in the client's format that still has to change a little; null: none needed. */
function sameFormatConversion(
  x: Exchange,
  target: Target,
  address: Address,
  formats: ReadonlyMap<Format, ChatFormat>,
  clientFormats: ReadonlyMap<Format, ClientFormat>,
): Conversion | null {
  const { dialect, name } = address.provider;
  const { format } = x.endpoint;
  if (dialect?.name === format && !target.passthrough) {
    const clientFormat = clientFormats.get(format);
    return clientFormat === undefined
      ? null
      : chatConversion(clientFormat, dialect, x, target, address, x.request.json!);
  }
  if (!wantsArray(x)) return null;
  return new ArrayConversion(clientFormats.get(format)!, formats.get(format)!, {
    provider: name,
    strict: true,
    includeUsage: false,
  });
}

function plainCall(
  x: Exchange,
  target: Target,
  address: Address,
  format: WireFormat,
  clientFormat: PlainClientFormat | null,
  headers: HeaderList,
): Omit<Outgoing, 'prepared' | 'trace'> {
  const { provider } = address;
  const asked = askedOf(x, address);
  const merged = mergedBody(x, target, address);
  const wire = convertRequest(clientFormat ?? asCanonical, format, provider.quirks, merged, asked);
  const context = {
    provider: provider.name,
    strict: target.strictOpenAiCompliance,
    includeUsage: false,
    request: wire.canonical,
    model: address.model,
  };
  const conversion =
    clientFormat === null
      ? new PlainConversion(format, context)
      : new PlainClientConversion(clientFormat, format, context, {
          requestId: x.id,
          asked,
          body: x.request.json!,
        });
  return convertedCall(x, target, address, format, headers, wire, conversion);
}

function countCall(
  x: Exchange,
  target: Target,
  address: Address,
  clientFormat: ClientFormat,
  format: CountFormat,
  headers: HeaderList,
): Omit<Outgoing, 'prepared' | 'trace'> {
  const { provider } = address;
  const merged = mergedBody(x, target, address);
  const body = clientFormat.countedRequest?.(merged) ?? merged;
  const wire = convertRequest(clientFormat, format, provider.quirks, body, askedOf(x, address));
  const context = {
    provider: provider.name,
    strict: true,
    includeUsage: false,
    model: address.model,
  };
  const conversion = new CountConversion(clientFormat, format, context, x.id);
  return convertedCall(x, target, address, format, headers, wire, conversion);
}

/** The call of a request that was converted as a whole. */
function convertedCall(
  x: Exchange,
  target: Target,
  address: Address,
  format: Pick<WireFormat, 'name'>,
  headers: HeaderList,
  { body, dropped }: ConvertedRequest,
  conversion: Conversion,
): Omit<Outgoing, 'prepared' | 'trace'> {
  const { provider } = address;
  const long = x.request.bytes!.length > longBytes;
  return {
    call: {
      target,
      provider: provider.name,
      method: x.request.method,
      url: urlOf(address, provider.paths[format.name]!),
      headers,
      body: long ? null : jsonBytes(body),
    },
    unwritten: long ? body : null,
    address,
    wire: format.name,
    conversion,
    dropped,
  };
}

/** The provider's own call that counts input tokens; null: it has none. */
export function countFormatOf({ paths }: ProviderDefinition): CountFormat | null {
  for (const [name, format] of countFormats) if (paths[name] !== undefined) return format;
  return null;
}

/** The first format without streams that this provider supports, for requests of that shape. */
function plainFormatOf(
  { paths, embeddings }: ProviderDefinition,
  canonical: Format,
  plainFormats: Languages['plainFormats'],
): WireFormat | undefined {
  if (embeddings !== undefined && canonical === 'openai-embeddings') return embeddings;
  return plainFormats.get(canonical)?.find(({ name }) => paths[name] !== undefined);
}

/** The first chat format that this provider supports. */
function chatFormatOf(
  provider: ProviderDefinition,
  formats: ReadonlyMap<Format, ChatFormat>,
): ChatFormat | null {
  for (const name in provider.paths) {
    const format = provider.dialect?.name === name ? provider.dialect : formats.get(name as Format);
    if (format === undefined) continue;
    return provider.wantsThinkingBack === true ? { ...format, toWire: toOpenAiRequestWithThinking } : format;
  }
  return null;
}
