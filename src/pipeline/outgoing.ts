import type { Source } from '../core/body.js';
import type { Format } from '../core/endpoint.js';
import { GatewayError } from '../core/errors.js';
import type { Exchange, JsonObject, UpstreamCall } from '../core/exchange.js';
import { isGatewayKey } from '../core/gateway-key.js';
import { getHeader, type HeaderList, setHeader } from '../core/headers.js';
import { isJsonObject, stringifyJson } from '../core/json.js';
import { editJsonBytes, type JsonEdit } from '../core/json-edit.js';
import { gatewayKeyHeader } from '../core/slots.js';
import type { Target } from '../core/target.js';
import { passthroughPath } from '../endpoints/passthrough-path.js';
import type { Door } from '../providers/doors/door.js';
import type { ChatFormat, Provider, WireFormat } from '../providers/provider.js';
import type { Address } from './address.js';
import { ChatConversion, type Conversion, convertRequest, PlainConversion } from './conversion.js';

/** A call ready to leave, and how its answer is to be read. */
export interface Outgoing {
  readonly call: UpstreamCall;
  readonly address: Address;
  /** The format the provider speaks here; `none` for passthrough. */
  readonly wire: Format;
  /** Set where the provider's format is not the client's. */
  readonly conversion: Conversion | null;
  readonly dropped: readonly string[];
}

const hopByHop = new Set([
  'connection',
  'keep-alive',
  'proxy-authenticate',
  'proxy-authorization',
  'proxy-connection',
  'te',
  'trailer',
  'transfer-encoding',
  'upgrade',
  'host',
  'content-length',
  'expect',
]);

/** Headers in which official clients put a key; replaced by the provider's own credential where there is one. */
const credentialHeaders = new Set(['authorization', 'x-api-key', 'api-key', 'x-goog-api-key']);

const userAgent = 'headgate';

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
  if (path !== undefined) {
    return {
      call: {
        target,
        provider: provider.name,
        method: x.request.method,
        url: urlOf(address, path),
        headers,
        body: sameFormatBody(x, target, address),
      },
      address,
      wire: format,
      conversion:
        provider.dialect?.name === format ? dialectOf(provider.dialect, x, target, address, doors) : null,
      dropped: [],
    };
  }
  const plain = plainFormats.get(format)?.find(({ name }) => provider.paths[name] !== undefined);
  if (plain !== undefined) return plainCall(x, target, address, plain, headers);
  const door = doors.get(format);
  const spoken = chatFormatOf(provider, formats);
  if (door === undefined || spoken === null) {
    throw new GatewayError(
      'unsupported_by_provider',
      `${provider.name} has no ${x.endpoint.name} endpoint: choose another provider for this call.`,
    );
  }
  const asked = { model: address.model, stream: x.streaming };
  const body = mergedBody(x, target, address);
  const wire = convertRequest(door, spoken, provider.quirks ?? [], body, asked);
  const conversion = chatConversion(door, spoken, x, target, address, wantsUsage(body));
  return {
    call: {
      target,
      provider: provider.name,
      method: x.request.method,
      url: urlOf(address, provider.paths[spoken.name]!),
      headers,
      body: Buffer.from(stringifyJson(wire.body)),
    },
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
      asked: { model: address.model, stream: x.streaming },
      body: x.request.json!,
    },
  );
}

/** For a request that goes as it came, and an answer that is not quite in the client's format. */
function dialectOf(
  dialect: ChatFormat,
  x: Exchange,
  target: Target,
  address: Address,
  doors: ReadonlyMap<Format, Door>,
): ChatConversion | null {
  const door = doors.get(dialect.name);
  return door === undefined
    ? null
    : chatConversion(door, dialect, x, target, address, wantsUsage(x.request.json!));
}

function urlOf({ base, provider }: Address, path: string): string {
  const url = base + path;
  if (provider.query === undefined) return url;
  return `${url}${path.includes('?') ? '&' : '?'}${provider.query}`;
}

