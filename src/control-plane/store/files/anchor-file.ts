import { createReadStream } from 'node:fs';
import { open, readFile, rename, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { AnchorHistory, type AuditAnchor, claimedAnchor } from './audit-anchors.js';
import { RefusedStart } from './refused-start.js';

/** Past this size the file is renamed, and the new one begins with the newest anchor of each organisation. */
const maxBytes = 16 * 1024 * 1024;

/** The file that the settings name. */
export const anchorFileOf = (settings: {
  readonly dataDir: string;
  readonly auditAnchorFile: string | null;
}): AnchorFile => new AnchorFile(settings.auditAnchorFile ?? join(settings.dataDir, 'audit-anchors.jsonl'));

/** Anchors of audit logs, one a line. Only ever appended to; the file before it is kept beside it. */
export class AnchorFile {
  constructor(
    readonly path: string,
    readonly rotateAtBytes = maxBytes,
  ) {}

  get previousPath(): string {
    return `${this.path}.1`;
  }

  /**
   * Reads both files; one that is missing is empty. `rejected`: lines that this store did not sign, or that were
   * written in part.
   */
  async read(
    parse: (line: string) => AuditAnchor | null,
  ): Promise<{ readonly history: AnchorHistory; readonly rejected: number }> {
    const history = new AnchorHistory();
    let rejected = 0;
    for (const path of [this.previousPath, this.path]) {
      for await (const line of linesOf(path)) {
        if (line.trim() === '') continue;
        const anchor = parse(line);
        if (anchor === null) rejected += 1;
        else history.add(anchor);
      }
    }
    return { history, rejected };
  }

  /**
   * The newest anchor of each organisation, as `read` finds it, without verifying all others: a signature takes 0.1 ms.
   * `rejected`: lines among those looked at that this store did not sign, or that were written in part.
   */
  async newest(
    parse: (line: string) => AuditAnchor | null,
  ): Promise<{ readonly anchors: readonly AuditAnchor[]; readonly rejected: number }> {
    const newest = new Map<string, AuditAnchor>();
    let rejected = 0;
    for (const path of [this.path, this.previousPath]) {
      for (const line of (await textOf(path)).split('\n').reverse()) {
        if (line.trim() === '') continue;
        const claimed = claimedAnchor(line);
        const known = claimed === null ? undefined : newest.get(claimed.organisation);
        if (claimed !== null && known !== undefined && claimed.time <= known.time) continue;
        const anchor = claimed === null ? null : parse(line);
        if (anchor === null) rejected += 1;
        else newest.set(anchor.organisation, anchor);
      }
    }
    return { anchors: [...newest.values()], rejected };
  }

  /** Appends `lines`; they are on disk when this resolves. `newest`: what a new file begins with, should one be due. */
  async append(lines: readonly string[], newest: () => readonly string[]): Promise<void> {
    const { size } = await stat(this.path).catch(() => ({ size: 0 }));
    let text = lines;
    if (size > this.rotateAtBytes) {
      await rename(this.path, this.previousPath);
      text = newest();
    }
    const file = await open(this.path, 'a', 0o600);
    try {
      // A line of its own, whatever a crash has left of the one before it. Readers skip empty lines.
      await file.appendFile(`\n${text.join('\n')}\n`);
      await file.sync();
    } finally {
      await file.close();
    }
  }
}

async function textOf(path: string): Promise<string> {
  try {
    return await readFile(path, 'utf8');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error;
    return '';
  }
}

/** Characters; lines of the process log, which may be given instead, are shorter as well. */
const longestLine = 4 * 1024 * 1024;

async function* linesOf(path: string): AsyncGenerator<string> {
  let rest = '';
  try {
    for await (const piece of createReadStream(path, 'utf8')) {
      const lines = (rest + (piece as string)).split(/\r?\n/);
      rest = lines.pop() ?? '';
      if (rest.length > longestLine)
        throw new RefusedStart(
          `${path} is not a file of anchors: it has a line of more than 4 Mi characters.`,
        );
      yield* lines;
    }
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error;
  }
  if (rest !== '') yield rest;
}
