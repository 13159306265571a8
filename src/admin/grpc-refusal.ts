import { Metadata, type StatusObject } from '@grpc/grpc-js';
import type { AdminError } from './admin-error.js';

/** A refusal as gRPC says it; its code and the request's id stand in the trailer. */
export function refusalOf(error: AdminError, requestId: string): Error & StatusObject {
  const metadata = new Metadata();
  metadata.set('x-gateway-error-code', error.code);
  metadata.set('x-request-id', requestId);
  return Object.assign(new Error(error.message), {
    code: error.answered.grpc,
    details: error.message,
    metadata,
  });
}