function plainCall(
  x: Exchange,
  target: Target,
  address: Address,
  format: WireFormat,
  headers: HeaderList,
): Outgoing {
  const { provider } = address;
  const request = mergedBody(x, target, address);
  const { body, dropped } = format.toWire(request);
  const context = {
    provider: provider.name,
    strict: target.strictOpenAiCompliance,
    includeUsage: false,
    request,
    model: address.model,
  };
  return {
    call: {
      target,
      provider: provider.name,
      method: x.request.method,
      url: urlOf(address, provider.paths[format.name]!),
      headers,
      body: Buffer.from(
        stringifyJson((provider.quirks ?? []).reduce((out, quirk) => quirk.apply(out), body)),
      ),
    },
    address,
    wire: format.name,
    conversion: new PlainConversion(format, context),
    dropped,
  };
}

/** Builds what is sent for a passthrough: the client's own bytes and headers, minus what is the gateway's or the connection's. */
export function passthroughCall(
  x: Exchange,
  target: Target,
  address: Address,
  prefixes: readonly string[],
): Outgoing {
  const { request } = x;
  const headers: HeaderList = [];
  const named = connectionNames(request.headers);
  const keyHeader = x.get(gatewayKeyHeader);
  const key = gatewayKeyText(x);
  if (request.query.includes(key)) {
    throw new GatewayError(
      'invalid_request',
      'A gateway key must not stand in a URL: send it in a header alone.',
    );
  }
  for (let i = 0; i < request.headers.length; i += 2) {
    const name = request.headers[i]!;
    if (hopByHop.has(name) || name === keyHeader || named?.includes(name)) continue;
    if (prefixes.some((prefix) => name.startsWith(prefix))) continue;
    // What is left in these is the client's own provider key; it is re-added from the address below.
    if (credentialHeaders.has(name) || name === 'cookie') continue;
    const value = request.headers[i + 1]!;
    // Wherever else the client put it, the gateway's key stays here.
    if (!value.includes(key)) headers.push(name, value);
  }
  const length = getHeader(request.headers, 'content-length');
  if (length !== undefined && request.stream !== null) headers.push('content-length', length);
  addProviderHeaders(x, target, address, headers);
  const rest = passthroughPath(request.path, request.query);
  return {
    call: {
      target,
      provider: address.provider.name,
      method: request.method,
      url: urlOf(address, rest),
      headers,
      body: request.stream === null ? request.bytes : resendable(request.stream),
    },
    address,
    wire: 'none',
    conversion: null,
    dropped: [],
  };
}

const started = new WeakSet<Source>();

