import { closeSync, fsyncSync, openSync, renameSync, rmSync, writeSync } from 'node:fs';
import { join } from 'node:path';
import { Secret } from '../../common/access/secret.js';
import { RefusedStart } from './files/refused-start.js';
import type { FirstKeys, Store } from './store.js';

/** Slug of the stored provider that needs no network. */
export const simulatedSlug = 'simulated';

function writeFirstKeys(dataDir: string, first: FirstKeys): void {
  const path = join(dataDir, 'first-keys.json');
  const aside = `${path}.tmp`;
  try {
    rmSync(aside, { force: true });
    const file = openSync(aside, 'wx', 0o600);
    try {
      writeSync(file, `${JSON.stringify(first, null, 2)}\n`);
      fsyncSync(file);
    } finally {
      closeSync(file);
    }
    renameSync(aside, path);
    const folder = openSync(dataDir, 'r');
    fsyncSync(folder);
    closeSync(folder);
  } catch (error) {
    throw new RefusedStart(
      `The first keys cannot be written to ${path} (${(error as NodeJS.ErrnoException).code}): make the directory writable and start again.`,
    );
  }
}

export interface BootstrapOptions {
  readonly dataDir: string;
  /** Keep a stored provider `simulated` in the first workspace. */
  readonly simulated: boolean;
}

/**
 * What a first start makes: organisation, workspace `default`, an admin key, a workspace key, first-keys.json. The
 * file is on disk before the commit: a crash between the two leaves keys that open nothing, and the next start
 * makes others over them. null on every later start.
 */
export async function bootstrap(store: Store, options: BootstrapOptions): Promise<FirstKeys | null> {
  const first = await store.establish((made) => writeFirstKeys(options.dataDir, made));
  const place = await store.first();
  if (options.simulated && place !== null) {
    // `taken`: made by an earlier start.
    await store.providers.create(place, {
      slug: simulatedSlug,
      name: 'Simulated provider',
      provider: 'openai',
      credential: new Secret('sk-sim'),
      baseUrlAtRunTime: true,
    });
  }
  return first;
}
