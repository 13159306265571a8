import type { Format } from '../../../common/core/endpoint.js';
import type { Exchange, JsonObject } from '../../../common/core/exchange.js';
import { isJsonObject, parseJson, stringifyJson } from '../../../common/json/json.js';
import { isQuick } from '../../../common/json/json-scan.js';
import { answerText } from '../../endpoints/read-body.js';
import type { CanonicalError } from '../../providers/client-formats/client-format.js';
import { errorsAt } from '../../providers/client-formats/index.js';
import { asObject } from '../../providers/formats/json-shape.js';
import { readProviderError } from '../../providers/formats/provider-error.js';
import type { ChatFormat } from '../../providers/provider.js';
import type { Outgoing } from '../outgoing/outgoing.js';

/** No useful error is longer. */
const readAtMost = 512 * 1024;
/** Of a text that is not JSON. */
const quotedChars = 500;

/**
 * The error answer of a provider in the client's format, whatever it was: JSON of any shape, a page, a text, nothing.
 * One in the client's format stays unchanged, except OpenAI's, whose envelope names the provider.
 * null: the bytes are passed on unchanged.
 */
export function providerErrorBody(
  status: number,
  bytes: Buffer,
  outgoing: Outgoing,
  x: Exchange,
  formats: ReadonlyMap<Format, ChatFormat>,
): string | null {
  const { conversion, call, wire, address } = outgoing;
  if (conversion === null && call.target.passthrough) return null;
  const json = errorObject(status, bytes);
  if (conversion !== null) return conversion.error(status, json);
  const errors = errorsAt(x.request.path, x.request.headers);
  if (errors.isOwn?.(json) === true) return isObjectText(bytes) ? null : stringifyJson(json);
  const provider = call.provider;
  const context = { provider, strict: true, includeUsage: false, model: address.model };
  const read = formats.get(wire)?.errorFromWire ?? readProviderError;
  const error: CanonicalError = { ...read(status, json, context), status };
  const origin = { requestId: x.id, provider };
  try {
    return errors.writeError(error, { ...origin, detail: asObject(json?.['error']) });
  } catch {
    // Further fields that are nested too deeply to be written.
    return errors.writeError(error, origin);
  }
}

const isObjectText = (bytes: Buffer): boolean => /^\s*\{/.test(bytes.toString('latin1', 0, 64));

/** The content of an error answer, as an object in one of the supported shapes; null: none. */
function errorObject(status: number, bytes: Buffer): JsonObject | null {
  if (bytes.length > readAtMost || !isQuick(bytes)) return null;
  const text = answerText(bytes).trim();
  // Some servers answer a call for a stream with an event.
  const value = parsed(text) ?? parsed(/^data: ?(.*)$/m.exec(text)?.[1] ?? '');
  if (isJsonObject(value)) return value;
  // Gemini's errors come in a list where its streams would.
  if (Array.isArray(value)) return value.find(isJsonObject) ?? null;
  if (typeof value === 'string') return saying(value);
  if (value !== undefined || text === '') return null;
  return text.startsWith('<') ? pageError(status, text) : saying(text);
}

function pageError(status: number, page: string): JsonObject {
  const title = /<title>([^<]*)<\/title>/i.exec(page)?.[1]?.trim().slice(0, quotedChars) ?? '';
  const named = title === '' ? '' : `: ${title}`;
  return { message: `it answered with status ${status} and a web page${named}` };
}

const saying = (text: string): JsonObject | null =>
  text.trim() === '' ? null : { message: text.slice(0, quotedChars) };

function parsed(text: string): unknown {
  try {
    return parseJson(text);
  } catch {
    return undefined;
  }
}
