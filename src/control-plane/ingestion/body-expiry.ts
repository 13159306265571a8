import { readFile, rename, unlink, utimes, writeFile } from 'node:fs/promises';
import { setImmediate as nextTurn } from 'node:timers/promises';
import type { LogRetention } from '../../common/ledger/logs/retention.js';
import { isAlive, parseFileName } from '../../common/ledger/writer.js';
import { type BodyFile, type BodyHeader, bodyFiles, bodyLengths } from './body-reader.js';

const dayMs = 86_400_000;

/** Deletes bodies in the files of the journals whose time is over. Files that are being written are left until they are full. */
export class BodyExpiry {
  /** The day on which a file was last searched for single bodies, by its name. */
  readonly #searched = new Map<string, number>();

  constructor(readonly dir: string) {}

  async expire(retention: LogRetention, now: number): Promise<void> {
    const files = await bodyFiles(this.dir);
    const growing = growingFiles(files);
    const names = new Set(files.map(({ name }) => name));
    for (const name of this.#searched.keys()) if (!names.has(name)) this.#searched.delete(name);
    for (const file of files) {
      if (growing.has(file.name)) continue;
      if (retention.bodiesBefore !== null && file.writtenAt < retention.bodiesBefore) await unlink(file.path);
      else await this.#expireSome(file, retention, now);
    }
  }

  /** Once a day: the file is read. */
  async #expireSome(file: BodyFile, { workspaces }: LogRetention, now: number): Promise<void> {
    const cutoffs = new Map<string, number>();
    for (const { org, workspace, bodiesBefore } of workspaces)
      if (bodiesBefore !== null && bodiesBefore > file.openedAt)
        cutoffs.set(`${org} ${workspace}`, bodiesBefore);
    const day = Math.floor(now / dayMs);
    if (cutoffs.size === 0 || this.#searched.get(file.name) === day) return;
    const bytes = await readFile(file.path);
    const kept = await keptParts(
      bytes,
      ([, at, org, workspace]) => at >= (cutoffs.get(`${org} ${workspace}`) ?? 0),
    );
    const length = kept.reduce((sum, part) => sum + part.length, 0);
    if (length === 0) await unlink(file.path);
    else if (length < bytes.length) {
      const other = `${file.path}.tmp`;
      await writeFile(other, kept, { mode: 0o600 });
      // Bodies are looked for by this time.
      await utimes(other, file.writtenAt / 1000, file.writtenAt / 1000);
      await rename(other, file.path);
    }
    this.#searched.set(file.name, day);
  }
}

/** The last file of each process that runs. */
function growingFiles(files: readonly BodyFile[]): ReadonlySet<string> {
  const newest = new Map<string, BodyFile>();
  for (const file of files) {
    const { worker, pid } = parseFileName(file.name) ?? { worker: '', pid: 0 };
    if (!isAlive(pid, '')) continue;
    const other = newest.get(`${worker} ${pid}`);
    if (other === undefined || other.openedAt < file.openedAt) newest.set(`${worker} ${pid}`, file);
  }
  return new Set([...newest.values()].map(({ name }) => name));
}

/** The records that stay. What follows a break stays: where the next record begins is not known. */
async function keptParts(bytes: Buffer, isKept: (header: BodyHeader) => boolean): Promise<Buffer[]> {
  const kept: Buffer[] = [];
  let seen = 0;
  for (let at = 0; at < bytes.length; ) {
    const end = bytes.indexOf(0x0a, at);
    const [request, response] = end < 0 ? [Number.NaN, Number.NaN] : bodyLengths(bytes, at, end);
    const next = end + 1 + Math.max(0, request) + Math.max(0, response);
    if (Number.isNaN(next) || bytes[next] !== 0x0a) return [...kept, bytes.subarray(at)];
    const header = JSON.parse(bytes.toString('latin1', at + 1, end)) as BodyHeader;
    if (isKept(header)) kept.push(bytes.subarray(at, next + 1));
    at = next + 1;
    if (++seen % 1024 === 0) await nextTurn();
  }
  return kept;
}
