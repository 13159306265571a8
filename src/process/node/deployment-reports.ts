import { readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Secret } from '../../common/access/secret.js';
import type { Logger } from '../../common/plugin-host/plugin.js';
import { RefusedStart } from '../../control-plane/store/files/refused-start.js';
import type { Store } from '../../control-plane/store/store.js';
import { isAway } from './away.js';

/** Readers take a deployment for absent that was not seen for three times as long. Milliseconds. */
const everyMs = 30_000;

export interface DeploymentReportsOptions {
  readonly store: Pick<Store, 'deployments' | 'hashKey'>;
  readonly dataDir: string;
  readonly secret: Secret;
  readonly log: Logger;
  readonly everyMs?: number;
}

/** Reports a node as the gateway of the deployment whose secret it has. */
export class DeploymentReports {
  readonly #hash: string;
  #timer: NodeJS.Timeout | null = null;
  #isSignedIn = true;

  private constructor(
    readonly id: string,
    readonly options: DeploymentReportsOptions,
  ) {
    this.#hash = options.store.hashKey(options.secret.reveal());
  }

  /** Throws RefusedStart for a secret of no active deployment. While the store is away, what it was at the last start counts. */
  static async begin(options: DeploymentReportsOptions): Promise<DeploymentReports> {
    const { store, dataDir, secret } = options;
    const hash = store.hashKey(secret.reveal());
    const file = join(dataDir, 'deployment.json');
    let id: string;
    try {
      const found = await store.deployments.bySecret(hash);
      if (found === null) {
        rmSync(file, { force: true });
        throw new RefusedStart(
          'HEADGATE_DEPLOYMENT_SECRET is the secret of no active deployment: it was rotated, or its deployment archived. Give the one that headgate deployments update --rotate-auth prints.',
        );
      }
      id = found.id;
      writeFileSync(file, `${JSON.stringify({ hash, id })}\n`, { mode: 0o600 });
    } catch (error) {
      const known = isAway(error) ? idIn(file, hash) : null;
      if (known === null) throw error;
      id = known;
    }
    const reports = new DeploymentReports(id, options);
    reports.#begin();
    return reports;
  }

  #begin(): void {
    void this.#report();
    this.#timer = setInterval(() => this.#report(), this.options.everyMs ?? everyMs);
    this.#timer.unref();
  }

  async #report(): Promise<void> {
    const { store, log } = this.options;
    try {
      const isSignedIn = await store.deployments.seen(this.id, this.#hash);
      if (this.#isSignedIn && !isSignedIn)
        log.error(
          { deployment: this.id },
          'the secret of this deployment is no longer valid: start again with the new one',
        );
      this.#isSignedIn = isSignedIn;
    } catch (error) {
      if (!isAway(error)) log.error({ err: error }, 'this deployment could not be reported');
    }
  }

  stop(): void {
    if (this.#timer !== null) clearInterval(this.#timer);
  }
}

/** The deployment that a secret belonged to at the last start; null: it is not known. */
function idIn(file: string, hash: string): string | null {
  try {
    const known = JSON.parse(readFileSync(file, 'utf8')) as { hash?: string; id?: string };
    return known.hash === hash ? (known.id ?? null) : null;
  } catch {
    return null;
  }
}
