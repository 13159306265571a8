import { createHash, hkdfSync, randomBytes, scryptSync } from 'node:crypto';
import {
  closeSync,
  constants,
  existsSync,
  fstatSync,
  fsyncSync,
  linkSync,
  lstatSync,
  mkdirSync,
  openSync,
  readFileSync,
  renameSync,
  unlinkSync,
  writeSync,
} from 'node:fs';
import { dirname, join } from 'node:path';
import { inspect } from 'node:util';
import { reasonOf } from '../../../common/text/bounded-file.js';
import { effectiveUser, judgeMasterKey, linkedKey } from '../files/private-files.js';
import { RefusedStart } from '../files/refused-start.js';
import { type SealedPlace, seal, unseal } from './seal.js';

const wrappingVersion = 1;

/** The key that every other secret of a store hangs on. Never printed, never stored beside what it seals. */
export class MasterKey {
  readonly #bytes: Buffer;
  /** Distinguishes master keys without revealing anything about them. */
  readonly id: string;

  constructor(bytes: Buffer) {
    if (bytes.length !== 32) throw new RefusedStart('The master key must be 32 bytes long.');
    this.#bytes = Buffer.from(bytes);
    this.id = createHash('sha256').update(this.#derive('headgate master key id')).digest('hex').slice(0, 16);
  }

  #derive(purpose: string): Buffer {
    return Buffer.from(hkdfSync('sha256', this.#bytes, Buffer.alloc(0), purpose, 32));
  }

  /** Wraps other keys; never used on anything else. */
  wrappingKey(): Buffer {
    return this.#derive('headgate data key wrapping v1');
  }

  /** Another key, sealed for its place. */
  wrap(place: SealedPlace, key: Buffer): Buffer {
    return seal(this.wrappingKey(), wrappingVersion, place, key);
  }

  /** Throws SealBroken. */
  unwrap(place: SealedPlace, wrapped: Buffer): Buffer {
    return unseal(this.wrappingKey(), place, wrapped);
  }

  /** For `known.sealed`: one seals its entries, one keeps them in their order. */
  knownKey(use: 'records' | 'order'): Buffer {
    return this.#derive(`headgate known ${use} v1`);
  }

  /** Goes into the hash of every gateway key. A row has the version under which its hash was made. */
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
 * fixed, there being no place to keep one that the key does not itself open: so scrypt at a cost felt once a start.
 */
export function parseMasterKey(text: string, origin: string): MasterKey {
  const trimmed = text.trim();
  if (trimmed.length < 16 || new Set(trimmed).size < 8) {
    throw new RefusedStart(`The master key in ${origin} is too weak: ${hint}.`);
  }
  if (/^[0-9a-fA-F]{64}$/.test(trimmed)) return new MasterKey(Buffer.from(trimmed, 'hex'));
  if (/^[A-Za-z0-9+/_-]{43}=?$/.test(trimmed)) return new MasterKey(Buffer.from(trimmed, 'base64'));
  const cost = { N: 2 ** 17, r: 8, p: 1, maxmem: 256 * 1024 * 1024 };
  return new MasterKey(scryptSync(trimmed, 'headgate master key v1', 32, cost));
}

/** `own`: the data directory's, which is never a link or a pipe; a file that a setting names may be either. */
function readKeyFile(path: string, own: boolean): MasterKey {
  const { O_RDONLY, O_NOFOLLOW = 0, O_NONBLOCK = 0 } = constants;
  let file: number;
  try {
    file = openSync(path, own ? O_RDONLY | O_NOFOLLOW | O_NONBLOCK : O_RDONLY);
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (own && code === 'ELOOP') throw refusal(path, linkedKey(path));
    throw new RefusedStart(`The master key file ${path} cannot be read: ${reasonOf(error)}.`);
  }
  try {
    const stats = fstatSync(file);
    if (own && !stats.isFile()) {
      throw refusal(path, { found: 'no regular file', todo: 'Put the master key back in its place' });
    }
    const user = effectiveUser();
    const finding = user === null ? null : judgeMasterKey(path, stats, user);
    if (finding !== null) throw refusal(path, finding);
    return parseMasterKey(readFileSync(file, 'utf8'), path);
  } finally {
    closeSync(file);
  }
}

const refusal = (path: string, { found, todo }: { found: string; todo: string }): RefusedStart =>
  new RefusedStart(`The master key file ${path} is not used: ${found}. ${todo}.`);

/** Also where it is a link that leads nowhere. */
const isThere = (path: string): boolean => lstatSync(path, { throwIfNoEntry: false }) !== undefined;

function syncFolder(path: string): void {
  const folder = openSync(path, 'r');
  try {
    fsyncSync(folder);
  } finally {
    closeSync(folder);
  }
}

/** Written to a temporary file and linked: a crash leaves no half key, and of two that write one wins. */
function write(path: string, text: string): void {
  const aside = `${path}.${process.pid}.tmp`;
  const file = openSync(aside, 'wx', 0o600);
  try {
    writeSync(file, `${text.trim()}\n`);
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
  syncFolder(dirname(path));
}

const randomKey = (): string => randomBytes(32).toString('hex');

/** Where a data directory keeps its own key, and during a rotation the one that takes its place. */
const ownPath = (dataDir: string): string => join(dataDir, 'master.key');
const nextPath = (dataDir: string): string => `${ownPath(dataDir)}.new`;

export interface MasterKeyPlaces {
  /** The key itself, from the environment. */
  readonly env?: string | undefined;
  /** A file that holds it. */
  readonly file?: string | undefined;
  readonly dataDir: string;
}

/** The key that is given, else the data directory's own; null: there is none. */
export function findMasterKey({ env, file, dataDir }: MasterKeyPlaces): MasterKey | null {
  if (env && file) {
    throw new RefusedStart('Set HEADGATE_MASTER_KEY or HEADGATE_MASTER_KEY_FILE, not both.');
  }
  if (env) return parseMasterKey(env, 'HEADGATE_MASTER_KEY');
  if (file) return readKeyFile(file, false);
  return isThere(ownPath(dataDir)) ? readKeyFile(ownPath(dataDir), true) : null;
}

/**
 * Finds the master key: given, in a file, or in the data directory, where the very first start makes one. A data
 * directory that has a database and no key is refused: a new key would open nothing in it.
 */
export function loadMasterKey(places: MasterKeyPlaces): MasterKey {
  const { dataDir } = places;
  if (isThere(nextPath(dataDir))) {
    throw new RefusedStart(
      `A rotation of the master key in ${dataDir} was not finished: run headgate master-key rotate again.`,
    );
  }
  const found = findMasterKey(places);
  if (found !== null) return found;
  if (existsSync(join(dataDir, 'headgate.db'))) {
    throw new RefusedStart(
      `${dataDir} has a database and no master.key: put the key back, or set HEADGATE_MASTER_KEY to the one it was made with.`,
    );
  }
  try {
    mkdirSync(dataDir, { recursive: true, mode: 0o700 });
    write(ownPath(dataDir), randomKey());
    return readKeyFile(ownPath(dataDir), true);
  } catch (error) {
    if (error instanceof RefusedStart) throw error;
    throw new RefusedStart(
      `No master key can be written to ${dataDir} (${(error as NodeJS.ErrnoException).code}): make the directory writable or set HEADGATE_MASTER_KEY.`,
    );
  }
}

/**
 * Puts the key that is to follow beside a data directory's own, where it outlives a crash: `text`, else one left by a
 * rotation that was not finished, else a new one. Throws RefusedStart where such a one is there and is another.
 */
export function prepareNextKey(dataDir: string, text: string | null): MasterKey {
  const path = nextPath(dataDir);
  const given = text === null ? null : parseMasterKey(text, 'the new key file');
  if (!isThere(path)) write(path, text ?? randomKey());
  const next = readKeyFile(path, true);
  if (given === null || given.id === next.id) return next;
  throw new RefusedStart(
    `${path} is the new key of a rotation that was not finished: run headgate master-key rotate without --new-key-file first.`,
  );
}

/** The prepared key takes the place of the data directory's own. Returns where the old one is kept. */
export function installNextKey(dataDir: string, old: MasterKey): string {
  const kept = `${ownPath(dataDir)}.old-${old.id}`;
  if (!existsSync(kept)) linkSync(ownPath(dataDir), kept);
  renameSync(nextPath(dataDir), ownPath(dataDir));
  syncFolder(dataDir);
  return kept;
}
