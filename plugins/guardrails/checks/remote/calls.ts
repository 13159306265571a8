import {
  connectionHeaders,
  type HeaderList,
  isHeaderName,
  isHeaderValue,
  setHeader,
} from '../../../../src/common/http/headers.js';
import type { CheckResult, RemoteContext } from '../../check.js';

/** Another service did not answer as it should. */
export class ServiceFailed extends Error {
  override readonly name = 'ServiceFailed';
}

export interface JsonReply {
  readonly status: number;
  /** undefined: the body is not JSON. */
  readonly json: unknown;
}

/** Characters of the texts that a service is sent; to write more of them as JSON would hold up the event loop. */
export const maxSentLength = 512 * 1024;

/** Throws where the texts are too long to be sent. */
export function checkLength(text: string): void {
  if (text.length > maxSentLength)
    throw new ServiceFailed(
      `The texts have more than ${maxSentLength} characters, which no service is sent.`,
    );
}

/** Headers of the connection and the framing are the gateway's own. */
const reserved = new Set([...connectionHeaders, 'content-type']);

/** Headers for a request of a check: those that it needs, and those of its parameters. */
export function headersFor(given: Readonly<Record<string, string>> = {}): HeaderList {
  const headers: HeaderList = ['accept', 'application/json', 'user-agent', 'headgate'];
  for (const [name, value] of Object.entries(given)) {
    const lower = name.toLowerCase();
    if (reserved.has(lower) || !isHeaderName(lower)) continue;
    if (!isHeaderValue(value))
      throw new ServiceFailed(`The header ${lower} has characters that a header cannot have.`);
    setHeader(headers, lower, value);
  }
  return headers;
}

/** Sends JSON, and reads the answer as JSON. */
export async function postJson(
  { send }: Pick<RemoteContext, 'send'>,
  url: string,
  given: Readonly<Record<string, string>>,
  body: unknown,
): Promise<JsonReply> {
  const headers = headersFor(given);
  headers.push('content-type', 'application/json');
  const { status, body: bytes } = await send({
    method: 'POST',
    url,
    headers,
    body: Buffer.from(JSON.stringify(body)),
  });
  return { status, json: parse(bytes) };
}

export function parse(bytes: Buffer): unknown {
  try {
    return JSON.parse(bytes.toString('utf8'));
  } catch {
    return undefined;
  }
}

/** A check that could not be made. The stage decides what becomes of its verdict. */
export function failed(error: unknown, explanation: string): CheckResult {
  const { name, message } = error instanceof Error ? error : new ServiceFailed(String(error));
  return { verdict: false, data: { explanation }, error: { name, message: message.slice(0, 500) } };
}

/** Data of another service for `hook_results`: JSON of at most 4 KB, or nothing. */
export function brief(value: unknown): unknown {
  if (value === undefined) return null;
  const text = JSON.stringify(value);
  return text.length <= 4096 ? value : { explanation: 'The data has more than 4 KB.' };
}
