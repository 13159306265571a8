import { errorBody } from '../../common/core/error-body.js';
import type { GatewayError } from '../../common/core/errors.js';
import type { HeaderList } from '../../common/http/headers.js';
import type { Refusal, TransportOptions } from './transport.js';

/** In the format of the options' `refusal`, else as plain text. */
export function refusalOf(
  { refusal }: TransportOptions,
  error: GatewayError,
  path: string,
  headers: HeaderList,
): Refusal {
  if (refusal !== undefined) return refusal(error, path, headers);
  return { headers: ['Content-Type', 'application/json'], body: errorBody(error, null) };
}
