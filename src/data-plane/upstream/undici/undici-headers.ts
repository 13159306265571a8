import type { HeaderList } from '../../../common/http/headers.js';
import { roleOf } from '../reply/reply-head.js';
import { canSend, isMetadataHeader, lineBeginning } from '../request-head.js';
import { headerNameToString } from './parts.js';

export interface OutgoingHeaders {
  readonly headers: HeaderList;
  /** Length of a body that arrives over time; -1: it is sent chunked. */
  readonly streamed: number;
}

/** The headers to send, as in `requestHead`; null: HTTP does not allow one of them. */
export function outgoingHeaders(
  given: HeaderList,
  isStreamed: boolean,
  ownIdentity: boolean,
): OutgoingHeaders | null {
  const headers: HeaderList = [];
  let streamed = -1;
  for (let i = 0; i < given.length; i += 2) {
    const name = given[i]!;
    const value = given[i + 1]!;
    const beginning = lineBeginning(name);
    if (beginning === null || !canSend(value)) return null;
    if (beginning !== '' || (ownIdentity && isMetadataHeader(name.toLowerCase()))) headers.push(name, value);
    else if (isStreamed && name === 'content-length') {
      const claimed = /^\d{1,15}$/.test(value) ? Number(value) : -1;
      if (claimed === -1 || (streamed !== -1 && streamed !== claimed)) return null;
      streamed = claimed;
    }
  }
  if (streamed !== -1) headers.push('content-length', String(streamed));
  return { headers, streamed };
}

export interface ReplyHeaders {
  /** Names in lower case, without headers of the connection or rules for the origin. */
  readonly headers: HeaderList;
  /** Content-Length, or -1. */
  readonly length: number;
}

/** undici's list of names and values in turn. */
export function replyHeaders(raw: readonly Buffer[]): ReplyHeaders {
  const headers: HeaderList = [];
  const named: string[] = [];
  let length = -1;
  for (let i = 0; i + 1 < raw.length; i += 2) {
    const name = headerNameToString(raw[i]!);
    const role = roleOf(name);
    if (role === 'answer') headers.push(name, raw[i + 1]!.toString('latin1'));
    else if (role === 'content-length') length = Number.parseInt(raw[i + 1]!.toString('latin1'), 10);
    else if (role === 'connection') {
      const text = raw[i + 1]!.toString('latin1').toLowerCase();
      if (text !== 'keep-alive' && text !== 'close')
        named.push(...text.split(',').map((part) => part.trim()));
    }
  }
  if (named.length === 0) return { headers, length };
  const kept = headers.filter((_, i) => !named.includes(headers[i - (i % 2)]!));
  return { headers: kept, length };
}
