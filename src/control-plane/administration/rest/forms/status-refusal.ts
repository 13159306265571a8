import protobuf from 'protobufjs';
import type { AdminError } from '../../admin-error.js';
import { refusalOf } from '../refusal.js';
import { type RestAnswer, type RestRequest, valuesOf } from '../request.js';

/** A refusal as `google.rpc.Status`, in the encoding of the request: that is how OTLP over HTTP answers errors. */
export function statusRefusalOf(error: AdminError, request: RestRequest, requestId: string): RestAnswer {
  const refusal = refusalOf(error, request, requestId);
  const [type = ''] = valuesOf(request.headers, 'content-type');
  const isProtobuf = type.toLowerCase().startsWith('application/x-protobuf');
  const { grpc: code } = error.answered;
  const { message } = error;
  const headers = [...refusal.headers];
  headers[headers.indexOf('content-type') + 1] = isProtobuf ? 'application/x-protobuf' : 'application/json';
  return {
    status: refusal.status,
    headers,
    body: isProtobuf ? encoded(code, message) : JSON.stringify({ code, message, details: [] }),
  };
}

/** By its fields 1 and 2. */
const encoded = (code: number, message: string): Buffer =>
  Buffer.from(protobuf.Writer.create().uint32(8).int32(code).uint32(18).string(message).finish());
