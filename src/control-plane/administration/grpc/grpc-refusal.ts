import { Metadata, type StatusObject } from '@grpc/grpc-js';
import type { AdminError, Fault } from '../admin-error.js';

/**
 * A refusal over gRPC. The trailer has its code, the id of the request and, where fields are at fault, all of them as a
 * `google.rpc.BadRequest` in `grpc-status-details-bin`.
 */
export function refusalOf(error: AdminError, requestId: string): Error & StatusObject {
  const metadata = new Metadata();
  metadata.set('x-gateway-error-code', error.code);
  metadata.set('x-request-id', requestId);
  if (error.retryAfter !== undefined) metadata.set('retry-after', String(error.retryAfter));
  if (error.faults.length > 0) metadata.set('grpc-status-details-bin', statusDetails(error));
  return Object.assign(new Error(error.message), {
    code: error.answered.grpc,
    details: detailsOf(error.message),
    metadata,
  });
}

/** Bytes of the message as the trailer has it: percent-encoded, up to nine for a character. */
const longestDetails = 4000;

/** The message, cut where it is too long once it is encoded; grpc-js throws at half of a surrogate pair. */
function detailsOf(message: string): string {
  const text = (message as unknown as { toWellFormed(): string }).toWellFormed();
  if (encodeURI(text).length <= longestDetails) return text;
  const characters = [...text].slice(0, longestDetails);
  let bytes = 0;
  const end = characters.findIndex((character) => {
    bytes += encodeURI(character).length;
    return bytes > longestDetails;
  });
  return `${characters.slice(0, end === -1 ? undefined : end).join('')}…`;
}

/** Clients limit the size of trailers, often to 8 KiB, and the message is in there as well. */
const mostDetailBytes = 3 * 1024;
const longestText = 200;

/** A `google.rpc.Status` with a `google.rpc.BadRequest` among its details. */
function statusDetails({ answered, message, faults }: AdminError): Buffer {
  const violations: Buffer[] = [];
  let bytes = 0;
  for (const [i, fault] of faults.entries()) {
    const violation = field(1, fieldViolation(fault));
    bytes += violation.length;
    if (bytes > mostDetailBytes) {
      const problem = `${faults.length - i} more fields are at fault: correct these first.`;
      violations.push(field(1, fieldViolation({ path: '', problem })));
      break;
    }
    violations.push(violation);
  }
  const badRequest = Buffer.concat(violations);
  const any = Buffer.concat([
    field(1, Buffer.from('type.googleapis.com/google.rpc.BadRequest')),
    field(2, badRequest),
  ]);
  const code = Buffer.concat([varint(1 << 3), varint(answered.grpc)]);
  return Buffer.concat([code, field(2, Buffer.from(message.slice(0, longestText))), field(3, any)]);
}

const fieldViolation = ({ path, problem }: Fault): Buffer =>
  Buffer.concat([
    field(1, Buffer.from(path.slice(0, longestText))),
    field(2, Buffer.from(problem.slice(0, longestText))),
  ]);

/** A field of the wire type for texts, bytes and messages. */
const field = (number: number, content: Buffer): Buffer =>
  Buffer.concat([varint((number << 3) | 2), varint(content.length), content]);

function varint(value: number): Buffer {
  const bytes: number[] = [];
  let rest = value;
  for (; rest > 127; rest >>>= 7) bytes.push((rest & 127) | 128);
  bytes.push(rest);
  return Buffer.from(bytes);
}
