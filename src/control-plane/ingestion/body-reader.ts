import { readdir, readFile, stat, unlink } from 'node:fs/promises';
import { join } from 'node:path';
import { setImmediate as nextTurn } from 'node:timers/promises';
import {
  type Bodies,
  type ExchangeBodies,
  hasProviderBodies,
  type LoggedHeaders,
  providerBodiesId,
} from '../../common/ledger/record.js';
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
 * Finds the bodies of one exchange in the files of a journal directory. `from` and `to`: the start and end of the exchange. `sides`:
 * whose are wanted. Only files that were open about then are searched, and each is read once.
 */
export async function findBodies(
  dir: string,
  org: string,
  id: string,
  from: number,
  to: number,
  sides: readonly Side[] = ['client', 'provider'],
): Promise<ExchangeBodies> {
  const search = new Search(org, id, sides);
  for (const file of await bodyFiles(dir)) {
    if (file.openedAt > to + slackMs || file.writtenAt < from - slackMs) continue;
    const bytes = await readFile(file.path).catch(() => null);
    if (bytes !== null) await search.through(bytes);
    if (search.isOver) break;
  }
  return search.found;
}

type Side = keyof ExchangeBodies;

class Search {
  readonly #names: Readonly<Record<Side, Buffer>>;
  found: ExchangeBodies = { client: null, provider: null };

  constructor(
    readonly org: string,
    id: string,
    readonly sides: readonly Side[],
  ) {
    const start = (name: string): Buffer => Buffer.from(`B["${name}",`, 'latin1');
    this.#names = { client: start(id), provider: start(providerBodiesId(id)) };
  }

  get isOver(): boolean {
    const { client, provider } = this.found;
    const isRest = provider !== null || !this.sides.includes('provider');
    return client !== null && (isRest || !hasProviderBodies(client));
  }

  /**
   * Walks from header to header and never searches for the id, since a body may contain any text, such as another
   * tenant's header. Yields to the event loop regularly, since a file has many thousands of headers.
   */
  async through(bytes: Buffer): Promise<void> {
    let seen = 0;
    for (let at = 0; at < bytes.length && !this.isOver; ) {
      const end = bytes.indexOf(0x0a, at);
      if (end < 0) return;
      const lengths = bodyLengths(bytes, at, end);
      const next = end + 1 + Math.max(0, lengths[0]) + Math.max(0, lengths[1]);
      // A torn end, or a break in the middle: the start of what follows cannot be found.
      if (Number.isNaN(next) || bytes[next] !== 0x0a) return;
      for (const side of this.sides) {
        const name = this.#names[side];
        if (this.found[side] !== null || bytes.compare(name, 0, name.length, at, at + name.length) !== 0)
          continue;
        const bodies = recordAt(bytes, at, end, lengths);
        if (bodies.org === this.org) this.found = { ...this.found, [side]: bodies };
      }
      at = next + 1;
      if (++seen % 2048 === 0) await nextTurn();
    }
  }
}

/** The record whose header line is at `at` and ends at `end`. A length below 0: there is no such body. */
function recordAt(
  bytes: Buffer,
  at: number,
  end: number,
  [requestBytes, responseBytes]: [number, number],
): Bodies {
  const header = JSON.parse(bytes.toString('latin1', at + 1, end)) as BodyHeader;
  const [id, time, org, workspace, cut] = header;
  const request = end + 1;
  const response = request + Math.max(0, requestBytes);
  return {
    ...{ id, at: time, org, workspace },
    request: requestBytes < 0 ? null : bytes.toString('utf8', request, response),
    response: responseBytes < 0 ? null : bytes.toString('utf8', response, response + responseBytes),
    cut: cut === 1,
    ...headersOfBodies(header),
  };
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
