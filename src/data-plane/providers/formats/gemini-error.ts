import type { JsonObject } from '../../../common/core/exchange.js';
import type { ConversionContext, WireError } from '../provider.js';
import { asObject, asString } from './json-shape.js';
import { readProviderError } from './provider-error.js';

/** `{error: {code, message, status}}` (google.rpc.Status, cloud.google.com/apis/design/errors): the status is the type. */
export function geminiError(status: number, body: JsonObject | null, context: ConversionContext): WireError {
  const read = readProviderError(status, body, context);
  return { ...read, type: asString(asObject(body?.['error'])?.['status']) ?? read.type };
}
