import { setImmediate as nextTurn } from 'node:timers/promises';
import type { CreateTracesRequest } from '../../../../../../proto/messages.js';
import type { LogWriter } from '../../../../../common/ledger/logs/log-writer.js';
import { encodedResponse } from './otlp-proto.js';
import { encodingOf, type OtlpEncoding, readSpans } from './otlp-request.js';
import { isGenAiSpan } from './span-attributes.js';
import { type SpanLog, type SpanLogContext, spanFault, spanLog } from './span-log.js';

/** Logs of one request; days (UTC) that they may be of, since each is a partition of its own in PostgreSQL. */
const mostLogs = 5_000;
const mostDays = 32;
/** Rows that are written in one transaction, and spans that are read before other work of the process has its turn. */
const batchRows = 1_000;
const turnSpans = 100;
const dayMs = 86_400_000;

interface HttpBody {
  readonly content_type: string;
  readonly data: Buffer;
}

/** Keeps the calls of models among the spans of an OTLP request. */
export async function createTraces(
  { spans: body }: CreateTracesRequest,
  context: SpanLogContext,
  logWriter: LogWriter,
): Promise<HttpBody> {
  const encoding = encodingOf(body?.content_type ?? '');
  const spans = await readSpans(body?.data ?? new Uint8Array(), encoding);
  const logs = new Map<string, SpanLog>();
  const days = new Set<number>();
  const rejected = new Rejected();
  const now = Date.now();
  for (const [i, span] of spans.entries()) {
    if (i % turnSpans === turnSpans - 1) await nextTurn();
    if (!isGenAiSpan(span)) continue;
    const fault = spanFault(span, now);
    const day = Math.floor(span.startMs / dayMs);
    if (fault !== null) rejected.add(`${JSON.stringify(span.name.slice(0, 80))}: ${fault}.`);
    else if (logs.size === mostLogs) rejected.add(`A request may have at most ${mostLogs} calls of models.`);
    else if (!days.has(day) && days.size === mostDays)
      rejected.add(`The spans of a request may be of at most ${mostDays} days.`);
    else {
      days.add(day);
      const log = spanLog(span, context);
      logs.set(log.row.id, log);
    }
  }
  await write([...logs.values()], logWriter);
  return answer(encoding, rejected);
}

async function write(logs: readonly SpanLog[], logWriter: LogWriter): Promise<void> {
  for (let i = 0; i < logs.length; i += batchRows) {
    const batch = logs.slice(i, i + batchRows);
    const added = await logWriter.addRows(batch.map(({ row }) => row));
    // All of them were there: it was sent again.
    if (added === 0) continue;
    const bodies = batch.flatMap((log) => log.bodies ?? []);
    if (bodies.length > 0) await logWriter.addBodies(bodies);
  }
}

/** Spans that could not be kept, and why the first of them could not. */
class Rejected {
  count = 0;
  message = '';

  add(message: string): void {
    if (this.count++ === 0) this.message = message;
  }
}

function answer(encoding: OtlpEncoding, { count, message }: Rejected): HttpBody {
  if (encoding === 'protobuf')
    return { content_type: 'application/x-protobuf', data: Buffer.from(encodedResponse(count, message)) };
  const partialSuccess = { rejectedSpans: String(count), errorMessage: message };
  return {
    content_type: 'application/json',
    data: Buffer.from(JSON.stringify(count === 0 ? {} : { partialSuccess })),
  };
}
