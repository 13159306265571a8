import type { Directory } from '../../common/core/directory.js';

/** Between reports about one stored provider. Milliseconds. */
const everyMs = 5000;
/** Of stored providers that were reported. */
const maxKept = 1000;

/** Reports stored providers whose credential is mapped to a secret and was refused: the secret may have been rotated. */
export class RefusedCredentials {
  /** Monotonic milliseconds of the last report, by workspace and slug. */
  readonly #reported = new Map<string, number>();

  constructor(
    readonly directory: Pick<Directory, 'provider'>,
    readonly send: (workspaceId: string, slug: string) => void,
  ) {}

  report(workspaceId: string, slug: string): void {
    const found = this.directory.provider(workspaceId, slug);
    // One that has to be looked up was forgotten: its next value is a fresh one.
    if (found === null || found instanceof Promise || found.isMapped !== true) return;
    const name = `${workspaceId}\n${slug}`;
    const now = performance.now();
    if (now - (this.#reported.get(name) ?? Number.NEGATIVE_INFINITY) < everyMs) return;
    if (this.#reported.size >= maxKept) this.#reported.clear();
    this.#reported.set(name, now);
    this.send(workspaceId, slug);
  }
}
