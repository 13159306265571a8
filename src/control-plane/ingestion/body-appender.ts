import { appendFile, mkdir, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { asciiJson } from '../../common/ledger/line-writer.js';
import type { Bodies } from '../../common/ledger/record.js';
import { fileName } from '../../common/ledger/writer.js';

const maxFileBytes = 16 * 1024 * 1024;

/** Bodies that this process takes in itself, in files like those of data workers, where they are found and pruned alike. */
export class BodyAppender {
  #path: string | null = null;
  #n = 0;
  #turn: Promise<unknown> = Promise.resolve();

  constructor(readonly dir: string) {}

  /** One call after the other. */
  add(bodies: readonly Bodies[]): Promise<void> {
    const done = this.#turn.then(() => this.#append(Buffer.concat(bodies.map(bodyRecord))));
    this.#turn = done.catch(() => {});
    return done;
  }

  async #append(bytes: Buffer): Promise<void> {
    if (bytes.length === 0) return;
    const size = this.#path === null ? 0 : ((await stat(this.#path).catch(() => null))?.size ?? 0);
    if (this.#path === null || size === 0 || size > maxFileBytes) {
      await mkdir(this.dir, { recursive: true, mode: 0o700 });
      this.#n = Math.max(this.#n + 1, Date.now());
      this.#path = join(this.dir, fileName('control', process.pid, this.#n, 'bodies'));
    }
    await appendFile(this.#path, bytes, { mode: 0o600 });
  }
}

/** A header line with the lengths of the bodies, then their bytes. */
export function bodyRecord({ id, at, org, workspace, cut, request, response, headers }: Bodies): Buffer {
  const [asked, answered] = [request, response].map((text) => (text === null ? null : Buffer.from(text)));
  const lengths = [asked?.length ?? -1, answered?.length ?? -1];
  const about = [
    id,
    at,
    org,
    workspace,
    cut ? 1 : 0,
    ...(headers === undefined ? [] : [headers]),
    ...lengths,
  ];
  return Buffer.concat([
    Buffer.from(`B${asciiJson(about)}\n`, 'latin1'),
    ...(asked ? [asked] : []),
    ...(answered ? [answered] : []),
    Buffer.from('\n'),
  ]);
}
