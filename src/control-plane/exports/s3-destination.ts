import { boundAnswers } from '../../common/http/bounded-s3.js';
import type { ExportDestination, ExportWriter } from './destination.js';

/** S3 takes parts of 5 MiB and more, 10,000 of them. */
const partBytes = 8 * 1024 * 1024;
const usualCallMs = 60_000;

/**
 * Objects `prefix/<name>`, written in parts. `endpoint`: of another service than Amazon's. `callMs`: milliseconds for a call; a
 * download may take longer once it has begun.
 */
export async function s3Destination(
  url: string,
  endpoint: string | null,
  callMs = usualCallMs,
): Promise<ExportDestination> {
  const s3 = await import('@aws-sdk/client-s3');
  const { host: bucket, pathname } = new URL(url);
  const prefix = pathname.replace(/^\/+|\/+$/g, '');
  const options = { ...(endpoint !== null && { endpoint, forcePathStyle: true }) };
  const client = boundAnswers(new s3.S3Client(options));
  const place = (name: string) => ({ Bucket: bucket, Key: prefix === '' ? name : `${prefix}/${name}` });
  const timed = () => ({ abortSignal: AbortSignal.timeout(callMs) });

  /** Parts of uploads that were begun and not ended are stored, and cost money, until that. */
  const abortEarlier = async (name: string): Promise<void> => {
    const { Bucket, Key } = place(name);
    const { Uploads = [] } = await client.send(
      new s3.ListMultipartUploadsCommand({ Bucket, Prefix: Key }),
      timed(),
    );
    for (const { Key: key, UploadId } of Uploads)
      if (key === Key)
        await client.send(new s3.AbortMultipartUploadCommand({ Bucket, Key, UploadId }), timed());
  };

  return {
    async open(name, run, contentType): Promise<ExportWriter> {
      const at = place(name);
      // Not every key may list them; the removal of the file tries again.
      if (run > 1) await abortEarlier(name).catch(() => {});
      const begun = new s3.CreateMultipartUploadCommand({ ...at, ContentType: contentType });
      const { UploadId } = await client.send(begun, timed());
      const parts: { PartNumber: number; ETag: string | undefined }[] = [];
      let waiting: Buffer[] = [];
      let bytes = 0;
      const upload = async (): Promise<void> => {
        const PartNumber = parts.length + 1;
        const Body = Buffer.concat(waiting);
        [waiting, bytes] = [[], 0];
        const sent = await client.send(
          new s3.UploadPartCommand({ ...at, UploadId, PartNumber, Body }),
          timed(),
        );
        parts.push({ PartNumber, ETag: sent.ETag });
      };
      return {
        async write(text) {
          const piece = Buffer.from(text);
          waiting.push(piece);
          bytes += piece.length;
          if (bytes >= partBytes) await upload();
        },
        async finish() {
          // Without any part there would be no object.
          if (bytes > 0 || parts.length === 0) await upload();
          const MultipartUpload = { Parts: parts };
          await client.send(
            new s3.CompleteMultipartUploadCommand({ ...at, UploadId, MultipartUpload }),
            timed(),
          );
        },
        async abandon() {
          await client.send(new s3.AbortMultipartUploadCommand({ ...at, UploadId }), timed());
        },
      };
    },

    async remove(name) {
      await abortEarlier(name);
      await client.send(new s3.DeleteObjectCommand(place(name)), timed());
    },

    async read(name) {
      try {
        // The signal would end the download too, which takes as long as its reader does.
        const late = new AbortController();
        const timer = setTimeout(() => late.abort(), callMs);
        const { Body } = await client
          .send(new s3.GetObjectCommand(place(name)), { abortSignal: late.signal })
          .finally(() => clearTimeout(timer));
        return (Body ?? null) as AsyncIterable<Buffer> | null;
      } catch (error) {
        if ((error as Error).name === 'NoSuchKey') return null;
        throw error;
      }
    },
  };
}
