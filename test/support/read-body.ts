import type { Endpoint } from '../../src/common/core/endpoint.js';
import type { HeaderList } from '../../src/common/http/headers.js';
import { checkBodyHeaders, type ReadBody, readQuickly } from '../../src/data-plane/endpoints/read-body.js';

/** Reads and checks a body that is read where it arrives. Throws the error for the client. */
export function readBody(endpoint: Endpoint, headers: HeaderList, bytes: Buffer): ReadBody {
  checkBodyHeaders(headers);
  const body = readQuickly(endpoint.name, bytes);
  if (body === null) throw new Error('This body is read in another thread.');
  return body;
}