/** A streamed upload is not kept, so it can leave once: a second target gets it only while nothing of it was read. */
function resendable(stream: Source): Source {
  if (started.has(stream)) {
    throw new GatewayError(
      'body_already_sent',
      'The request body was streamed to a target that failed and cannot be sent again.',
    );
  }
  return {
    start(sink) {
      started.add(stream);
      stream.start(sink);
    },
    resume: () => stream.resume(),
    cancel: () => {
      if (started.has(stream)) stream.cancel();
    },
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

/** A target's override_params as edits of a JSON text, made once per target. */
const editsOf = new WeakMap<Target, readonly JsonEdit[]>();

function overrideEdits(target: Target): readonly JsonEdit[] {
  let edits = editsOf.get(target);
  if (edits === undefined) {
    edits = Object.entries(target.overrideParams ?? {}).map(([key, value]) => ({
      key,
      value: stringifyJson(value),
    }));
    editsOf.set(target, edits);
  }
  return edits;
}

/** The client's bytes; edited only where a rule changes something, every other byte as it came. */
function sameFormatBody(x: Exchange, target: Target, address: Address): Buffer {
  const bytes = x.request.bytes!;
  const quirks = address.provider.quirks;
  if (quirks !== undefined && quirks.length > 0) {
    let body = mergedBody(x, target, address);
    for (const quirk of quirks) body = quirk.apply(body);
    return Buffer.from(stringifyJson(body));
  }
  const renamed = address.model !== null && address.model !== x.modelAsked;
  if (target.overrideParams === null && !renamed) return bytes;
  let edits = overrideEdits(target);
  if (renamed) {
    edits = [
      ...edits.filter((edit) => edit.key !== 'model'),
      { key: 'model', value: JSON.stringify(address.model) },
    ];
  }
  return editJsonBytes(bytes, edits);
}

function mergedBody(x: Exchange, target: Target, address: Address): JsonObject {
  const body: JsonObject = { ...x.request.json, ...target.overrideParams };
  if (address.model !== null) body['model'] = address.model;
  return body;
}

function addProviderHeaders(x: Exchange, target: Target, address: Address, headers: HeaderList): void {
  const { provider, credential } = address;
  const client = x.request.headers;
  if (provider.headers !== undefined) {
    for (const name in provider.headers) {
      if (getHeader(headers, name) === undefined)
        headers.push(name, getHeader(client, name) ?? provider.headers[name]!);
    }
  }
  if (provider.passHeaders !== undefined) {
    for (const name of provider.passHeaders) {
      const value =
        fieldHeader(target.fields, name) ?? fieldHeader(address.fields, name) ?? getHeader(client, name);
      if (value !== undefined) setHeader(headers, name, value);
    }
  }
  for (const name of target.forwardHeaders) {
    const value = getHeader(client, name);
    // A forwarded credential header may be the client's provider key, never a key of the gateway's.
    if (value !== undefined && !holdsGatewayKey(value) && !value.includes(gatewayKeyText(x))) {
      setHeader(headers, name, value);
    }
  }
  const own = address.headers;
  for (let i = 0; i < own.length; i += 2) setHeader(headers, own[i]!, own[i + 1]!);
  if (credential === null) return;
  const { auth } = provider;
  const text = credential.reveal();
  if (auth.kind === 'header' && (auth.bearerPrefix === undefined || !text.startsWith(auth.bearerPrefix))) {
    setHeader(headers, auth.name, text);
  } else if (auth.kind === 'bearer' || auth.kind === 'header') {
    setHeader(headers, 'authorization', `Bearer ${text}`);
  }
}

/** The gateway key of this call, as text. */
function gatewayKeyText(x: Exchange): string {
  const value = getHeader(x.request.headers, x.get(gatewayKeyHeader) ?? '') ?? '';
  const text = value.slice(0, 7).toLowerCase() === 'bearer ' ? value.slice(7).trim() : value;
  // No key, nothing to look for: a text that no header holds.
  return text === '' ? '\n' : text;
}

function holdsGatewayKey(value: string): boolean {
  return isGatewayKey(value.slice(0, 7).toLowerCase() === 'bearer ' ? value.slice(7).trim() : value.trim());
}

/** `openai-organization` may stand in a config as `openai_organization`. */
function fieldHeader(fields: Target['fields'] | null, name: string): string | undefined {
  for (const field in fields) {
    if (field.length !== name.length || field.replaceAll('_', '-') !== name) continue;
    const value = fields[field];
    return typeof value === 'string' ? value : undefined;
  }
  return undefined;
}

/** Headers that `Connection` names belong to the connection (RFC 9110 §7.6.1); null where it names none. */
function connectionNames(headers: HeaderList): readonly string[] | null {
  let names: string[] | null = null;
  for (let i = 0; i < headers.length; i += 2) {
    const value = headers[i + 1]!;
    if (headers[i] !== 'connection' || value === 'keep-alive' || value === 'close') continue;
    names = [
      ...(names ?? []),
      ...value
        .toLowerCase()
        .split(',')
        .map((name) => name.trim()),
    ];
  }
  return names;
}
