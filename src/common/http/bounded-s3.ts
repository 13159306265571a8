import { Readable } from 'node:stream';
import type { S3Client } from '@aws-sdk/client-s3';

/** Of an answer that is read as a whole. A list of a thousand uploads takes half of this. Bytes. */
const maxAnswer = 1024 * 1024;
const maxError = 64 * 1024;

/**
 * Bounds the body of an answer that the client reads; without this, it reads an endless body of an error to no end. The content of
 * an object is streamed, and is not bounded.
 */
export function boundAnswers(client: S3Client): S3Client {
  client.middlewareStack.add(
    (next, { commandName }) =>
      async (args) => {
        const result = await next(args);
        const response = result.response as { statusCode: number; body?: unknown };
        const isError = response.statusCode >= 300;
        if (response.body instanceof Readable && (isError || commandName !== 'GetObjectCommand'))
          response.body = bounded(response.body, isError ? maxError : maxAnswer);
        return result;
      },
    { step: 'deserialize', priority: 'low', name: 'boundAnswers' },
  );
  return client;
}

/** `most`: bytes after which the body fails, and its connection is closed. */
const bounded = (body: Readable, most: number): Readable =>
  Readable.from(pieces(body, most), { objectMode: false });

/** Nothing is read before the client asks for it: by then it listens to errors, without which one would end the process. */
async function* pieces(body: Readable, most: number): AsyncGenerator<Buffer> {
  let bytes = 0;
  for await (const piece of body as AsyncIterable<Buffer>) {
    bytes += piece.length;
    if (bytes > most) throw new Error('the answer is too long');
    yield piece;
  }
}
