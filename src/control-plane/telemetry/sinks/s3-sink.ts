import { promisify } from 'node:util';
import { gzip } from 'node:zlib';
import { boundAnswers } from '../../../common/http/bounded-s3.js';
import type { LogSinkSettings } from '../../../common/settings/log-sinks.js';
import { withDeadline } from '../../../common/threads/deadline.js';
import { linesOf } from './lines.js';
import { type LineOf, type LogSink, SinkRefused } from './sink.js';

/** In a thread of Node's: 8 MiB take this one a quarter of a second. */
const zipped = promisify(gzip);

const usualRows = 5000;
const usualMs = 60_000;

/** Batches as objects `prefix/2030/01/31/<id>.jsonl.gz`: a batch that is sent again takes its own place. */
/** `endpoint`: of another service than Amazon's. */
export async function s3Sink(
  name: string,
  settings: LogSinkSettings,
  lineOf: LineOf,
  endpoint: string | null,
): Promise<LogSink> {
  const { S3Client, PutObjectCommand } = await import('@aws-sdk/client-s3');
  const { batch_rows: batchRows = usualRows, batch_ms: batchMs = usualMs } = settings;
  const { host: bucket, pathname } = new URL(settings.url);
  const prefix = pathname.replace(/^\/|\/$/g, '');
  const options = { ...(endpoint !== null && { endpoint, forcePathStyle: true }), maxAttempts: 1 };
  const client = boundAnswers(new S3Client(options));
  return {
    ...{ name, wantsBodies: settings.bodies ?? false, batchRows, batchMs },
    async send({ id, rows }, signal) {
      const day = new Date(rows[0]!.row.at).toISOString().slice(0, 10).replaceAll('-', '/');
      const key = [...(prefix === '' ? [] : [prefix]), day, `${id}.jsonl.gz`].join('/');
      const body = await zipped(await linesOf(rows, lineOf));
      const command = new PutObjectCommand({
        ...{ Bucket: bucket, Key: key, Body: body },
        ...{ ContentType: 'application/x-ndjson', ContentEncoding: 'gzip' },
        Metadata: { 'gateway-batch-id': id },
      });
      try {
        await withDeadline(60_000, signal, (abortSignal) => client.send(command, { abortSignal }));
      } catch (error) {
        throw new SinkRefused((error as Error).name);
      }
    },
  };
}
