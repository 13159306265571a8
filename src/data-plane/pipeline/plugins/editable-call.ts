import type { EditableCall, UpstreamCall } from '../../../common/core/exchange.js';
import {
  connectionHeaders,
  isHeaderName,
  isHeaderValue,
  removeHeader,
  setHeader,
} from '../../../common/http/headers.js';

/** They belong to the connection, which writes them itself. */
const framing: ReadonlySet<string> = new Set(connectionHeaders);

/** Of every call that `attempt` hooks get. */
function setCallHeader(this: UpstreamCall, name: string, value: string | null): void {
  const lower = typeof name === 'string' ? name.toLowerCase() : '';
  if (!isHeaderName(lower)) throw new TypeError(`${JSON.stringify(name)} is not the name of a header.`);
  if (framing.has(lower))
    throw new TypeError(`The header ${lower} belongs to the connection: the gateway writes it itself.`);
  if (value === null) return removeHeader(this.headers, lower);
  if (typeof value !== 'string' || !isHeaderValue(value))
    throw new TypeError(`The value of the header ${lower} must be text without control characters.`);
  setHeader(this.headers, lower, value);
}

/** The call itself, with what hooks may do with it. */
export function editableCall(call: UpstreamCall): EditableCall {
  return Object.assign(call, { setHeader: setCallHeader });
}
