import type { HeaderList } from '../core/headers.js';
import { headerNameToString } from './undici.js';

/** Bytes of names and values together; more is an invalid response. */
export const maxReplyHeaderBytes = 64 * 1024;
/** Header lines; more is an invalid response. No provider comes near it. */
export const maxReplyHeaderLines = 256;

/** RFC 9110 §7.6.1 and the framing: they describe the connection to the provider, not the answer. */
const ofTheConnection = new Set([
  'connection',
  'keep-alive',
  'transfer-encoding',
  'te',
  'trailer',
  'upgrade',
  'content-length',
]);

/** undici's raw list as a HeaderList without what belongs to the connection. */
export function readReplyHeaders(raw: readonly Buffer[]): HeaderList {
  const headers: HeaderList = [];
  let named: string[] | null = null;
  for (let i = 0; i + 1 < raw.length; i += 2) {
    const name = headerNameToString(raw[i]!);
    if (ofTheConnection.has(name)) {
      if (name === 'connection') named = addConnectionNames(named, raw[i + 1]!);
      continue;
    }
    if (name.startsWith('proxy-')) continue;
    headers.push(name, raw[i + 1]!.toString('latin1'));
  }
  return named === null ? headers : withoutNamed(headers, named);
}

/** The reply's Content-Length, or null where it has none. The parser has refused two different ones. */
export function replyLength(raw: readonly Buffer[]): number | null {
  for (let i = 0; i + 1 < raw.length; i += 2) {
    if (raw[i]!.length === 14 && headerNameToString(raw[i]!) === 'content-length') {
      return Number.parseInt(raw[i + 1]!.toString('latin1'), 10);
    }
  }
  return null;
}

/** Headers that `Connection` names go no further than this connection. */
function addConnectionNames(named: string[] | null, value: Buffer): string[] | null {
  const text = value.toString('latin1');
  if (text === 'keep-alive' || text === 'close') return named;
  const names = text
    .toLowerCase()
    .split(',')
    .map((name) => name.trim());
  return named === null ? names : named.concat(names);
}

function withoutNamed(headers: HeaderList, named: readonly string[]): HeaderList {
  const kept: HeaderList = [];
  for (let i = 0; i < headers.length; i += 2) {
    if (!named.includes(headers[i]!)) kept.push(headers[i]!, headers[i + 1]!);
  }
  return kept;
}
