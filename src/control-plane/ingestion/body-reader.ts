import { readdir, readFile, stat, unlink } from 'node:fs/promises';
import { join } from 'node:path';
import { setImmediate as nextTurn } from 'node:timers/promises';
import type { Bodies, LoggedHeaders } from '../../common/ledger/record.js';
import { parseFileName } from '../../common/ledger/writer.js';

/** First line of a record in a file of bodies, after its letter; then the bytes of the two bodies follow. */
export type BodyHeader = [
  id: string,
  at: number,
  org: string,
  workspace: string | null,
  cut: 0 | 1,
  /** The headers, where they were kept; then the bytes of the request and of the response. */
  ...rest: (LoggedHeaders | number)[],
];

/** Nothing where none were kept. */
export const headersOfBodies = ([, , , , , headers]: BodyHeader): Pick<Bodies, 'headers'> =>
  typeof headers === 'object' && headers !== null ? { headers } : {};

/**
 * Milliseconds. A body is written after its exchange was settled: after its tokens are counted, and up to a flush
 * later. A file's time, in turn, is from a coarser clock than the exchange's and may be some milliseconds earlier.
 */
const slackMs = 30_000;

/**
 * Finds the bodies of one exchange in the files of a journal directory. `from` and `to`: the start and end of the
 * exchange. Only files that were open about then are searched.
 */
export async function findBodies(
  dir: string,
  org: string,
  id: string,
  from: number,
  to: number,
): Promise<Bodies | null> {
  for (const file of await bodyFiles(dir)) {
    if (file.openedAt > to + slackMs || file.writtenAt < from - slackMs) continue;
    const bytes = await readFile(file.path).catch(() => null);
    const found = bytes === null ? null : await search(bytes, org, id);
    if (found !== null) return found;
  }
  return null;
}

/**
 * Walks from header to header and never searches for the id, since a body may contain any text, such as another
 * tenant's header. Yields to the event loop regularly, since a file has many thousands of headers.
 */
async function search(bytes: Buffer, org: string, id: string): Promise<Bodies | null> {
  const wanted = Buffer.from(`B["${id}",`, 'latin1');
  let seen = 0;
  for (let at = 0; at < bytes.length; ) {
    const end = bytes.indexOf(0x0a, at);
    if (end < 0) return null;
    const [requestBytes, responseBytes] = bodyLengths(bytes, at, end);
    const request = end + 1;
    const response = request + Math.max(0, requestBytes);
    const next = response + Math.max(0, responseBytes);
    // A torn end, or a break in the middle: the start of what follows cannot be found.
    if (Number.isNaN(requestBytes + responseBytes) || bytes[next] !== 0x0a) return null;
    if (bytes.compare(wanted, 0, wanted.length, at, at + wanted.length) === 0) {
      const header = JSON.parse(bytes.toString('latin1', at + 1, end)) as BodyHeader;
      if (header[2] === org) {
        return {
          id,
          at: header[1],
          org,
          workspace: header[3],
          request: requestBytes < 0 ? null : bytes.toString('utf8', request, response),
          response: responseBytes < 0 ? null : bytes.toString('utf8', response, next),
          cut: header[4] === 1,
          ...headersOfBodies(header),
        };
      }
    }
    at = next + 1;
    if (++seen % 2048 === 0) await nextTurn();
  }
  return null;
}

/** The two last numbers of a header line, read from its end. NaN: there are none. */
export function bodyLengths(bytes: Buffer, from: number, end: number): [number, number] {
  if (bytes[from] !== 0x42 || bytes[end - 1] !== 0x5d) return [Number.NaN, Number.NaN];
  const second = bytes.lastIndexOf(0x2c, end);
  const first = bytes.lastIndexOf(0x2c, second - 1);
  if (first < from) return [Number.NaN, Number.NaN];
  return [
    Number(bytes.toString('latin1', first + 1, second)),
    Number(bytes.toString('latin1', second + 1, end - 1)),
  ];
}

export interface BodyFile {
  readonly name: string;
  readonly path: string;
  readonly openedAt: number;
  readonly writtenAt: number;
  readonly bytes: number;
}

export async function bodyFiles(dir: string): Promise<BodyFile[]> {
  const files: BodyFile[] = [];
  for (const name of await readdir(dir).catch(() => [])) {
    const parsed = parseFileName(name);
    if (parsed?.kind !== 'bodies') continue;
    const path = join(dir, name);
    const about = await stat(path).catch(() => null);
    if (about !== null)
      files.push({ name, path, openedAt: parsed.n, writtenAt: about.mtimeMs, bytes: about.size });
  }
  return files;
}

/** Milliseconds; a file written more recently may still be open. */
const openForMs = 60_000;

/** Deletes the oldest files until the rest fits; returns how many. Files still being written are kept. */
export async function pruneBodies(dir: string, maxBytes: number): Promise<number> {
  const files = (await bodyFiles(dir)).sort((a, b) => a.writtenAt - b.writtenAt);
  let total = files.reduce((sum, file) => sum + file.bytes, 0);
  let deleted = 0;
  for (const file of files) {
    if (total <= maxBytes) break;
    // A time in the future, from a clock that was ahead, counts as old.
    if (Math.abs(Date.now() - file.writtenAt) < openForMs) continue;
    await unlink(file.path);
    total -= file.bytes;
    deleted++;
  }
  return deleted;
}
