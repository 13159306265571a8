import { constants } from 'node:fs';
import { open, realpath } from 'node:fs/promises';
import { resolve, sep } from 'node:path';
import { SecretFailure } from '../../../common/http/secret-access.js';
import { environmentVariable } from '../../../common/settings/environment/secret-environment.js';
import type { SecretSource } from '../secret-source.js';

/** No secret is larger. */
const maxBytes = 256 * 1024;

/** Variables of the gateway's environment: those that the operator lists. */
export class EnvironmentSecrets implements SecretSource {
  readonly #readable: ReadonlySet<string>;

  constructor(readable: readonly string[]) {
    this.#readable = new Set(readable);
  }

  async fetch({ secretPath }: { readonly secretPath: string }): Promise<string> {
    if (!this.#readable.has(secretPath))
      throw new SecretFailure(
        'HEADGATE_SECRET_ENV does not list its environment variable: have the operator add it',
      );
    const value = environmentVariable(secretPath);
    if (value === null) throw new SecretFailure('its environment variable is not set');
    return value;
  }
}

/** Files in a folder that the operator names. */
export class FileSecrets implements SecretSource {
  /** null: there is none. */
  constructor(readonly folder: string | null) {}

  async fetch({ secretPath }: { readonly secretPath: string }): Promise<string> {
    if (this.folder === null)
      throw new SecretFailure('HEADGATE_SECRET_DIR is not set: have the operator set it');
    let folder: string;
    let path: string;
    try {
      folder = await realpath(this.folder);
      path = await realpath(resolve(folder, secretPath));
    } catch {
      throw new SecretFailure('there is no such file in the folder HEADGATE_SECRET_DIR');
    }
    if (secretPath.startsWith('/') || !path.startsWith(folder.endsWith(sep) ? folder : folder + sep))
      throw new SecretFailure('its file is outside of the folder HEADGATE_SECRET_DIR');
    return readSmall(path);
  }
}

async function readSmall(path: string): Promise<string> {
  try {
    // Non-blocking, since opening a pipe could wait without end. The links of the path were resolved before.
    const file = await open(path, constants.O_RDONLY | constants.O_NONBLOCK | constants.O_NOFOLLOW);
    try {
      const stats = await file.stat();
      if (!stats.isFile()) throw new SecretFailure('its path is not a file');
      if (stats.size > maxBytes) throw new SecretFailure('its file is larger than 256 KiB');
      // An editor ends a file with a line break.
      return (await file.readFile('utf8')).replace(/\r?\n$/, '');
    } finally {
      await file.close();
    }
  } catch (error) {
    if (error instanceof SecretFailure) throw error;
    throw new SecretFailure('its file cannot be read by the gateway');
  }
}
