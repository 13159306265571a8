import { createHash, hkdfSync, randomBytes, scryptSync } from 'node:crypto';
import {
  closeSync,
  existsSync,
  fstatSync,
  fsyncSync,
  linkSync,
  mkdirSync,
  openSync,
  readFileSync,
  unlinkSync,
  writeSync,
} from 'node:fs';
import { join } from 'node:path';
import { inspect } from 'node:util';
import { RefusedStart } from './refused-start.js';

/** The key that every other secret of a store hangs on. Never printed, never stored beside what it seals. */
export class MasterKey {
  readonly #bytes: Buffer;
  /** Tells master keys apart without saying anything about them. */
  readonly id: string;

  constructor(bytes: Buffer) {
    if (bytes.length !== 32) throw new RefusedStart('The master key must be 32 bytes long.');
    this.#bytes = Buffer.from(bytes);
    this.id = createHash('sha256').update(this.#derive('headgate master key id')).digest('hex').slice(0, 16);
  }

  #derive(purpose: string): Buffer {
    return Buffer.from(hkdfSync('sha256', this.#bytes, Buffer.alloc(0), purpose, 32));
  }

  /** Wraps the organisations' data keys; never used on anything else. */
  wrappingKey(): Buffer {
    return this.#derive('headgate data key wrapping v1');
  }

  /** Goes into the hash of every gateway key. A row says under which version its hash was made. */
  pepper(version = 1): Buffer {
    return this.#derive(`headgate gateway key pepper v${version}`);
  }

  toString(): string {
    return '[secret]';
  }

  toJSON(): string {
    return '[secret]';
  }

  [inspect.custom](): string {
    return '[secret]';
  }
}

const hint = 'give 32 random bytes as hex or base64 (openssl rand -hex 32)';

/**
 * 32 bytes written as hex or base64 are the key; any other text of 16 characters or more is a passphrase. Its salt is
 * fixed, there being no place to keep one that the key does not itself open: hence scrypt at a cost felt once a start.
 */
function parse(text: string, origin: string): MasterKey {
  const trimmed = text.trim();
  if (trimmed.length < 16 || new Set(trimmed).size < 8) {
    throw new RefusedStart(`The master key in ${origin} is too weak: ${hint}.`);
  }
  if (/^[0-9a-fA-F]{64}$/.test(trimmed)) return new MasterKey(Buffer.from(trimmed, 'hex'));
  if (/^[A-Za-z0-9+/_-]{43}=?$/.test(trimmed)) return new MasterKey(Buffer.from(trimmed, 'base64'));
  const cost = { N: 2 ** 17, r: 8, p: 1, maxmem: 256 * 1024 * 1024 };
  return new MasterKey(scryptSync(trimmed, 'headgate master key v1', 32, cost));
}

function readKeyFile(path: string): MasterKey {
  let file: number;
  try {
    file = openSync(path, 'r');
  } catch (error) {
    throw new RefusedStart(
      `The master key file ${path} cannot be read (${(error as NodeJS.ErrnoException).code}).`,
    );
  }
  try {
    if ((fstatSync(file).mode & 0o077) !== 0) {
      throw new RefusedStart(`The master key file ${path} is open to other users: chmod 600 it.`);
    }
    return parse(readFileSync(file, 'utf8'), path);
  } finally {
    closeSync(file);
  }
}

function syncFolder(path: string): void {
  const folder = openSync(path, 'r');
  try {
    fsyncSync(folder);
  } finally {
    closeSync(folder);
  }
}

/** Written aside and linked: a crash leaves no half key, and of two first starts one key wins. */
function generate(dataDir: string, path: string): MasterKey {
  const aside = `${path}.${process.pid}.tmp`;
  const file = openSync(aside, 'wx', 0o600);
  try {
    writeSync(file, `${randomBytes(32).toString('hex')}\n`);
    fsyncSync(file);
  } finally {
    closeSync(file);
  }
  try {
    linkSync(aside, path);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
  } finally {
    unlinkSync(aside);
  }
  syncFolder(dataDir);
  return readKeyFile(path);
}

export interface MasterKeyPlaces {
  /** The key itself, from the environment. */
  readonly env?: string | undefined;
  /** A file that holds it. */
  readonly file?: string | undefined;
  readonly dataDir: string;
}

/**
 * Finds the master key: given, in a file, or in the data directory, where the very first start makes one. A data
 * directory that has a database and no key is refused: a new key would open nothing in it.
 */
export function loadMasterKey(places: MasterKeyPlaces): MasterKey {
  const { env, file, dataDir } = places;
  if (env && file) {
    throw new RefusedStart('Set HEADGATE_MASTER_KEY or HEADGATE_MASTER_KEY_FILE, not both.');
  }
  if (env) return parse(env, 'HEADGATE_MASTER_KEY');
  if (file) return readKeyFile(file);
  const path = join(dataDir, 'master.key');
  if (existsSync(path)) return readKeyFile(path);
  if (existsSync(join(dataDir, 'headgate.db'))) {
    throw new RefusedStart(
      `${dataDir} has a database and no master.key: put the key back, or set HEADGATE_MASTER_KEY to the one it was made with.`,
    );
  }
  try {
    mkdirSync(dataDir, { recursive: true, mode: 0o700 });
    return generate(dataDir, path);
  } catch (error) {
    if (error instanceof RefusedStart) throw error;
    throw new RefusedStart(
      `No master key can be written to ${dataDir} (${(error as NodeJS.ErrnoException).code}): make the directory writable or set HEADGATE_MASTER_KEY.`,
    );
  }
}
